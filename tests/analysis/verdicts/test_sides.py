"""What differs between the builds of two sides besides their code."""

from typing import Any

import attrs
import pytest

from instruction_counts.analysis.verdicts.sides import disagreements, side_of
from instruction_counts.domain.shards import MeasuredShard
from tests.builders import side
from tests.fakes import BUILD, make_run

SHARD = MeasuredShard(1, 2, 4, "0123", "counts", (0, 3))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({}, []),
        ({"tool_version": "9"}, []),
        # It is known of a server, which an interrupted run may not have had.
        ({"counted_capability": "AVX2", "caches": ""}, []),
        ({"counted_by": "0123"}, [("code that counts", False, False)]),
        # What was held otherwise may differ by some percent without any change.
        ({"stand_ins": "A (1)"}, []),
        ({"environment": "A (1)"}, [("environment", False, False)]),
        ({"caches": "not held"}, [("caches of the interpreter", False, False)]),
        # The build itself is expected to differ.
        ({"torch": "2.14.0"}, [("torch", True, False)]),
        ({"allocator": "steady"}, [("allocator", False, True)]),
        ({"engine": "timer"}, [("engine", False, True)]),
    ],
)
def test_what_differs_is_named(
    other: dict[str, Any], expected: list[tuple[str, bool, bool]]
) -> None:
    """With whether it is expected, and whether counts cannot be compared because of it."""
    assert expected == [
        (disagreement.name, disagreement.expected, disagreement.prevents)
        for disagreement in disagreements(side(caches="held"), side(**{"caches": "held", **other}))
    ]


@pytest.mark.parametrize(
    ("state", "title"),
    [
        ({}, "run 7"),
        ({"is_finished": False}, "run 7, unfinished"),
        ({"shard": SHARD}, "run 7, shard 1/2"),
    ],
)
def test_a_side_without_all_of_its_cases_says_so(state: dict[str, Any], title: str) -> None:
    """What it does not have is not missing: it was not measured, or not yet."""
    found = side_of(attrs.evolve(make_run(), **state), BUILD.name, "run 7")

    assert (title, not state) == (found.title, found.is_whole)
