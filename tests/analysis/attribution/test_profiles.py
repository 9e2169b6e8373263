"""Both sides of a case as flame graphs for speedscope."""

import json
from typing import Any

import pytest
from hypothesis import given

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.attribution.profiles import speedscope
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts
from tests.analysis.attribution.made import costs, total
from tests.builders import costs_of


def stacks(document: dict[str, Any], number: int) -> dict[str, int]:
    """The stacks of a profile, as the names of their functions."""
    profile, frames = document["profiles"][number], document["shared"]["frames"]
    return {
        " ".join(frames[place]["name"] for place in stack): weight
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
    }


CALLS = [
    ("main", "often", 1, 85),
    ("main", "seldom", 1, 35),
    ("often", "malloc", 3, 75),
    ("seldom", "malloc", 1, 25),
]
SPENT = {"main": 5, "often": 10, "seldom": 10, "malloc": 100}
CHAIN = costs_of(SPENT, CALLS)
"""Two functions that call a third, one of them thrice as much."""


@given(costs(least=0), costs(least=-50))
def test_the_document_is_in_the_format_of_speedscope(
    base: FunctionCosts, new: FunctionCosts
) -> None:
    """As its page on the format says; read back from text.

    The weights add up exactly to the count, and no function is twice in a stack: the call back of a
    circle is left out.
    """
    document = json.loads(json.dumps(speedscope("a case", difference(base, new))))
    frames, profiles = document["shared"]["frames"], document["profiles"]

    assert "https://www.speedscope.app/file-format-schema.json" == document["$schema"]
    assert ["base", "new"] == [profile["name"][:4].strip() for profile in profiles]
    assert all(isinstance(frame["name"], str) for frame in frames)
    assert round(total(base)) == profiles[0]["endValue"]
    for profile in profiles:
        assert ("sampled", "none", 0) == (profile["type"], profile["unit"], profile["startValue"])
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        assert all(weight > 0 for weight in profile["weights"])
        assert all(len(set(stack)) == len(stack) for stack in profile["samples"])
        assert set(range(len(frames))) >= {
            place for sample in profile["samples"] for place in sample
        }


CIRCLE = costs_of({"main": 1, "fib": 99}, [("main", "fib", 1, 99), ("fib", "fib", 50, 300)])
SMALL = costs_of({"main": 100, "a": 2, "b": 2}, [("main", "a", 9, 2), ("main", "b", 9, 2)], runs=10)

OWING = [("a.so", "f", 100), ("b.so", "g", 20), ("b.so", "h", -15)]


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        # A negative cost is taken off the largest: the loop cost more than the case.
        (
            FunctionCosts(1, tuple(FunctionCost(lib, "???", name, n) for lib, name, n in OWING)),
            {"f": 85, "g": 20},
        ),
        # In proportion to the instructions of each call.
        (
            CHAIN,
            {"main": 5, "main often": 10, "main often malloc": 75}
            | {"main seldom": 10, "main seldom malloc": 25},
        ),
        # Its own calls tell nothing of who called it.
        (CIRCLE, {"main": 1, "main fib": 99}),
        # Stored without calls, each function is a stack of its own.
        (costs_of(SPENT), SPENT),
        # What is too small is shown together, at its caller.
        (SMALL, {"main": 10}),
    ],
)
def test_the_cost_of_a_function_is_shared_among_its_callers(
    side: FunctionCosts, expected: dict[str, int]
) -> None:
    """Of base, whatever new is."""
    document = speedscope("a case", difference(side, CHAIN))

    assert expected == stacks(document, 0)


def test_sides_that_were_stored_without_calls_say_so() -> None:
    """In the name of each graph that needs them."""
    document = speedscope("a case", difference(costs_of(SPENT), CHAIN))

    assert [True, False] == [
        "flat: stored without calls" in profile["name"] for profile in document["profiles"]
    ]


@pytest.mark.parametrize("rungs", [1, 12, 400])
def test_a_graph_of_many_paths_makes_no_endless_file(rungs: int) -> None:
    """Functions in pairs, each of a pair calling both of the next: what is small is left out."""
    calls = [
        (f"f{caller}", f"f{callee}", 1, 1)
        for rung in range(0, 2 * rungs, 2)
        for caller in (rung, rung + 1)
        for callee in (rung + 2, rung + 3)
    ]
    side = costs_of({f"f{n}": 1000 for n in range(2 * rungs + 2)}, calls)
    profile = speedscope("a case", difference(side, side))["profiles"][0]

    assert 1000 * (2 * rungs + 2) == sum(profile["weights"])
    assert len(profile["samples"]) < 100_000
