"""Suspects measured again, with fakes for the engines."""

from __future__ import annotations

import attrs

from instruction_counts.core.types import Case
from instruction_counts.session.verification import recount
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


def layouts_of(engine: FakeEngine) -> list[int]:
    """What it was asked for."""
    return [call.order.layout for call in engine.calls]


def test_each_layout_has_its_counts() -> None:
    """Orders say which it is."""
    engine = FakeEngine()

    assert [[dict.fromkeys(CASES, COUNT)] * 2] == counts(2, engine)
    assert [1, 1, 2, 2] == layouts_of(engine)


def test_the_engines_that_are_there_count_in_three_layouts() -> None:
    """Unless more is asked for, nothing starts."""
    other, kept = FakeEngine(), FakeEngine()

    assert [[dict.fromkeys(CASES, COUNT)] * 3] == counts(None, other, kept)
    assert ([], [1, 2, 3, 1, 2, 3]) == (layouts_of(other), layouts_of(kept))
    assert not kept.closed.is_set()


def test_layouts_that_are_asked_for_have_engines_of_their_own() -> None:
    """Other addresses in whole servers."""
    other, kept = FakeEngine(), FakeEngine()
    counts(1, other, kept)

    assert ([1, 1], []) == (layouts_of(other), layouts_of(kept))


def test_a_case_that_fails_in_a_layout_has_no_count_there() -> None:
    """It has one in the other."""
    found = counts(2, FakeEngine({("a",): [failed(), OK]}))

    assert [[{CASES[1]: COUNT}, dict.fromkeys(CASES, COUNT)]] == found
