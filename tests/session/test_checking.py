"""Builds that cannot be checked against a baseline."""

import contextlib
from typing import Any

import attrs
import pytest

from instruction_counts.builds.compilers import CppCompiler
from instruction_counts.domain.errors import BuildError
from instruction_counts.gate.baseline import Baseline, BaselineCase, Head
from instruction_counts.session.checking import refuse_unfit
from tests.builders import counted, cpp, side
from tests.fakes import FACTS, FINGERPRINT

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
