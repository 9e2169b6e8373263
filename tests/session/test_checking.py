"""Baselines: builds that cannot be checked, runs that can, and what is accepted."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from instruction_counts.domain.errors import BuildError
from instruction_counts.gate.baseline import Baseline, BaselineCase, Head
from instruction_counts.session.checking import (
    refuse_unfit,
)
from tests.builders import counted, cpp, side
from tests.fakes import FACTS, FINGERPRINT

HEAD = Head.of(side())


def test_a_build_that_cannot_count_is_refused_before_it_is_measured() -> None:
    """An image that lost Valgrind does not pass."""
    facts = attrs.evolve(FACTS, fingerprint=attrs.evolve(FINGERPRINT, valgrind=""))

    with pytest.raises(BuildError, match=r"no valgrind[^\n]*\n  apt-get install valgrind"):
        refuse_unfit(facts, Baseline(HEAD, {}))


@pytest.mark.parametrize("change", [{"compiler": ""}, {"has_cpp_headers": False}])
def test_a_build_that_cannot_compile_is_refused_where_the_baseline_has_cpp(
    change: dict[str, Any],
) -> None:
    """An image that lost its compiler does not pass either."""
    case = BaselineCase.of(cpp("add", outcome=counted(1)))
    with pytest.raises(BuildError, match=r"C\+\+ cases cannot be measured"):
        refuse_unfit(attrs.evolve(FACTS, **change), Baseline(HEAD, {case.key: case}))


def test_a_build_that_can_do_what_the_baseline_has_is_not_refused() -> None:
    """Whatever else it lacks."""
    refuse_unfit(attrs.evolve(FACTS, compiler=""), Baseline(HEAD, {}))
