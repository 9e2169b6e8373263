"""The two sides of a comparison, and what differs between their builds besides their code."""

from typing import Any

import pytest

from instruction_counts.analysis.verdicts.sides import disagreements, side_of
from tests.builders import side
from tests.fakes import make_record, make_run


def test_a_side_holds_the_records_of_one_build() -> None:
    """By what their cases are called on any build."""
    records = [make_record(label, build=build) for label, build in ("ao", "bo", "an")]
    sides = [side_of(make_run(*records, builds="on"), build, "base") for build in "on"]

    assert [[("a",), ("b",)], [("a",)]] == [[key.label for key in made.records] for made in sides]
    assert records[0].key in sides[1].records


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
        ({"libc": "glibc-2.41"}, [("C library", False, False)]),
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
