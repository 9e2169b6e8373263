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
from typing import Any, TypeAlias

from instruction_counts import __version__
from instruction_counts.analysis.attribution.functions import (
    FunctionDifference,
    FunctionKey,
    rounded,
)
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.attribution.names import printable

_SMALLEST_STACK = 0.5
"""Instructions per iteration, of a stack and of all above it."""

_MOST_STACKS = 20_000
"""A stack holds at least this part of the count, so that large cases make no huge files."""

_Costs: TypeAlias = Mapping[FunctionKey, float]
_Shares: TypeAlias = Mapping[FunctionKey, Mapping[FunctionKey, Fraction]]


def speedscope(title: str, difference: FunctionDifference) -> dict[str, Any]:
    """The document: a graph of each side, whose weights add up to its whole instructions."""
    frames: dict[FunctionKey, int] = {}
    profiles = [_profile(side, difference, frames) for side in ("base", "new")]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": f"instruction-counts {__version__}",
        "name": printable(title),
        "profiles": profiles,
        "shared": {"frames": [{"name": key.name, "file": key.library} for key in frames]},
    }


def _profile(
    side: str, difference: FunctionDifference, frames: dict[FunctionKey, int]
) -> dict[str, Any]:
    found = {each.key: getattr(each, side) for each in difference.functions}
    costs = {key: max(cost, Fraction()) for key, cost in found.items() if cost is not None}
    # A function costs less than nothing where the empty loop spent more in it: the largest pays.
    if costs:
        largest = max(costs, key=lambda key: costs[key])
        owed = sum(min(cost, Fraction()) for cost in found.values() if cost is not None)
        costs[largest] = max(costs[largest] + owed, Fraction())
    callees: dict[FunctionKey, dict[FunctionKey, Fraction]] = defaultdict(dict)
    for call in difference.calls:
        weight = getattr(call, side) or Fraction()
        if call.caller != call.key and weight > 0:
            callees[call.caller][call.key] = weight
    stacks = list(_stacks({key: float(cost) for key, cost in costs.items()}, callees))
    total = round(sum(costs.values()))
    weights = rounded([weight for _, weight in stacks], total)
    kept = [(stack, weight) for (stack, _), weight in zip(stacks, weights, strict=True) if weight]
    return {
        "type": "sampled",
        "name": side if callees else f"{side} (flat: stored without calls)",
        "unit": "none",
        "startValue": 0,
        "endValue": total,
        "samples": [[frames.setdefault(key, len(frames)) for key in stack] for stack, _ in kept],
        "weights": [weight for _, weight in kept],
    }


def _stacks(costs: _Costs, callees: _Shares) -> Iterator[tuple[tuple[FunctionKey, ...], float]]:
    """Every stack with what its last function costs there; from the outermost function inwards."""
    order, shares = _without_cycles(costs, callees)
    called = {callee for targets in shares.values() for callee in targets}
    inclusive: dict[FunctionKey, float] = {}
    for key in order:
        below = sum(share * inclusive[callee] for callee, share in shares[key].items())
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
        targets = [(part * inclusive[callee], callee, part) for callee, part in shares[key].items()]
        pending += [
            ((*stack, callee), share * part) for _, callee, part in sorted(targets) if whole
        ]


def _without_cycles(
    costs: Iterable[FunctionKey], callees: _Shares
) -> tuple[list[FunctionKey], dict[FunctionKey, dict[FunctionKey, float]]]:
    """Callees before their callers, and what part of each callee belongs to a caller."""
    called = {callee for targets in callees.values() for callee in targets}
    outside = {key: sum(callees.get(key, {}).values()) for key in {*costs, *called, *callees}}
    starts = sorted(outside, key=lambda key: (key in called, -outside[key], key))
    order, kept = _depth_first(starts, callees)
    sums: dict[FunctionKey, Fraction] = defaultdict(Fraction)
    for caller, callee in kept:
        sums[callee] += callees[caller][callee]
    parts: dict[FunctionKey, dict[FunctionKey, float]] = {key: {} for key in order}
    for caller, callee in kept:
        parts[caller][callee] = float(callees[caller][callee] / sums[callee])
    return order, parts


def _depth_first(
    starts: Iterable[FunctionKey], callees: _Shares
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
