"""The foreign set: its size, and that it is foreign to the standard suite."""

from __future__ import annotations

from benchmarks import foreign
from core.expand import materialize
from core.types import Case, Language
from definitions import standard

CASES = materialize(foreign.BENCHMARKS)
SUITE = materialize(standard.BENCHMARKS)


def normalised(case: Case) -> str:
    """The statement, whatever its whitespace."""
    return " ".join(case.timer_args.stmt.split())


def test_there_are_at_least_80_cases() -> None:
    """What a few cases do not show, many do."""
    assert len(CASES) >= 80


def test_every_case_is_in_python() -> None:
    """Users of torch write little else."""
    assert {Language.PYTHON} == {case.autolabels.language for case in CASES}


def test_every_label_is_unique() -> None:
    """Or results would be mixed up."""
    assert len({case.label for case in CASES}) == len(CASES)


def test_every_label_is_a_group_and_a_name() -> None:
    """Groups can be selected, and have no groups of their own."""
    assert {2} == {len(case.label) for case in CASES}


def test_no_statement_occurs_twice() -> None:
    """A case that repeats another one shows nothing new."""
    assert len({normalised(case) for case in CASES}) == len(CASES)


def test_the_suite_has_none_of_the_statements() -> None:
    """The program may have been tuned to those of the suite."""
    assert set() == {normalised(case) for case in CASES} & {normalised(case) for case in SUITE}


def test_the_suite_has_none_of_the_labels() -> None:
    """Selections and comparisons of the two cannot be mixed up."""
    assert set() == {case.label for case in CASES} & {case.label for case in SUITE}
