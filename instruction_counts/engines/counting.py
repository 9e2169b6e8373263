"""From windows to instructions per iteration, and to the functions they were spent in.

Windows of n and of 2n iterations alternate. What surrounds the loop costs the same in both, so
that (C(2n) - C(n)) / n is the cost of one iteration with its share of the loop; the same slope of
an empty loop is subtracted. Of the windows of one length the smallest counts: what makes windows
differ (an interpreter that retries a specialisation, say) only ever adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.domain.metrics import (
    ALLOCATED_BYTES,
    ALLOCATIONS,
    NO_AMOUNTS,
    Amounts,
)
from instruction_counts.domain.outcomes import (
    CallCost,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Window,
)
from instruction_counts.engines.callgrind.profiles import CallgrindProfile, Function
from instruction_counts.engines.callgrind.reading import read, read_totals

PILOT_RUNS = (2, 2)

PATTERN = (1, 2, 1, 2, 1, 2)
"""Window lengths, in units of n."""

SCHEDULE: tuple[tuple[int | None, int, int], ...] = (
    (20_000, 118, 10),
    (60_000, 56, 4),
    (150_000, 24, 2),
    (1_000_000, 24, 2),
    (2_000_000, 24, 1),
    (None, 4, 1),
)
"""For a cost per iteration of at most so many instructions: iterations to warm up, and n.

