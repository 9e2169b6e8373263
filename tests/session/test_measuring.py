"""Planning a run: what a build cannot do is refused or left out before anything starts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import pytest

from instruction_counts.core.types import Case, Language
from instruction_counts.domain.errors import BuildError
from instruction_counts.domain.work import WorkOrder
from instruction_counts.session.builds import plan
from tests.fakes import FACTS, FINGERPRINT, make_case

MAKE_ORDER: TypeAlias = Callable[..., WorkOrder]
PYTHON, CPP = make_case("a"), make_case("a", language=Language.CPP)
NO_VALGRIND: dict[str, Any] = {"fingerprint": attrs.evolve(FINGERPRINT, valgrind="")}
NO_COMPILER: dict[str, Any] = {"compiler": ""}
NOTHING = {**NO_VALGRIND, **NO_COMPILER}


def planned(
    cases: list[Case], lacks: dict[str, Any], *, skip: bool = False, **limits: Any
) -> list[WorkOrder]:
    """The orders for a build that lacks something."""
    make_order = functools.partial(WorkOrder, **limits)
    return plan(cases, attrs.evolve(FACTS, **lacks), make_order, skip=skip)


def test_a_complete_build_measures_everything() -> None:
    """With the limits that were asked for."""
    orders = planned([PYTHON, CPP], {}, timeout_s=7, retries=3)

    assert [WorkOrder(PYTHON, FACTS.build, 7, 3), WorkOrder(CPP, FACTS.build, 7, 3)] == orders


@pytest.mark.parametrize(
    ("lacks", "expected"),
    [(NO_VALGRIND, "Valgrind is not installed"), (NO_COMPILER, "no C.. compiler")],
)
def test_a_lack_is_an_error_that_names_both_ways_out(lacks: dict[str, Any], expected: str) -> None:
    """Install what is missing, or leave out what needs it."""
    with pytest.raises(BuildError, match=expected) as caught:
        planned([PYTHON, CPP], lacks)

    assert "apt-get install" in caught.value.remedy
    assert "--skip-unavailable" in caught.value.remedy


@pytest.mark.parametrize(
    ("cases", "lacks", "counts"),
    [
        ([PYTHON, CPP], NO_VALGRIND, False),
        ([PYTHON], NO_COMPILER, True),
        ([PYTHON], NOTHING, False),
    ],
)
def test_what_is_not_needed_may_be_missing(
    cases: list[Case], lacks: dict[str, Any], counts: bool
) -> None:
    """Nobody is asked to install what would not be used."""
    assert len(cases) == len(planned(cases, lacks, counts=counts))


@pytest.mark.parametrize(
    ("lacks", "expected"),
    [
        (NO_VALGRIND, [(False, ""), (False, "")]),
        (NO_COMPILER, [(True, ""), (True, "no C++ compiler")]),
        (NOTHING, [(False, ""), (False, "no C++ compiler")]),
    ],
)
def test_skipping_refuses_only_what_cannot_be_done(
    lacks: dict[str, Any], expected: list[tuple[bool, str]]
) -> None:
    """Counts are left out, C++ cases are refused with the reason; nothing disappears."""
    orders = planned([PYTHON, CPP], lacks, skip=True)

    assert expected == [
        (order.counts, "no C++ compiler" if "no C++ compiler" in order.refusal else order.refusal)
        for order in orders
    ]


def test_a_case_of_which_nothing_can_be_measured_is_refused() -> None:
    """Counts alone were asked for, and there is no Valgrind."""
    (order,) = planned([PYTHON], NO_VALGRIND, skip=True, times=False)

    assert "Valgrind is not installed" in order.refusal
