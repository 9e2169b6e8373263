"""Both sides of a case as files of Callgrind and of speedscope."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.attribution.profiles import callgrind_profile, speedscope
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import CallCost, FunctionCost, FunctionCosts
from instruction_counts.engines.callgrind.profiles import CallgrindProfile
from instruction_counts.engines.callgrind.reading import parse, read
from instruction_counts.engines.callgrind.writing import to_text
from instruction_counts.session.explaining import write_callgrind, write_speedscope
from tests.analysis.attribution.made import costs
from tests.builders import CPU

FIXTURES = Path(__file__).parents[2] / "fixtures" / "callgrind"
STORED = sorted(set(FIXTURES.glob("*.out")) - {FIXTURES / "four_parts.out"})


def costs_of(profile: CallgrindProfile, runs: int = 1) -> FunctionCosts:
    """What the engine would have stored of a profile."""
    in_calls = (key for call in profile.calls for key in (call.caller, call.callee))
    keys = list(dict.fromkeys([*profile.exclusive, *in_calls]))
    places = {key: place for place, key in enumerate(keys)}
    return FunctionCosts(
        runs,
        tuple(
            FunctionCost(key.library, key.file, key.name, profile.exclusive.get(key, 0))
            for key in keys
        ),
        tuple(
            CallCost(places[call.caller], places[call.callee], call.calls, call.instructions)
            for call in profile.calls
        ),
    )


def per_run(costs: FunctionCosts) -> int:
    """The count, rounded as counts are."""
    return round(Fraction(sum(cost.exclusive for cost in costs.costs), costs.runs))


# Callgrind


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_recorded_profile_survives_the_way_through_stored_costs(path: Path) -> None:
    """Costs, calls and totals; of objects the base names are stored."""
    profile = read(path)
    written = callgrind_profile(costs_of(profile), 1, "a case")

    assert profile.totals == written.totals
    assert sorted(profile.exclusive.values()) == sorted(written.exclusive.values())
    assert sorted((call.calls, call.instructions) for call in profile.calls) == sorted(
        (call.calls, call.instructions) for call in written.calls
    )


@given(costs(least=-50))
def test_the_totals_are_those_of_the_functions(side: FunctionCosts) -> None:
    """Programs that read the file warn otherwise."""
    profile = callgrind_profile(side, side.runs, "a case")
    assert sum(profile.exclusive.values()) == profile.totals


@given(costs(least=-50))
def test_what_is_written_can_be_read(side: FunctionCosts) -> None:
    """Whatever the functions are called."""
    profile = callgrind_profile(side, side.runs, "a case")

    assert profile == parse(to_text(profile))


@given(costs(least=-50))
def test_the_totals_are_the_count(side: FunctionCosts) -> None:
    """A function that cost less than nothing takes off others."""
    stored = sum(cost.exclusive for cost in side.costs)

    assert max(0, stored) == callgrind_profile(side, side.runs, "a case").totals


def test_a_negative_cost_is_taken_off_its_own_library_first() -> None:
    """The loop cost more there than the case did."""
    rows = [("a.so", "f", 100), ("b.so", "g", 20), ("b.so", "h", -15)]
    side = FunctionCosts(1, tuple(FunctionCost(lib, "???", name, n) for lib, name, n in rows))
    profile = callgrind_profile(side, 1, "a case")

    assert {"f": 100, "g": 5} == {key.name: cost for key, cost in profile.exclusive.items()}


def test_both_files_are_over_the_same_number_of_runs(tmp_path: Path) -> None:
    """So that they can be compared side by side."""
    base, new = (FunctionCosts(n, (FunctionCost(CPU, "???", "f", 10 * n),)) for n in (4, 10))
    paths = write_callgrind(tmp_path / "out", "a case", base, new)

    assert ["callgrind.out.base", "callgrind.out.new"] == [path.name for path in paths]
    assert [(200, ("Runs", "20"))] * 2 == [
        (profile.totals, *profile.descriptions) for profile in map(read, paths)
    ]


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_callgrind_annotate_accepts_what_is_written(path: Path, tmp_path: Path) -> None:
    """Without a warning, and with the same total."""
    if shutil.which("callgrind_annotate") is None:
        pytest.skip("callgrind_annotate is not installed")
    profile = read(path)
    side = costs_of(profile)
    for written in write_callgrind(tmp_path, "Top / add · Python", side, side):
        done = subprocess.run(
            ["callgrind_annotate", "--auto=no", "--tree=both", "--inclusive=yes", written],
            check=profile.totals > 0,  # it finds nothing to divide by in an empty profile
            timeout=600,
            capture_output=True,
            text=True,
        )
        if profile.totals:
            assert "" == done.stderr
            assert f"{profile.totals:,} (100.0%)" in done.stdout


def test_a_folder_that_cannot_be_made_is_an_error_in_use(tmp_path: Path) -> None:
    """With the option that named it."""
    (tmp_path / "file").touch()
    side = FunctionCosts(1, ())

    with pytest.raises(UsageError, match="--callgrind"):
        write_callgrind(tmp_path / "file" / "folder", "a case", side, side)


# Speedscope


def profiles_of(base: FunctionCosts, new: FunctionCosts) -> list[dict[str, Any]]:
    """The profiles of the document."""
    document = speedscope("a case", difference(base, new))
    return list(document["profiles"])


def stacks(document: dict[str, Any], number: int) -> dict[tuple[str, ...], int]:
    """The stacks of a profile by the names of their functions."""
    profile, frames = document["profiles"][number], document["shared"]["frames"]
    return {
        tuple(frames[place]["name"] for place in stack): weight
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
    }


def chain() -> FunctionCosts:
    """Two functions that call a third, one of them thrice as much."""
    names = ["main", "often", "seldom", "malloc"]
    exclusive = [5, 10, 10, 100]
    calls = [(0, 1, 1, 85), (0, 2, 1, 35), (1, 3, 3, 75), (2, 3, 1, 25)]
    return FunctionCosts(
        1,
        tuple(FunctionCost(CPU, "???", *row) for row in zip(names, exclusive, strict=True)),
        tuple(CallCost(*call) for call in calls),
    )


@given(costs(least=0), costs(least=0))
def test_the_weights_of_a_side_add_up_to_its_count(base: FunctionCosts, new: FunctionCosts) -> None:
    """Exactly, although every stack is rounded."""
    sums = [sum(profile["weights"]) for profile in profiles_of(base, new)[:2]]

    assert [per_run(base), per_run(new)] == sums


@given(costs(least=-50), costs(least=-50))
def test_what_grew_and_what_shrank_add_up_to_the_changes(
    base: FunctionCosts, new: FunctionCosts
) -> None:
    """Of the functions that did the one and the other."""
    deltas = [change.delta for change in difference(base, new).functions]
    expected = [round(sum(max(sign * delta, 0) for delta in deltas)) for sign in (1, -1)]

    assert expected == [sum(profile["weights"]) for profile in profiles_of(base, new)[2:]]


@given(costs(least=-50), costs(least=-50))
def test_the_document_is_in_the_format_of_speedscope(
    base: FunctionCosts, new: FunctionCosts
) -> None:
    """As its page on the format says; read back from text."""
    document = json.loads(json.dumps(speedscope("a case", difference(base, new))))
    frames = document["shared"]["frames"]

    assert "https://www.speedscope.app/file-format-schema.json" == document["$schema"]
    assert 4 == len(document["profiles"])
    assert all(isinstance(frame["name"], str) for frame in frames)
    for profile in document["profiles"]:
        assert "sampled" == profile["type"]
        assert "none" == profile["unit"]
        assert 0 == profile["startValue"]
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] == sum(profile["weights"])
        assert all(weight > 0 for weight in profile["weights"])
        assert set(range(len(frames))) >= {
            place for sample in profile["samples"] for place in sample
        }


@given(costs(least=0))
def test_no_function_is_twice_in_a_stack(side: FunctionCosts) -> None:
    """Where functions call each other in a circle, the call back is left out."""
    profile = profiles_of(side, side)[0]

    assert [] == [stack for stack in profile["samples"] if len(set(stack)) < len(stack)]


def test_the_cost_of_a_function_is_shared_among_its_callers() -> None:
    """In proportion to the instructions of each call."""
    document = speedscope("a case", difference(chain(), chain()))

    assert {
        ("main",): 5,
        ("main", "often"): 10,
        ("main", "often", "malloc"): 75,
        ("main", "seldom"): 10,
        ("main", "seldom", "malloc"): 25,
    } == stacks(document, 0)


def test_what_grew_is_shared_among_the_calls_that_grew() -> None:
    """A new allocation belongs to the one who makes it, and not to all who allocate."""
    base, names = chain(), [cost.function for cost in chain().costs]
    more = {"often": 10, "malloc": 131}
    new = FunctionCosts(
        1,
        tuple(
            FunctionCost(CPU, "???", cost.function, more.get(cost.function, cost.exclusive))
            for cost in base.costs
        ),
        tuple(
            CallCost(*row) for row in [(0, 1, 1, 85), (0, 2, 1, 66), (1, 3, 3, 75), (2, 3, 2, 56)]
        ),
    )
    document = speedscope("a case", difference(base, new))

    assert "malloc" == names[3]
    assert {("main", "seldom", "malloc"): 31} == stacks(document, 2)
    assert {} == stacks(document, 3)


def test_a_function_that_calls_itself_is_one_frame() -> None:
    """Its own calls tell nothing of who called it."""
    side = FunctionCosts(
        1,
        (FunctionCost(CPU, "???", "main", 1), FunctionCost(CPU, "???", "fib", 99)),
        (CallCost(0, 1, 1, 99), CallCost(1, 1, 50, 300)),
    )

    assert {("main",): 1, ("main", "fib"): 99} == stacks(
        speedscope("a case", difference(side, side)), 0
    )


def test_stacks_that_are_too_small_are_shown_together() -> None:
    """At their caller, so that no instruction is lost."""
    side = FunctionCosts(
        10,
        tuple(FunctionCost(CPU, "???", name, n) for name, n in [("main", 100), ("a", 2), ("b", 2)]),
        (CallCost(0, 1, 10, 2), CallCost(0, 2, 10, 2)),
    )
    profile = profiles_of(side, side)[0]

    assert 10 == sum(profile["weights"])


def test_sides_that_were_stored_without_calls_are_flat_and_say_so() -> None:
    """Each function is a stack of its own."""
    flat = FunctionCosts(1, chain().costs)
    document = speedscope("a case", difference(flat, chain()))

    assert {("main",): 5, ("often",): 10, ("seldom",): 10, ("malloc",): 100} == stacks(document, 0)
    assert [True, False, True, True] == [
        "flat: stored without calls" in profile["name"] for profile in document["profiles"]
    ]


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_recorded_profile_becomes_a_flame_graph(path: Path) -> None:
    """Of as many instructions as were recorded, with the functions that were executed."""
    profile = read(path)
    side = costs_of(profile)
    document = speedscope("a case", difference(side, side))
    shown = {name for stack in stacks(document, 0) for name in stack}

    assert profile.totals == sum(document["profiles"][0]["weights"])
    assert {"main"} & {function.name for function in profile.exclusive} <= shown


def ladder(rungs: int) -> Iterator[tuple[int, int]]:
    """Calls of functions in pairs, each of a pair calling both of the next: 2^n paths."""
    for rung in range(rungs):
        for caller in (2 * rung, 2 * rung + 1):
            yield from ((caller, 2 * rung + 2), (caller, 2 * rung + 3))


@pytest.mark.parametrize("rungs", [1, 12, 400])
def test_a_graph_of_many_paths_makes_no_endless_file(rungs: int) -> None:
    """What is too small is not followed."""
    side = FunctionCosts(
        1,
        tuple(FunctionCost(CPU, "???", f"f{n}", 1000) for n in range(2 * rungs + 2)),
        tuple(CallCost(caller, callee, 1, 1) for caller, callee in ladder(rungs)),
    )
    profile = profiles_of(side, side)[0]

    assert per_run(side) == sum(profile["weights"])
    assert len(profile["samples"]) < 100_000


def test_the_file_is_written_whole(tmp_path: Path) -> None:
    """And is what the document is."""
    path = tmp_path / "flame.json"
    found = difference(chain(), chain())
    write_speedscope(path, "a case", found)

    assert speedscope("a case", found) == json.loads(path.read_text())


def test_a_file_that_cannot_be_written_is_an_error_in_use(tmp_path: Path) -> None:
    """With the option that named it."""
    with pytest.raises(UsageError, match="--speedscope"):
        write_speedscope(tmp_path / "none" / "f.json", "a case", difference(None, None))
