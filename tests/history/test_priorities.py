"""What stored counts tell of how likely cases are to have changed."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.types import Language
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts
from instruction_counts.domain.records import Record
from instruction_counts.domain.stored import StoredCount
from instruction_counts.history.priorities import Scout, changed_functions, moves, priorities
from tests.fakes import FINGERPRINT, make_record
from tests.history.made import outcome_of, point


def nightly(count: int | None, day: int, **more: Any) -> StoredCount:
    """The count of a build of its own."""
    build = attrs.evolve(FINGERPRINT, torch_git=f"{day:08x}")
    return point(count, day, fingerprint=build, **more)


def moved(*counts: int | None) -> list[tuple[int, int]]:
    """Between which days counts of nightly builds moved."""
    points = [nightly(count, day) for day, count in enumerate(counts, 1)]
    return [(move.base.run_id, move.new.run_id) for move in moves(points)]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1000, 1000, 1000), []),
        ((1000, 1500, 1500, 1000), [(1, 2), (3, 4)]),
        ((1000, 1002), []),
        ((1000, None, 1500), [(1, 3)]),
        ((), []),
    ],
)
def test_moves_are_counts_that_changed_from_build_to_build(
    counts: tuple[int | None, ...], expected: list[tuple[int, int]]
) -> None:
    """Not what is too small to be of interest; failures in between are passed over."""
    assert expected == moved(*counts)


def test_what_noise_explains_is_no_move() -> None:
    """The noise floor of the case on either build counts."""
    points = [nightly(100_000, 1), nightly(100_400, 2)]
    known = [attrs.evolve(points[0], noise=Noise(layout_spread=0.01, layouts=4)), points[1]]

    assert [1, 0] == [len(moves(seen)) for seen in (points, known)]


@pytest.mark.parametrize(
    "other", [{"definition_hash": "d2"}, {"engine": "timer"}, {"fingerprint": point(1).fingerprint}]
)
def test_what_cannot_be_compared_is_no_move(other: dict[str, Any]) -> None:
    """Nor is another count of the same build: that is noise."""
    first = point(1000, 1)
    second = point(2000, 2) if "fingerprint" in other else nightly(2000, 2, **other)

    assert () == moves([first, second])


def test_two_builds_of_one_run_are_different_builds() -> None:
    """They may differ by their environment alone."""
    points = [point(1000, 1, build="base"), point(2000, 1, build="new")]

    assert 1 == len(moves(points))


def record(count: int | None, build: str = "default") -> Record:
    """A record, all above 1,000 of it in ``at::slow``."""
    return make_record("add", outcome=outcome_of(count), language=Language.CPP, build=build)


def test_what_is_known_of_cases_is_put_together() -> None:
    """How often they moved, what they execute, and that they were counted at all."""
    points = [nightly(1000, 1), nightly(2000, 2), nightly(1000, 3, case=record(1).key)]
    last = record(2000)
    found = priorities(points, {last.key: last}, moves(points), ["at::slow"], {"d1": 2.0})

    assert {"d1": 2} == found.moves
    assert {"d1"} == found.known
    assert {"at::slow"} == found.changed
    assert {"d1": 2.0} == found.durations_s
    assert {last.definition_hash: {"at::add", "at::slow"}} == found.functions


def test_the_functions_that_changed_most_are_the_causes() -> None:
    """Few of them, and none that changed by less than an instruction."""
    base, new = (
        FunctionCosts(
            2,
            tuple(FunctionCost("l.so", "", f"f{place}", cost) for place, cost in enumerate(costs)),
        )
        for costs in ((10, 10, 10, 10, 10), (110, 210, 310, 20, 11))
    )

    assert {"f0", "f1", "f2"} == changed_functions(base, new)
    assert frozenset() == changed_functions(None, new)


@pytest.mark.parametrize(
    ("count", "expected"), [(1500, {"at::slow"}), (1000, set()), (None, set())]
)
def test_a_record_tells_what_changed_since_the_last_one(
    count: int | None, expected: set[str]
) -> None:
    """With the last that is stored."""
    known = record(1000)
    scout = Scout(["default"], {known.key: known})

    assert expected == scout.changed(record(count))


def test_of_several_builds_the_first_is_what_others_are_held_against() -> None:
    """What is stored may be of quite another one."""
    stale = record(9000)
    scout = Scout(["base", "new"], {stale.key: stale})
    found = [
        scout.changed(record(count, build)) for count, build in ((1000, "base"), (1500, "new"))
    ]

    assert [set(), {"at::slow"}] == found


def test_what_was_never_stored_tells_nothing() -> None:
    """There is nothing to hold it against."""
    assert frozenset() == Scout(["default"], {}).changed(record(1500))
