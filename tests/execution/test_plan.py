"""Planning a run: what a build cannot do is refused or left out before anything starts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import pytest

from core.types import Case, Language
from instruction_counts.application import plan
from instruction_counts.errors import BuildError
from instruction_counts.execution.work import WorkOrder
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
    ("lacks", "expected"), [(NO_VALGRIND, "no valgrind"), (NO_COMPILER, "no C.. compiler")]
)
def test_a_lack_is_an_error_that_names_both_ways_out(lacks: dict[str, Any], expected: str) -> None:
    """Install what is missing, or leave out what needs it."""
    with pytest.raises(BuildError, match=expected) as caught:
        planned([PYTHON, CPP], lacks)

    assert (True, True) == (
        "apt-get install" in caught.value.remedy,
        "--skip-unavailable" in caught.value.remedy,
    )


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
        (NO_VALGRIND, [(PYTHON, False), (CPP, False)]),
        (NO_COMPILER, [(PYTHON, True)]),
        (NOTHING, [(PYTHON, False)]),
    ],
)
def test_skipping_leaves_out_what_cannot_be_done(
    lacks: dict[str, Any], expected: list[tuple[Case, bool]]
) -> None:
    """Counts, C++ cases, or both."""
    orders = planned([PYTHON, CPP], lacks, skip=True)

    assert expected == [(order.case, order.counts) for order in orders]


@pytest.mark.parametrize(
    ("cases", "lacks", "times"), [([CPP], NO_COMPILER, True), ([PYTHON], NO_VALGRIND, False)]
)
def test_a_build_that_can_run_nothing_is_an_error(
    cases: list[Case], lacks: dict[str, Any], times: bool
) -> None:
    """Also when skipping."""
    with pytest.raises(BuildError, match="can run none of the selected cases"):
        planned(cases, lacks, skip=True, times=times)
