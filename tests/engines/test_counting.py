"""From windows to instructions per run, with dumps that are written by hand."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts, Window
from instruction_counts.engines.callgrind import (
    CallgrindFormatError,
    CallgrindProfile,
    Calls,
    Edge,
    Function,
)
from instruction_counts.engines.counting import (
    FEWEST_DUMPED,
    PATTERN,
    PILOT_RUNS,
    SCHEDULE,
    Counted,
    Loop,
    are_alike,
    evaluate,
    evaluate_once,
    others_in,
    with_named_statement,
)
from tests.engines.callgrind_text import to_text

ADD = Function("/lib/libtorch_cpu.so", "add.cpp", "at::add")
HOOK = Function("/folder/steady.so", "steady.c", "steady_count_end")
LOOP = Function("/usr/bin/python3", "ceval.c", "_PyEval_EvalFrameDefault")


@attrs.frozen
class Dumped:
    """A window as a child dumps it: costs by function."""

    runs: int
    costs: Mapping[Function, int]
    allocations: int = 0
    allocated_bytes: int = 0
    calls: Mapping[Edge, Calls] = attrs.field(factory=dict)


def allocated(calls: int, size: int) -> Amounts:
    """What the allocator counts."""
    return Amounts({"allocations": calls, "allocated_bytes": size})


def write(windows: Sequence[Dumped], folder: Path) -> list[dict[str, Any]]:
    """Write the dumps of ``windows``; returns what the child answers."""
    (folder / "dumps").mkdir()
    answers = []
    for number, window in enumerate(windows, 4):
        dump = f"dumps/cg.77.{number}"
        profile = CallgrindProfile(sum(window.costs.values()), window.costs, window.calls)
        (folder / f"{dump}-01").write_text(to_text(profile))
        counts = [window.allocations, window.allocated_bytes, 0]
        answers.append({"runs": window.runs, "dump": dump, "allocations": counts})
    return answers


def counted(*windows: Dumped, loop: Loop | None = None) -> Counted:
    """The result of ``windows``."""
    with tempfile.TemporaryDirectory() as folder:
        return evaluate(write(windows, Path(folder)), Path(folder), loop or Loop())


def totals(*pairs: tuple[int, int]) -> list[Dumped]:
    """Windows of one function: runs and instructions."""
    return [Dumped(runs, {ADD: cost}) for runs, cost in pairs]


# What happens once


def test_of_first_runs_the_least_counts_whole(tmp_path: Path) -> None:
    """Nothing is subtracted, and what its function spent is told; others are its noise."""
    other = Function("lib", "file", "mul")
    runs = [Dumped(1, {ADD: 90, other: 15}), Dumped(1, {ADD: 90, other: 10}, allocations=7)]
    found = evaluate_once(write(runs, tmp_path), tmp_path)

    counted = found.instructions

    assert (100, False, 5) == (counted.per_run, counted.exact, counted.spread)
    assert ("mul",) == found.instructions.varying
    assert {"at::add": 90, "mul": 10} == {
        cost.function: cost.exclusive for cost in found.functions.costs
    }
    assert 7 == found.metrics["allocations"]


def test_first_runs_that_agree_are_exact(tmp_path: Path) -> None:
    """To the instruction; of calls only what they cost is known."""
    (first, *others) = totals((1, 100), (1, 100), (1, 100))
    first = attrs.evolve(first, calls={(LOOP, ADD): (500, 70)})
    found = evaluate_once(write([first, *others], tmp_path), tmp_path)

    assert [(0, 70)] == [(call.calls, call.instructions) for call in found.functions.calls]
    assert found.instructions.exact is True
    assert [100, 100, 100] == [window.instructions for window in found.instructions.windows]


# What is dumped


def test_windows_are_alike_if_those_of_each_length_are() -> None:
    """One that costs an instruction more is enough."""
    windows = [{"runs": 4 * factor, "instructions": 100 * factor} for factor in PATTERN]
    other = {"runs": 4, "instructions": 101}

    assert are_alike(windows) is True
    assert are_alike([*windows, other]) is False


def test_one_dump_of_each_length_is_enough_for_windows_that_are_alike(tmp_path: Path) -> None:
    """The result is that of dumps of all, the cost of the others being known otherwise."""
    answers = write(totals(*((factor, 70 + 30 * factor) for factor in PATTERN)), tmp_path)
    known = [{**one, "instructions": 70 + 30 * one["runs"]} for one in answers]
    few = [{**one, "dump": None} for one in known[:-FEWEST_DUMPED]] + known[-FEWEST_DUMPED:]

    assert evaluate(answers, tmp_path, Loop()) == evaluate(few, tmp_path, Loop())


# The slope


def test_a_dump_that_costs_more_than_windows_that_were_alike_is_not_exact(tmp_path: Path) -> None:
    """What handles a signal is in the dump, and not in what tells that they are alike."""
    answers = write(totals((10, 105), (20, 207), (10, 105), (20, 207)), tmp_path)
    alike = [{**answer, "instructions": answer["runs"] * 10} for answer in answers]
    found = evaluate([{**answer, "dump": ""} for answer in alike[:2]] + alike[2:], tmp_path, Loop())

    assert (10, False) == (found.instructions.per_run, found.instructions.exact)


@given(overhead=st.integers(0, 10**9), per_run=st.integers(0, 10**10), unit=st.integers(1, 1000))
def test_a_line_gives_its_slope(overhead: int, per_run: int, unit: int) -> None:
    """To the instruction; what surrounds the loop costs the same in both windows, and cancels."""
    units = [factor * unit for factor in PATTERN]
    result = counted(*totals(*((runs, overhead + runs * per_run) for runs in units)))

    assert per_run == result.instructions.per_run
    assert result.instructions.exact is True
    assert 0 == result.instructions.spread


@given(extra=st.lists(st.integers(0, 10**6), min_size=2, max_size=2), per_run=st.integers(0, 10**6))
def test_what_disturbs_some_windows_does_not_count(extra: list[int], per_run: int) -> None:
    """One quiet window of each length is enough."""
    cost, (first, second) = per_run * 10, extra
    pairs = [(10, cost + first), (20, 2 * cost), (10, cost), (20, 2 * cost + second)]

    assert per_run == counted(*totals(*pairs)).instructions.per_run


def test_the_windows_are_kept_in_their_order() -> None:
    """With what was counted and allocated in each; what surrounds the loop cancels.

    Half an instruction was never executed, so that a slope is rounded.
    """
    windows = [
        Dumped(runs, {ADD: cost}, allocations=3 + 2 * runs, allocated_bytes=100 + 64 * runs)
        for runs, cost in [(5, 50), (10, 100), (5, 51), (10, 102)]
    ]
    result = counted(*windows)

    assert (
        Window(5, 50, allocated(13, 420)),
        Window(10, 100, allocated(23, 740)),
        Window(5, 51, allocated(13, 420)),
        Window(10, 102, allocated(23, 740)),
    ) == result.instructions.windows
    assert allocated(2, 64) == result.metrics
    assert 101 == counted(*totals((10, 50), (20, 1056))).instructions.per_run


# How sure it is


@pytest.mark.parametrize(
    ("pairs", "exact", "spread"),
    [
        ([(10, 100), (20, 200), (10, 101), (20, 200)], False, 0),
        ([(10, 100), (20, 200), (10, 100), (20, 201)], False, 0),
        ([(10, 100), (20, 199), (10, 100), (20, 199)], True, 0),
        ([(10, 100), (20, 200), (10, 100), (20, 260), (10, 120), (20, 220)], False, 8),
        # In a long and a short window that are neighbours, and in each long one.
        ([(20, 75), (20, 230), (10, 39), (10, 194), (10, 39), (20, 75)], False, 31),
        ([(20, 230), (20, 230), (10, 39), (10, 39), (10, 39), (20, 230)], False, 15),
    ],
)
def test_a_count_is_exact_if_all_windows_agree(
    pairs: list[tuple[int, int]], exact: bool, spread: int
) -> None:
    """Of each length among themselves; the spread is that of one run, from any two windows."""
    instructions = counted(*totals(*pairs)).instructions

    assert (exact, spread) == (instructions.exact, instructions.spread)
    assert exact or instructions.varying or pairs[0] == pairs[-1]


def test_a_count_is_not_exact_where_only_long_windows_hold_something() -> None:
    """What surrounds the loop would have cost less than nothing: a thread took its turn there."""
    assert not counted(*totals((10, 100), (20, 201), (10, 100), (20, 201))).instructions.exact


@pytest.mark.parametrize("unit", sorted({unit for _, _, unit in SCHEDULE}))
@pytest.mark.parametrize(("period", "heavy"), [(p, k) for p in range(2, 7) for k in range(p)])
def test_a_count_is_not_exact_where_iterations_take_turns(
    unit: int, period: int, heavy: int
) -> None:
    """One of every two to six may cost more; or the count is what they cost on average."""
    windows, begin = [], 0
    for runs in (factor * unit for factor in PATTERN):
        iterations = range(begin, begin + runs)
        windows.append((runs, 1000 + sum(600 for i in iterations if i % period == heavy)))
        begin += runs
    instructions = counted(*totals(*windows)).instructions

    assert not instructions.exact or 600 // period == instructions.per_run


@pytest.mark.parametrize("noisy", [2, 3])
def test_functions_that_vary_are_named(noisy: int) -> None:
    """In whichever windows they do: the three with the largest difference, largest first."""
    functions = [Function("a.so", "a.c", f"f{number}") for number in range(9)]
    steady = dict.fromkeys(functions, 10)
    windows = [Dumped(runs, steady) for runs in (1, 2, 1, 2)]
    varying = {function: 10 + place for place, function in enumerate(functions, 1)}
    windows[noisy] = attrs.evolve(windows[noisy], costs=varying)

    assert ("f8", "f7", "f6") == counted(*windows).instructions.varying


# The empty loop


def test_the_empty_loop_is_subtracted() -> None:
    """And reported; less itself it is nothing, by function and by call, too."""
    windows = [
        Dumped(
            *(runs, {LOOP: 7 + 22 * runs, HOOK: 90, ADD: 3 * runs}),
            calls={(LOOP, ADD): (runs, 3 * runs), (LOOP, HOOK): (1, 90)},
        )
        for runs in (10, 20)
    ]
    empty = counted(*windows)
    loop = Loop.of(empty.profile, empty.functions.runs)
    nothing = counted(*windows, loop=loop)
    result = counted(*totals((10, 500), (20, 1_000)), loop=loop)

    assert Loop(25, {LOOP: 22, ADD: 3}, {(LOOP, ADD): (1, 3)}) == loop
    assert (25, 25) == (result.instructions.per_run, result.instructions.loop)
    assert (0, FunctionCosts(10, (), ())) == (nothing.instructions.per_run, nothing.functions)


# Functions


@given(
    costs=st.lists(st.integers(0, 10**6), min_size=1, max_size=6),
    loop_costs=st.lists(st.integers(0, 100), min_size=2, max_size=2),
    unit=st.integers(1, 200),
)
def test_functions_add_up_to_the_count(costs: list[int], loop_costs: list[int], unit: int) -> None:
    """Of all runs between the two windows."""
    by_function = {Function("a.so", "a.c", f"f{n}"): cost for n, cost in enumerate(costs)}
    of_loop = dict(zip((LOOP, HOOK), loop_costs, strict=True))
    windows = [
        Dumped(
            runs,
            {function: 5 + cost * runs for function, cost in by_function.items()}
            | {function: cost * runs for function, cost in of_loop.items()},
        )
        for runs in (unit, 2 * unit)
    ]
    result = counted(*windows, loop=Loop(sum(loop_costs), of_loop))

    assert result.instructions.per_run * result.functions.runs == sum(
        cost.exclusive for cost in result.functions.costs
    )


def test_functions_come_with_the_largest_first() -> None:
    """Each with its library, its file and what was spent in it and below it.

    The own cost of one that calls itself holds all its levels.
    """
    first, second = (
        Dumped(
            *(runs, {LOOP: 20 + 10 * runs, ADD: 30 * runs, HOOK: 9}),
            calls={(LOOP, ADD): (runs, 30 * runs), (ADD, ADD): (runs, 9 * runs)},
        )
        for runs in (10, 20)
    )

    assert (
        FunctionCost("libtorch_cpu.so", "add.cpp", "at::add", 300, 300),
        FunctionCost("python3", "ceval.c", "_PyEval_EvalFrameDefault", 100, 400),
    ) == counted(first, second).functions.costs


def test_what_a_compiled_case_costs_itself_is_its_statement() -> None:
    """Callgrind takes its entry point for a part of libffi, whose functions cost nothing else."""
    entry = FunctionCost("libffi.so.8.1.2", "???", "???", 90, 120)
    caller = FunctionCost("libffi.so.8.1.2", "???", "ffi_call", 0, 120)
    add = FunctionCost("libtorch_cpu.so", "add.cpp", "at::add", 30, 30)

    assert (
        FunctionCost("case.so", "case.cpp", "statement", 90, 120),
        add,
        caller,
    ) == with_named_statement(FunctionCosts(1, (entry, add, caller))).costs


# Threads


def test_other_threads_are_those_of_the_process_but_its_first(tmp_path: Path) -> None:
    """Neither the dumps of windows, nor of processes whose numbers begin alike.

    When they let the calling thread wait is not the same in each process: no count is exact then.
    """
    alone = counted(*totals((10, 300), (20, 600)))
    instructions = alone.with_others(25.0).instructions
    for name, total in {
        "cg.77-01": 1,
        "cg.77-02": 20,
        "cg.77-03": 300,
        "cg.77.4-01": 4_000,
        "cg.777-02": 50_000,
    }.items():
        (tmp_path / name).write_text(to_text(CallgrindProfile(total, {ADD: total})))

    assert 320 == others_in(tmp_path, 77)
    assert (30, 55) == (instructions.per_run, instructions.all_threads_per_run)
    assert alone.with_others(0.2).instructions.exact
    assert not instructions.exact


# Dumps that are no use


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_dump_that_is_missing_or_cut_off_is_an_error(tmp_path: Path, is_cut: bool) -> None:
    """The file is named: a full disk must not become a small count."""
    answers = write(totals((1, 5), (2, 9)), tmp_path)
    path = tmp_path / "dumps" / "cg.77.5-01"
    text = path.read_text()
    path.unlink()
    if is_cut:
        path.write_text(text[:-1])

    with pytest.raises((FileNotFoundError, CallgrindFormatError), match=r"cg\.77\.5-01"):
        evaluate(answers, tmp_path, Loop())


# The plan of the windows

RETRIES = [2**power - 8 for power in range(4, 12)]


@pytest.mark.parametrize(("warm_up", "unit"), [row[1:] for row in SCHEDULE])
def test_no_window_meets_a_retry_of_the_interpreter(warm_up: int, unit: int) -> None:
    """It would cost that window more than the others."""
    begin = sum(PILOT_RUNS) + warm_up
    end = begin + unit * sum(PATTERN)

    assert [] == [retry for retry in RETRIES if begin < retry < end]


# Calls


INNER = Function("/lib/libtorch_cpu.so", "add.cpp", "at::native::add")


def test_calls_are_those_of_the_additional_runs() -> None:
    """A call whose number does not grow, as that from the loop, keeps what more it costs.

    Its caller is listed, though nothing is spent in it.
    """
    functions = counted(
        *(
            Dumped(
                *(runs, {ADD: 2 * runs, INNER: 20 * runs}),
                calls={(ADD, INNER): (2 * runs, 20 * runs), (LOOP, ADD): (3, 22 * runs)},
            )
            for runs in (10, 20)
        )
    ).functions
    names = [cost.function for cost in functions.costs]
    calls = {
        (names[call.caller], names[call.callee]): (call.calls, call.instructions)
        for call in functions.calls
    }

    assert {(ADD.name, INNER.name): (20, 200), (LOOP.name, ADD.name): (0, 220)} == calls
    assert [0] == [cost.exclusive for cost in functions.costs if cost.function == LOOP.name]