CPython 3.11 retries a failed specialisation after 8, 24, 56, 120, 248, … executions of a bytecode
(the counter doubles, see ``adaptive_counter_backoff`` in its ``Include/internal/pycore_code.h``);
pilot, warm-up and windows are laid between two retries. In the windows themselves the worker holds
these counters, on every version. n is even where that costs little: what the last iteration left,
such as a graph, and what the next one makes take turns in two places. Heavier statements get fewer
runs, since about 12 million instructions are counted in a second.
"""

_FIRST_THREAD = "-01"

_Edge: TypeAlias = tuple[Function, Function]
"""A caller and its callee."""

_Calls: TypeAlias = tuple[int, int]
"""How often, and the instructions of the callee with everything below it."""


@attrs.frozen
class Loop:
    """What the empty loop costs in one iteration, in all, by function and by call."""

    per_run: int = 0
    functions: Mapping[Function, int] = attrs.field(factory=dict)
    calls: Mapping[_Edge, _Calls] = attrs.field(factory=dict)


@attrs.frozen
class Counted:
    """What the windows of one case say."""

    instructions: Instructions
    functions: FunctionCosts
    by_function: Mapping[Function, int]
    """Exclusive cost over ``functions.runs`` runs, the loop included."""
    by_call: Mapping[_Edge, _Calls] = attrs.field(factory=dict)
    """The same by call."""
    metrics: Amounts = NO_AMOUNTS

    def with_others(self, per_run: float) -> Counted:
        """The same with what all other threads spend in a run."""
        everywhere = self.instructions.per_run + round(per_run)
        return attrs.evolve(
            self, instructions=attrs.evolve(self.instructions, all_threads_per_run=everywhere)
        )

    def unallocated(self) -> Counted:
        """The same without allocations, which only the steady allocator can count."""
        windows = tuple(
            attrs.evolve(window, metrics=NO_AMOUNTS) for window in self.instructions.windows
        )
        instructions = attrs.evolve(self.instructions, windows=windows)
        return attrs.evolve(self, instructions=instructions, metrics=NO_AMOUNTS)


@attrs.frozen
class _Measured:
    window: Window
    dump: Path


def evaluate(answers: Sequence[Mapping[str, Any]], folder: Path, loop: Loop) -> Counted:
    """The result of a case, from the windows that its child dumped below ``folder``.

    Raises:
        CallgrindFormatError: a dump is damaged.
        OSError: a dump is missing.
    """
    measured = [_measured(answer, folder) for answer in answers]
    unit = measured[0].window.runs
    singles = [dumped for dumped in measured if dumped.window.runs == unit]
    doubles = [dumped for dumped in measured if dumped.window.runs == 2 * unit]
    single, double = (min(group, key=_instructions) for group in (singles, doubles))
    first, second = (read(dumped.dump) for dumped in (single, double))
    slope = _slope(first.exclusive, second.exclusive)
    calls = _slope_of_calls(first, second)
    instructions = _per_run(singles, doubles, single, double, loop, unit)
    if not instructions.exact:
        names = _varying(singles) or _varying(doubles)
        instructions = attrs.evolve(instructions, varying=names)
    inclusive = _slope(_inclusive(first), _inclusive(second))
    functions = _functions(slope, inclusive, calls, unit, loop)
    metrics = _metrics(single.window, double.window)
    return Counted(instructions, functions, slope, calls, metrics)


def per_run_loop(counted: Counted) -> Loop:
    """The cost of an empty loop, as it is subtracted from the cases."""
    runs = counted.functions.runs
    by_function = {key: round(cost / runs) for key, cost in counted.by_function.items()}
    by_call = {
        edge: (round(calls / runs), round(cost / runs))
        for edge, (calls, cost) in counted.by_call.items()
    }
    return Loop(
        counted.instructions.per_run,
        {key: cost for key, cost in by_function.items() if cost},
        {edge: cost for edge, cost in by_call.items() if any(cost)},
    )


def _varying(windows: Sequence[_Measured]) -> tuple[str, ...]:
    """The functions whose cost differs most between windows of the same length, at most three."""
    low, high = min(windows, key=_instructions), max(windows, key=_instructions)
    difference = _slope(read(low.dump).exclusive, read(high.dump).exclusive)
    largest = sorted(difference, key=lambda key: (-abs(difference[key]), key.name))
    return tuple(key.name for key in largest[:3])


def _measured(answer: Mapping[str, Any], folder: Path) -> _Measured:
    dump = folder / (answer["dump"] + _FIRST_THREAD)
    calls, allocated_bytes, _ = answer["allocations"]
    allocated = Amounts({ALLOCATIONS.name: calls, ALLOCATED_BYTES.name: allocated_bytes})
    window = Window(answer["runs"], read_totals(dump), allocated)
    return _Measured(window, dump)


def others_in(folder: Path, pid: int) -> int:
    """What all threads but the calling one spent in their lives, from the dumps of a process."""
    paths = (path for path in folder.glob(f"cg.{pid}-*") if not path.name.endswith(_FIRST_THREAD))
    return sum(read_totals(path) for path in paths)


def _instructions(measured: _Measured) -> int:
    return measured.window.instructions


def _per_run(
    singles: Sequence[_Measured],
    doubles: Sequence[_Measured],
    single: _Measured,
    double: _Measured,
    loop: Loop,
    unit: int,
) -> Instructions:
    difference = _instructions(double) - _instructions(single)
    agree = all(
        len({_instructions(dumped) for dumped in group}) == 1 for group in (singles, doubles)
    )
    slopes = [
        (_instructions(long) - _instructions(short)) / unit
        for short, long in zip(singles, doubles, strict=True)
    ]
    windows = [dumped.window for pair in zip(singles, doubles, strict=True) for dumped in pair]
    return Instructions(
        per_run=round(difference / unit) - loop.per_run,
        exact=agree,
        windows=tuple(windows),
        spread=round(max(slopes) - min(slopes)),
        loop=loop.per_run,
    )


def _metrics(single: Window, double: Window) -> Amounts:
    return Amounts(
        {
            name: round((double.metrics[name] - amount) / single.runs)
            for name, amount in single.metrics.items()
        }
    )


def _slope(first: Mapping[Function, int], second: Mapping[Function, int]) -> dict[Function, int]:
    """Cost by function in the second window and not in the first."""
    keys = dict.fromkeys([*second, *first])
    differences = {key: second.get(key, 0) - first.get(key, 0) for key in keys}
    return {key: cost for key, cost in differences.items() if cost}


def _slope_of_calls(first: CallgrindProfile, second: CallgrindProfile) -> dict[_Edge, _Calls]:
    """Calls in the second window and not in the first."""
    before, after = (
        {(call.caller, call.callee): (call.calls, call.instructions) for call in profile.calls}
        for profile in (first, second)
    )
    more = {}
    for edge in dict.fromkeys([*after, *before]):
        (calls, cost), (calls_before, cost_before) = after.get(edge, _NONE), before.get(edge, _NONE)
        more[edge] = calls - calls_before, cost - cost_before
    return {edge: cost for edge, cost in more.items() if any(cost)}


_NONE = (0, 0)


def _functions(
    slope: Mapping[Function, int],
    inclusive: Mapping[Function, int],
    calls: Mapping[_Edge, _Calls],
    runs: int,
    loop: Loop,
) -> FunctionCosts:
    edges = {}
    for edge in dict.fromkeys([*calls, *loop.calls]):
        pairs = zip(calls.get(edge, _NONE), loop.calls.get(edge, _NONE), strict=True)
        number, cost = (whole - runs * share for whole, share in pairs)
        if number or cost:
            edges[edge] = number, cost
    in_calls = dict.fromkeys(function for edge in edges for function in edge)
    costs = {}
    for key in dict.fromkeys([*slope, *loop.functions, *in_calls]):
        exclusive = slope.get(key, 0) - runs * loop.functions.get(key, 0)
        if exclusive or key in in_calls:
            below = inclusive.get(key, 0) - runs * loop.functions.get(key, 0)
            costs[key] = FunctionCost(key.library, key.file, key.name, exclusive, below)
    keys = sorted(costs, key=lambda key: _place(costs[key]))
    places = {key: place for place, key in enumerate(keys)}
    return FunctionCosts(
        runs,
        tuple(costs[key] for key in keys),
        tuple(
            CallCost(places[caller], places[callee], number, cost)
            for (caller, callee), (number, cost) in edges.items()
        ),
    )


def _place(cost: FunctionCost) -> tuple[object, ...]:
    return -cost.exclusive, cost.function, cost.library, cost.file


def _inclusive(profile: CallgrindProfile) -> dict[Function, int]:
    costs = dict(profile.exclusive)
    for call in profile.calls:
        if call.caller != call.callee:
            costs[call.caller] = costs.get(call.caller, 0) + call.instructions
    return costs
