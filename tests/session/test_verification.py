"""Suspects measured again, with fakes for the engines."""

from __future__ import annotations

from collections.abc import Callable

from core.types import Case
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.cli import console
from instruction_counts.execution.cores import CorePool
from instruction_counts.session.verification import Verification
from tests.fakes import FACTS, OK, FakeEngine, failed, make_case

CASES = [make_case("a"), make_case("b")]
COUNT = OK.instructions.per_run if OK.instructions is not None else 0


def counts(make_engine: Callable[[BuildFacts, int], FakeEngine]) -> list[list[dict[Case, int]]]:
    """The counts of two cases in two layouts of one build, by case."""
    names = {case.key: case for case in CASES}
    verification = Verification((FACTS,), make_engine, CorePool((0,)), 1, console)
    return [
        [{names[key]: count for key, count in layout.items()} for layout in build]
        for build in verification.count(CASES, 2)
    ]


def test_each_layout_has_its_counts() -> None:
    """Of an engine of its own."""
    made: list[int] = []

    def make(_: BuildFacts, layout: int) -> FakeEngine:
        made.append(layout)
        return FakeEngine()

    assert [[dict.fromkeys(CASES, COUNT)] * 2] == counts(make)
    assert [1, 2] == made


def test_a_case_that_fails_in_a_layout_has_no_count_there() -> None:
    """It has one in the other."""
    found = counts(lambda _, layout: FakeEngine({("a",): [failed()]} if layout == 1 else {}))

    assert [[{CASES[1]: COUNT}, dict.fromkeys(CASES, COUNT)]] == found
