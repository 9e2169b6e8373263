"""What differs between the builds of two sides besides their code."""

from typing import Any

import pytest

from instruction_counts.analysis.verdicts.sides import disagreements
from tests.builders import side


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
