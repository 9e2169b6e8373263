"""The foreign set is foreign to the standard suite."""

from benchmarks import foreign
from definitions import standard
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case

CASES = materialize(foreign.BENCHMARKS)
SUITE = materialize(standard.BENCHMARKS)


def normalised(case: Case) -> str:
    """The statement, whatever its whitespace."""
    return " ".join(case.timer_args.stmt.split())


def test_the_suite_has_none_of_it() -> None:
    """The program may have been tuned to its statements; selections cannot be mixed up either."""
    assert set() == {normalised(case) for case in CASES} & {normalised(case) for case in SUITE}
    assert set() == {case.label for case in CASES} & {case.label for case in SUITE}
