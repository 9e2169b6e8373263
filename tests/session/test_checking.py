"""Builds that are measured, or cannot be, to be checked against a baseline."""

import contextlib
from typing import Any

import attrs
import pytest

from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.builds.compilers import CppCompiler
from instruction_counts.core.types import Language
from instruction_counts.domain.errors import BuildError
from instruction_counts.gate.baseline import Baseline, BaselineCase, Head
from instruction_counts.session.checking import refuse_unfit
from instruction_counts.session.comparing import verify
from tests.builders import counted, cpp, side
from tests.cores import lanes_of
from tests.fakes import FACTS, FINGERPRINT, FakeEngine, make_case, make_record
from tests.session.fakes import fake_engines, runner_of

CPP = BaselineCase.of(cpp("add", outcome=counted(1)))
NO_VALGRIND = {"fingerprint": attrs.evolve(FINGERPRINT, valgrind="")}


@pytest.mark.parametrize(
    ("lacks", "cases", "message"),
    [
        (NO_VALGRIND, [], r"no valgrind[^\n]*\n  apt-get install valgrind"),
        ({"compiler": CppCompiler()}, [CPP], r"C\+\+ cases cannot be measured"),
        ({"compiler": CppCompiler()}, [], None),
    ],
)
def test_a_build_that_lacks_what_the_baseline_needs_is_refused_before_it_is_measured(
    lacks: dict[str, Any], cases: list[BaselineCase], message: str | None
) -> None:
    """An image that lost Valgrind or its compiler does not pass; whatever else it lacks."""
    baseline = Baseline(Head.of(side()), {case.key: case for case in cases})
    refused = pytest.raises(BuildError, match=message) if message else contextlib.nullcontext()
    with refused:
        refuse_unfit(attrs.evolve(FACTS, **lacks), baseline)


@pytest.mark.parametrize("language", Language)
def test_what_exceeds_a_baseline_is_counted_again_in_either_language(language: Language) -> None:
    """The baseline has no build that could compute anything again, as C++ suspects of two do."""
    case = make_case("a", language=language)
    accepted = side(attrs.evolve(make_record("a", language=language), outcome=counted(1000)))
    used = {"new": FakeEngine({("a",): [counted(2000)]})}
    with fake_engines(used, layouts=used):
        runner = attrs.evolve(runner_of("new"), kept=lanes_of(used, 0))
        (new,) = runner.run(runner.orders([case])).sides.values()
        baseline = Baseline(Head.of(new), {case.key: BaselineCase.of(accepted.records[case.key])})
        found = verify(runner, [case], baseline.compared(new, "baseline"), 2, baseline)

    assert [(Verdict.WORSE, 2)] == [(of.verdict, found.layouts) for of in found.differences]
