"""From windows to instructions per iteration, and to the functions they were spent in.

Windows of n and of 2n iterations are counted. What surrounds the loop costs the same in both, so
that (C(2n) - C(n)) / n is the cost of one iteration with its share of the loop; the same slope of
an empty loop is subtracted. Of the windows of one length the smallest counts: what makes windows
differ (an interpreter that retries a specialisation, say) only ever adds.
"""

import operator
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

PATTERN = (2, 2, 1, 1, 1, 2)
"""Window lengths, in units of n. In this order windows of a length differ wherever one of every two
to six iterations costs more than the others; in turns (1, 2, 1, 2, 1, 2), one of three hides."""

FEWEST_DUMPED = 2
"""So many windows at the end, one of each length, are enough where all others cost the same."""

SCHEDULE: tuple[tuple[int | None, int, int], ...] = (
    (60_000, 56, 4),
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

    @classmethod
    def of(cls, profile: CallgrindProfile, runs: int) -> "Loop":
        """From what ``runs`` iterations cost."""
        by_function = {key: round(cost / runs) for key, cost in profile.exclusive.items()}
        by_call = {
            edge: (round(calls / runs), round(cost / runs))
            for edge, (calls, cost) in profile.calls.items()
        }
        return cls(
            round(profile.totals / runs),
            {key: cost for key, cost in by_function.items() if cost},
            {edge: cost for edge, cost in by_call.items() if any(cost)},
        )


@attrs.frozen
class Counted:
    """What the windows of one case say."""

    instructions: Instructions
    functions: FunctionCosts
    profile: CallgrindProfile
    """What ``functions.runs`` runs cost, the loop included."""
    metrics: Amounts = NO_AMOUNTS

    def with_others(self, per_run: float) -> "Counted":
        """The same with what all other threads spend in a run; who waits for whom differs."""
        counted, others = self.instructions, round(per_run)
        exact, everywhere = counted.exact and not others, counted.per_run + others
        counted = attrs.evolve(counted, exact=exact, all_threads_per_run=everywhere)
        return attrs.evolve(self, instructions=counted)

    def unallocated(self) -> "Counted":
        """The same without allocations, which only the steady allocator can count."""
        windows = tuple(
            attrs.evolve(window, metrics=NO_AMOUNTS) for window in self.instructions.windows
        )
        instructions = attrs.evolve(self.instructions, windows=windows)
        return attrs.evolve(self, instructions=instructions, metrics=NO_AMOUNTS)


@attrs.frozen
class _Dumped:
    """A window, and the file that its profile is in; None where it was not dumped."""

    window: Window
    path: Path | None

    @classmethod
    def of(cls, answer: Mapping[str, Any], folder: Path) -> "_Dumped":
        path = folder / (answer["dump"] + FIRST_THREAD) if answer["dump"] else None
        instructions = answer["instructions"] if path is None else read_totals(path)
        calls, allocated_bytes, _ = answer["allocations"]
        allocated = Amounts({ALLOCATIONS.name: calls, ALLOCATED_BYTES.name: allocated_bytes})
        return cls(Window(answer["runs"], instructions, allocated), path)

    @property
    def instructions(self) -> int:
        return self.window.instructions

    @cached_property
    def profile(self) -> CallgrindProfile:
        assert self.path is not None, "windows that are not alike are all dumped"
        return read(self.path)


_instructions = operator.attrgetter("instructions")


def are_alike(answers: Sequence[Mapping[str, Any]]) -> bool:
    """Whether windows of a length all cost the same: one of each then tells what costs it."""
    return len({(answer["runs"], answer["instructions"]) for answer in answers}) <= 2


def evaluate(answers: Sequence[Mapping[str, Any]], folder: Path, loop: Loop) -> Counted:
    """The result of a case, from its windows; those that are not alike are dumped below ``folder``.

    Of windows that are, the last of each length is dumped.

    Raises:
        CallgrindFormatError: a dump is damaged.
        OSError: a dump is missing.
    """
    dumped = [_Dumped.of(answer, folder) for answer in answers]
    unit = min(dump.window.runs for dump in dumped)
    groups = [[dump for dump in dumped if dump.window.runs == runs] for runs in (unit, 2 * unit)]
    single, double = (min(_known(group)[::-1], key=_instructions) for group in groups)
    profile = less(double.profile, single.profile)
    short, long = (sorted(map(_instructions, group)) for group in groups)
    # What surrounds the loop costs something: else long windows hold what no short one does.
    too_much = max(0, double.instructions - 2 * single.instructions)
    varying = [names for names in map(_varying, groups) if names]
    instructions = Instructions(
        per_run=round((double.instructions - single.instructions) / unit) - loop.per_run,
        exact=short[0] == short[-1] and long[0] == long[-1] and not too_much,
        windows=tuple(dump.window for dump in dumped),
        spread=round(max(long[-1] - long[0] + short[-1] - short[0], too_much) / unit),
        loop=loop.per_run,
        varying=varying[0] if varying else (),
    )
    metrics = {
        name: round((double.window.metrics[name] - amount) / unit)
        for name, amount in single.window.metrics.items()
    }
    functions = function_costs(profile, unit, loop)
    return Counted(instructions, functions, profile, Amounts(metrics))


def evaluate_once(answers: Sequence[Mapping[str, Any]], folder: Path) -> Counted:
    """The result of a case that runs once: the least of what its children dumped below ``folder``.

    Raises:
        CallgrindFormatError: a dump is damaged.
        OSError: a dump is missing.
    """
    dumped = [_Dumped.of(answer, folder) for answer in answers]
    least = min(dumped, key=_instructions)
    spread = max(dump.instructions for dump in dumped) - least.instructions
    profile = least.profile
    instructions = Instructions(
        per_run=least.instructions,
        exact=not spread,
        windows=tuple(dump.window for dump in dumped),
        spread=spread,
        varying=_varying(dumped),
    )
    # Callgrind adds calls from before, which cost nothing: how many are of this run is not known.
    edges = {edge: (0, cost) for edge, (_, cost) in profile.calls.items()}
    functions = function_costs(attrs.evolve(profile, calls=edges), 1, Loop())
    return Counted(instructions, functions, profile, least.window.metrics)


def with_named_statement(costs: FunctionCosts) -> FunctionCosts:
    """The costs of a compiled case, in which what its function costs itself is the statement's.

    It is entered from ctypes before collection begins, so that Callgrind does not see its entry
    point and takes it for a part of libffi.
    """
    return attrs.evolve(
        costs,
        costs=tuple(
            attrs.evolve(cost, library="case.so", file="case.cpp", function="statement")
            if cost.exclusive and cost.library.startswith("libffi")
            else cost
            for cost in costs.costs
        ),
    )


def others_in(folder: Path, pid: int) -> int:
    """What all threads but the calling one spent in their lives, from the dumps of a process."""
    paths = (path for path in folder.glob(f"cg.{pid}-*") if not path.name.endswith(FIRST_THREAD))
    return sum(read_totals(path) for path in paths)


def _known(windows: Sequence[_Dumped]) -> list[_Dumped]:
    """Those with a profile. Others can have cost less: what handles a signal is in dumps alone."""
    return [window for window in windows if window.path is not None]


def _varying(windows: Sequence[_Dumped]) -> tuple[str, ...]:
    """The functions whose cost differs most between windows of the same length, at most three."""
    low = min(_known(windows), key=_instructions)
    high = max(_known(windows), key=_instructions)
    if low.instructions == high.instructions:
        return ()
    difference = less(high.profile, low.profile).exclusive
    largest = sorted(difference, key=lambda key: (-abs(difference[key]), key.name))
    return tuple(key.name for key in largest[:3])


def less(profile: CallgrindProfile, other: CallgrindProfile) -> CallgrindProfile:
    """What ``profile`` has more than ``other``; a difference may be negative."""
    exclusive = Counter(profile.exclusive)
    exclusive.subtract(other.exclusive)
    return CallgrindProfile(
        profile.totals - other.totals,
        {key: cost for key, cost in exclusive.items() if cost},
        _less_calls(profile.calls, other.calls),
    )


def _less_calls(
    calls: Mapping[Edge, Calls], other: Mapping[Edge, Calls], times: int = 1
) -> dict[Edge, Calls]:
    """``calls``, less ``times`` the others."""
    differences = {}
    for edge in dict.fromkeys([*calls, *other]):
        (number, cost), (less_calls, less_cost) = calls.get(edge, _NONE), other.get(edge, _NONE)
        differences[edge] = number - times * less_calls, cost - times * less_cost
    # What cost nothing was called outside of windows: by what cleans up there.
    return {edge: found for edge, found in differences.items() if found[1]}


def function_costs(profile: CallgrindProfile, runs: int, loop: Loop) -> FunctionCosts:
    """What a profile of ``runs`` iterations costs by function and by call, less the loop."""
    edges = _less_calls(profile.calls, loop.calls, runs)
    in_calls = {function for edge in edges for function in edge}
    below, costs = profile.inclusive, {}
    for key in {*profile.exclusive, *loop.functions, *in_calls}:
        of_loop = runs * loop.functions.get(key, 0)
        exclusive = profile.exclusive.get(key, 0) - of_loop
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
