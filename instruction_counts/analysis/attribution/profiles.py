"""Both sides of a case as flame graphs for speedscope.

What was measured is costs of functions, and calls between pairs of them; a flame graph needs whole
stacks, which nobody recorded. They are made up from the calls: the cost of a function is shared
among its callers in proportion to the instructions that each call spent there, and so on upwards.
That is true where a function costs the same whoever calls it, and a guess elsewhere. Where
functions call each other in a circle, the call back is left out. Stacks of too few instructions
are merged. Nothing is lost: the weights add up to the count.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from instruction_counts import __version__
from instruction_counts.analysis.attribution.function_changes import (
    CallerChange,
    FunctionDifference,
    FunctionKey,
)
from instruction_counts.analysis.attribution.functions import rounded
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.attribution.names import printable

_PROGRAM = f"instruction-counts {__version__}"
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"

_SIDES = ("base", "new")

_SMALLEST_STACK = 0.5
"""Instructions per iteration, of a stack and of all above it."""

_MOST_STACKS = 20_000
"""A stack holds at least this part of the count, so that large cases make no huge files."""


def _settled(costs: Sequence[int], libraries: Sequence[str]) -> list[int]:
    """The costs with negative ones taken off the largest of the same library, else of all.

    A function costs less than nothing where the empty loop spent more in it than the case did.
    """
    settled = [max(0, cost) for cost in costs]
    largest = sorted(range(len(costs)), key=lambda place: -costs[place])
    for place in (place for place, cost in enumerate(costs) if cost < 0):
        debt = -costs[place]
        mine = [other for other in largest if libraries[other] == libraries[place]]
        for other in (*mine, *largest):
            paid = min(debt, settled[other])
            settled[other] -= paid
            debt -= paid
    return settled


# ------------------------------------------------------------------------------ speedscope


def speedscope(title: str, difference: FunctionDifference) -> dict[str, Any]:
    """The document, of weights in whole instructions per iteration.

    Those of base and new add up to their counts, those of what grew and what shrank to the sums of
    the positive and of the negative changes of functions.
    """
    frames: dict[FunctionKey, int] = {}
    stacked = {side: any(_amount(call, side) for call in difference.calls) for side in _SIDES}
    both = all(stacked.values())
    graphs = [(side, stacked[side], _side(difference, side)) for side in _SIDES]
    for what, sign, side in (("grew", 1, "new"), ("shrank", -1, "base")):
        graphs.append(
            (f"difference: {what}", both, _change(difference, sign, side if both else ""))
        )
    return {
        "$schema": _SCHEMA,
        "exporter": _PROGRAM,
        "name": printable(title),
        "profiles": [
            _profile(name if stacks else f"{name} (flat: stored without calls)", graph, frames)
            for name, stacks, graph in graphs
        ],
        "shared": {"frames": [{"name": key.name, "file": key.library} for key in frames]},
    }


def _profile(name: str, graph: _Graph, frames: dict[FunctionKey, int]) -> dict[str, Any]:
    stacks = list(_stacks(graph))
    total = round(sum(graph.costs.values()))
    weights = rounded([weight for _, weight in stacks], total)
    kept = [(stack, weight) for (stack, _), weight in zip(stacks, weights, strict=True) if weight]
    return {
        "type": "sampled",
        "name": name,
        "unit": "none",
        "startValue": 0,
        "endValue": total,
        "samples": [[frames.setdefault(key, len(frames)) for key in stack] for stack, _ in kept],
        "weights": [weight for _, weight in kept],
    }


# ------------------------------------------------------------------------------ call graphs


@attrs.frozen
class _Graph:
    """Functions with what they cost themselves, and who calls them, with weights to share by."""

    costs: Mapping[FunctionKey, Fraction]
    callers: Mapping[FunctionKey, Mapping[FunctionKey, Fraction]]


def _amount(call: CallerChange, field: str, sign: int = 1) -> Fraction:
    amount: Fraction | None = getattr(call, field)
    return max((amount or Fraction()) * sign, Fraction())


def _side(difference: FunctionDifference, side: str) -> _Graph:
    costs = {function.key: getattr(function, side) for function in difference.functions}
    spent = {key: cost for key, cost in costs.items() if cost is not None}
    return _graph(spent, difference.calls, {side: 1, f"{side}_calls": 1})


def _change(difference: FunctionDifference, sign: int, side: str) -> _Graph:
    """What grew (1) or shrank (-1), shared among callers by what grew or shrank below each."""
    spent = {
        function.key: max(sign * function.delta, Fraction()) for function in difference.functions
    }
    weights = {"delta": sign, side: 1, f"{side}_calls": 1}
    return _graph(spent, difference.calls if side else (), weights)


def _graph(
    spent: Mapping[FunctionKey, Fraction],
    calls: Iterable[CallerChange],
    weights: Mapping[str, int],
) -> _Graph:
    """A graph whose callers share by the first of ``weights`` that is not 0 for all of them.

    These are fields of a call, each with a sign.
    """
    denominator = math.lcm(*(cost.denominator for cost in spent.values()))
    whole = [int(cost * denominator) for cost in spent.values()]
    settled = _settled(whole, [key.library for key in spent])
    into: dict[FunctionKey, list[CallerChange]] = defaultdict(list)
    for call in calls:
        if call.caller != call.callee:
            into[call.callee].append(call)
    callers: dict[FunctionKey, dict[FunctionKey, Fraction]] = {}
    for callee, edges in into.items():
        for field, sign in weights.items():
            shares = {edge.caller: _amount(edge, field, sign) for edge in edges}
            if any(shares.values()):
                callers[callee] = {caller: share for caller, share in shares.items() if share}
                break
    costs = zip(spent, settled, strict=True)
    return _Graph({key: Fraction(cost, denominator) for key, cost in costs}, callers)


def _stacks(graph: _Graph) -> Iterator[tuple[tuple[FunctionKey, ...], float]]:
    """Every stack with what its last function costs there; from the outermost function inwards."""
    order, callees = _without_cycles(graph)
    called = {callee for targets in callees.values() for callee in targets}
    costs = {key: float(cost) for key, cost in graph.costs.items()}
    inclusive: dict[FunctionKey, float] = {}
    for key in order:
        below = sum(share * inclusive[callee] for callee, share in callees[key].items())
        inclusive[key] = costs.get(key, 0.0) + below
    smallest = max(_SMALLEST_STACK, sum(costs.values()) / _MOST_STACKS)
    small = FunctionKey(f"(stacks below {smallest:,.3g} instructions)", "", Layer.OTHER)
    roots = [key for key in order if key not in called]
    roots.sort(key=lambda key: (inclusive[key], key))
    pending: list[tuple[tuple[FunctionKey, ...], float]] = [((key,), 1.0) for key in roots]
    while pending:
        stack, share = pending.pop()
        key = stack[-1]
        whole = share * inclusive[key]
        if 0 < whole < smallest and len(stack) > 1:
            yield (*stack[:-1], small), whole
            continue
        if costs.get(key):
            yield stack, share * costs[key]
        targets = sorted(
            callees[key].items(), key=lambda item: (item[1] * inclusive[item[0]], item[0])
        )
        pending += [((*stack, callee), share * part) for callee, part in targets if whole]


def _without_cycles(
    graph: _Graph,
) -> tuple[list[FunctionKey], dict[FunctionKey, dict[FunctionKey, float]]]:
    """Callees before their callers, and what part of each callee belongs to a caller."""
    callees: dict[FunctionKey, dict[FunctionKey, Fraction]] = defaultdict(dict)
    for callee, callers in graph.callers.items():
        for caller, weight in callers.items():
            callees[caller][callee] = weight
    nodes = {*graph.costs, *graph.callers, *callees}
    outside = {key: sum(callees[key].values(), Fraction()) for key in nodes}
    starts = sorted(nodes, key=lambda key: (key in graph.callers, -outside[key], key))
    order, kept = _depth_first(starts, callees)
    sums: dict[FunctionKey, Fraction] = defaultdict(Fraction)
    for caller, callee in kept:
        sums[callee] += callees[caller][callee]
    parts: dict[FunctionKey, dict[FunctionKey, float]] = {key: {} for key in order}
    for caller, callee in kept:
        parts[caller][callee] = float(callees[caller][callee] / sums[callee])
    return order, parts


def _depth_first(
    starts: Iterable[FunctionKey], callees: Mapping[FunctionKey, Mapping[FunctionKey, Fraction]]
) -> tuple[list[FunctionKey], list[tuple[FunctionKey, FunctionKey]]]:
    """The order in which functions are left, and the calls that do not lead back."""
    order: list[FunctionKey] = []
    kept: list[tuple[FunctionKey, FunctionKey]] = []
    open_keys: set[FunctionKey] = set()
    seen: set[FunctionKey] = set()
    path: list[tuple[FunctionKey, Iterator[FunctionKey]]] = []

    def enter(key: FunctionKey) -> None:
        targets = callees.get(key, {})
        heaviest_first = sorted(targets, key=lambda callee: (-targets[callee], callee))
        seen.add(key)
        open_keys.add(key)
        path.append((key, iter(heaviest_first)))

    for start in starts:
        if start not in seen:
            enter(start)
        while path:
            key, rest = path[-1]
            callee = next(rest, None)
            if callee is None:
                path.pop()
                open_keys.remove(key)
                order.append(key)
            elif callee not in open_keys:
                kept.append((key, callee))
                if callee not in seen:
                    enter(callee)
    return order, kept
