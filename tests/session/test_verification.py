"""Suspects measured again, with fakes for the engines."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.core.types import Case
from instruction_counts.session.comparing import recount
from tests.cores import lanes_of
from tests.fakes import OK, FakeEngine, failed, make_case
from tests.session.fakes import fake_engines, runner_of

CASES = [make_case("a"), make_case("b")]
COUNT = OK.instructions.per_run if OK.instructions is not None else 0


def counts(
    layouts: int | None, engine: FakeEngine, kept: FakeEngine | None = None
) -> list[list[dict[Case, int]]]:
    """The counts of two cases in some layouts of one build, by case."""
    names = {case.key: case for case in CASES}
    runner = runner_of("base")
    if kept is not None:
        runner = attrs.evolve(runner, kept=lanes_of({"base": kept}, 0))
    with fake_engines({"base": engine}):
        found = recount(runner, CASES, layouts)
    return [
        [{names[key]: count for key, count in of.items()} for of in build] for build in found.counts
    ]


@pytest.mark.parametrize(
    ("asked", "number", "by_fresh", "by_kept"),
    [(2, 2, [1, 1, 2, 2], []), (1, 1, [1, 1], []), (None, 3, [], [1, 2, 3, 1, 2, 3])],
)
def test_each_layout_has_its_counts(
    asked: int | None, number: int, by_fresh: list[int], by_kept: list[int]
) -> None:
    """In servers of their own where it is said how many; else in those that are there."""
    other, kept = FakeEngine(), FakeEngine()

    assert [[dict.fromkeys(CASES, COUNT)] * number] == counts(asked, other, kept)
    assert [by_fresh, by_kept] == [
        [call.order.layout for call in engine.calls] for engine in (other, kept)
    ]
    assert not kept.closed.is_set()


def test_a_case_that_fails_in_a_layout_has_no_count_there() -> None:
    """It has one in the other."""
    found = counts(2, FakeEngine({("a",): [failed(), OK]}))

    assert [[{CASES[1]: COUNT}, dict.fromkeys(CASES, COUNT)]] == found
