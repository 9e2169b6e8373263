"""From windows to instructions per iteration, and to the functions they were spent in.

Windows of n and of 2n iterations alternate. What surrounds the loop costs the same in both, so
that (C(2n) - C(n)) / n is the cost of one iteration with its share of the loop; the same slope of
an empty loop is subtracted. Of the windows of one length the smallest counts: what makes windows
differ (an interpreter that retries a specialisation, say) only ever adds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.domain.metrics import ALLOCATED_BYTES, ALLOCATIONS, NO_AMOUNTS, Amounts
from instruction_counts.domain.outcomes import (
    CallCost,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Window,
)
from instruction_counts.engines.callgrind import (
    CallgrindProfile,
    Calls,
    Edge,
    Function,
    read,
    read_totals,
)

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

FIRST_THREAD = "-01"
"""What the names of dumps of the calling thread end with."""
_NONE = (0, 0)


@attrs.frozen
class Loop:
    """What the empty loop costs in one iteration, in all, by function and by call."""

    per_run: int = 0
    functions: Mapping[Function, int] = attrs.field(factory=dict)
    calls: Mapping[Edge, Calls] = attrs.field(factory=dict)


@attrs.frozen
class Counted:
    """What the windows of one case say."""

    instructions: Instructions
    functions: FunctionCosts
    by_function: Mapping[Function, int]
    """Exclusive cost over ``functions.runs`` runs, the loop included."""
    by_call: Mapping[Edge, Calls] = attrs.field(factory=dict)
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
class _Dumped:
    """A window, and the file that its profile is in."""

    window: Window
    path: Path

    @classmethod
    def of(cls, answer: Mapping[str, Any], folder: Path) -> _Dumped:
        path = folder / (answer["dump"] + FIRST_THREAD)
        calls, allocated_bytes, _ = answer["allocations"]
        allocated = Amounts({ALLOCATIONS.name: calls, ALLOCATED_BYTES.name: allocated_bytes})
        return cls(Window(answer["runs"], read_totals(path), allocated), path)

    @property
    def instructions(self) -> int:
        return self.window.instructions

    @cached_property
    def profile(self) -> CallgrindProfile:
        return read(self.path)


def evaluate(answers: Sequence[Mapping[str, Any]], folder: Path, loop: Loop) -> Counted:
    """The result of a case, from the windows that its child dumped below ``folder``.

    Raises:
        CallgrindFormatError: a dump is damaged.
        OSError: a dump is missing.
    """
    dumped = [_Dumped.of(answer, folder) for answer in answers]
    unit = dumped[0].window.runs
    groups = [[dump for dump in dumped if dump.window.runs == runs] for runs in (unit, 2 * unit)]
    single, double = (min(group, key=lambda dump: dump.instructions) for group in groups)
    first, second = single.profile, double.profile
    by_function = _difference(first.exclusive, second.exclusive)
    by_call = _difference_of_calls(first.calls, second.calls)
    below = _difference(_inclusive(first), _inclusive(second))
    slopes = [
        (long.instructions - short.instructions) / unit for short, long in zip(*groups, strict=True)
    ]
    varying = [names for names in map(_varying, groups) if names]
    instructions = Instructions(
        per_run=round((double.instructions - single.instructions) / unit) - loop.per_run,
        exact=all(len({dump.instructions for dump in group}) == 1 for group in groups),
        windows=tuple(dump.window for pair in zip(*groups, strict=True) for dump in pair),
        spread=round(max(slopes) - min(slopes)),
        loop=loop.per_run,
        varying=varying[0] if varying else (),
    )
    metrics = {
        name: round((double.window.metrics[name] - amount) / unit)
        for name, amount in single.window.metrics.items()
    }
    functions = _functions(by_function, below, by_call, unit, loop)
    return Counted(instructions, functions, by_function, by_call, Amounts(metrics))


def evaluate_once(answers: Sequence[Mapping[str, Any]], folder: Path) -> Counted:
    """The result of a case that runs once: the least of what its children dumped below ``folder``.

    Raises:
        CallgrindFormatError: a dump is damaged.
        OSError: a dump is missing.
    """
    dumped = [_Dumped.of(answer, folder) for answer in answers]
    least = min(dumped, key=lambda dump: dump.instructions)
    spread = max(dump.instructions for dump in dumped) - least.instructions
    profile = least.profile
    instructions = Instructions(
        per_run=least.instructions,
        exact=not spread,
        windows=tuple(dump.window for dump in dumped),
        spread=spread,
        varying=_varying(dumped),
    )
    functions = _functions(profile.exclusive, _inclusive(profile), profile.calls, 1, Loop())
    return Counted(instructions, functions, profile.exclusive, profile.calls, least.window.metrics)


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


def others_in(folder: Path, pid: int) -> int:
    """What all threads but the calling one spent in their lives, from the dumps of a process."""
    paths = (path for path in folder.glob(f"cg.{pid}-*") if not path.name.endswith(FIRST_THREAD))
    return sum(read_totals(path) for path in paths)


def _varying(windows: Sequence[_Dumped]) -> tuple[str, ...]:
    """The functions whose cost differs most between windows of the same length, at most three."""
    low = min(windows, key=lambda dump: dump.instructions)
    high = max(windows, key=lambda dump: dump.instructions)
    if low.instructions == high.instructions:
        return ()
    difference = _difference(low.profile.exclusive, high.profile.exclusive)
    largest = sorted(difference, key=lambda key: (-abs(difference[key]), key.name))
    return tuple(key.name for key in largest[:3])


def _difference(
    first: Mapping[Function, int], second: Mapping[Function, int]
) -> dict[Function, int]:
    """Cost by function in the second window and not in the first."""
    found = Counter(second)
    found.subtract(first)
    return {key: cost for key, cost in found.items() if cost}


def _difference_of_calls(
    first: Mapping[Edge, Calls], second: Mapping[Edge, Calls], times: int = 1
) -> dict[Edge, Calls]:
    """Calls in the second window, less ``times`` those in the first."""
    differences = {}
    for edge in dict.fromkeys([*second, *first]):
        (calls, cost), (less_calls, less_cost) = second.get(edge, _NONE), first.get(edge, _NONE)
        differences[edge] = calls - times * less_calls, cost - times * less_cost
    return {edge: calls for edge, calls in differences.items() if any(calls)}


def _functions(
    by_function: Mapping[Function, int],
    below: Mapping[Function, int],
    by_call: Mapping[Edge, Calls],
    runs: int,
    loop: Loop,
) -> FunctionCosts:
    edges = _difference_of_calls(loop.calls, by_call, runs)
    in_calls = {function for edge in edges for function in edge}
    costs = {}
    for key in {*by_function, *loop.functions, *in_calls}:
        of_loop = runs * loop.functions.get(key, 0)
        exclusive = by_function.get(key, 0) - of_loop
        if exclusive or key in in_calls:
            inclusive = below.get(key, 0) - of_loop
            costs[key] = FunctionCost(key.library, key.file, key.name, exclusive, inclusive)
    keys = sorted(costs, key=lambda key: (-costs[key].exclusive, key.name, key.library, key))
    places = {key: place for place, key in enumerate(keys)}
    calls = (
        CallCost(places[caller], places[callee], *edges[caller, callee])
        for caller, callee in sorted(edges)
    )
    return FunctionCosts(runs, tuple(costs[key] for key in keys), tuple(calls))


def _inclusive(profile: CallgrindProfile) -> dict[Function, int]:
    costs = dict(profile.exclusive)
    for (caller, callee), (_, instructions) in profile.calls.items():
        if caller != callee:
            costs[caller] = costs.get(caller, 0) + instructions
    return costs
