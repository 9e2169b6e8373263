"""Both sides of a case as flame graphs for speedscope.

What was measured is costs of functions, and calls between pairs of them; a flame graph needs whole
stacks, which nobody recorded. They are made up from the calls: the cost of a function is shared
among its callers in proportion to the instructions that each call spent there, and so on upwards.
That is true where a function costs the same whoever calls it, and a guess elsewhere. Where
functions call each other in a circle, the call back is left out. Stacks of too few instructions
are merged. Nothing is lost: the weights add up to the count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import attrs

from instruction_counts import __version__
from instruction_counts.analysis.attribution.functions import (
    CallerChange,
    FunctionDifference,
    FunctionKey,
    rounded,
)
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.attribution.names import printable

_PROGRAM = f"instruction-counts {__version__}"
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"

_SMALLEST_STACK = 0.5
"""Instructions per iteration, of a stack and of all above it."""

_MOST_STACKS = 20_000
"""A stack holds at least this part of the count, so that large cases make no huge files."""


# ------------------------------------------------------------------------------ speedscope


def speedscope(title: str, difference: FunctionDifference) -> dict[str, Any]:
    """The document: a graph of each side, whose weights add up to its whole instructions."""
    frames: dict[FunctionKey, int] = {}
    profiles = [_profile(side, _graph(difference, side), frames) for side in ("base", "new")]
    return {
        "$schema": _SCHEMA,
        "exporter": _PROGRAM,
        "name": printable(title),
        "profiles": profiles,
        "shared": {"frames": [{"name": key.name, "file": key.library} for key in frames]},
    }


def _profile(side: str, graph: _Graph, frames: dict[FunctionKey, int]) -> dict[str, Any]:
    stacks = list(_stacks(graph))
    total = round(sum(graph.costs.values()))
    weights = rounded([weight for _, weight in stacks], total)
    kept = [(stack, weight) for (stack, _), weight in zip(stacks, weights, strict=True) if weight]
    return {
        "type": "sampled",
        "name": side if graph.callers else f"{side} (flat: stored without calls)",
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


def _graph(difference: FunctionDifference, side: str) -> _Graph:
    """A side; callers share by the instructions of their calls, or by calls if all have none."""
    costs = {function.key: getattr(function, side) for function in difference.functions}
    spent = {key: cost for key, cost in costs.items() if cost is not None}
    into: dict[FunctionKey, list[CallerChange]] = defaultdict(list)
    for call in difference.calls:
        if call.caller != call.callee:
            into[call.callee].append(call)
    callers: dict[FunctionKey, dict[FunctionKey, Fraction]] = {}
    for callee, edges in into.items():
        for field in (side, f"{side}_calls"):
            shares = {edge.caller: getattr(edge, field) or Fraction() for edge in edges}
            positive = {caller: share for caller, share in shares.items() if share > 0}
            if positive:
                callers[callee] = positive
                break
    return _Graph(_settled(spent), callers)


def _settled(spent: Mapping[FunctionKey, Fraction]) -> dict[FunctionKey, Fraction]:
    """The costs with negative ones taken off the largest of the same library, else of all.

    A function costs less than nothing where the empty loop spent more in it than the case did.
    """
    settled = {key: max(cost, Fraction()) for key, cost in spent.items()}
    largest = sorted(spent, key=lambda key: -spent[key])
    for key in (key for key, cost in spent.items() if cost < 0):
        debt = -spent[key]
        for other in sorted(largest, key=lambda other: other.library != key.library):
            paid = min(debt, settled[other])
            settled[other] -= paid
            debt -= paid
    return settled


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
    entered: set[FunctionKey] = set()
    left: set[FunctionKey] = set()
    path: list[tuple[FunctionKey | None, Iterator[FunctionKey]]] = [(None, iter(starts))]
    while path:
        key, rest = path[-1]
        callee = next(rest, None)
        if callee is None:
            path.pop()
            if key is not None:
                order.append(key)
                left.add(key)
            continue
        if key is not None and (callee in left or callee not in entered):
            kept.append((key, callee))
        if callee not in entered:
            entered.add(callee)
            targets = callees.get(callee, {})
            heaviest_first = sorted(targets, key=lambda key: (-targets[key], key))
            path.append((callee, iter(heaviest_first)))
    return order, kept
