"""Both sides of a case as flame graphs for speedscope.

What was measured is costs of functions, and calls between pairs of them; a flame graph needs whole
stacks, which nobody recorded. They are made up from the calls: the cost of a function is shared
among its callers in proportion to the instructions that each call spent there, and so on upwards.
That is true where a function costs the same whoever calls it, and a guess elsewhere. Where
functions call each other in a circle, the call back is left out. Stacks of too few instructions
are merged. Nothing is lost: the weights add up to the count.
"""

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
    shares = _without_cycles(costs, callees)
    called = {callee for targets in shares.values() for callee in targets}
    inclusive: dict[FunctionKey, float] = {}
    for key, parts in shares.items():
        below = sum(part * inclusive[callee] for callee, part in parts.items())
        inclusive[key] = costs.get(key, 0.0) + below
    smallest = max(_SMALLEST_STACK, sum(costs.values()) / _MOST_STACKS)
    small = FunctionKey(f"(stacks below {smallest:,.3g} instructions)", "", Layer.OTHER)
    roots = [key for key in shares if key not in called]
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
) -> dict[FunctionKey, dict[FunctionKey, float]]:
    """What part of each callee belongs to a caller; callees come before their callers.

    Calls are followed depth first, the heaviest first; one that leads back is left out.
    """

    def heaviest_first(key: FunctionKey) -> Iterator[FunctionKey]:
        targets = callees.get(key, {})
        return iter(sorted(targets, key=lambda callee: (-targets[callee], callee)))

    called = {callee for targets in callees.values() for callee in targets}
    outside = {key: sum(callees.get(key, {}).values()) for key in {*costs, *called, *callees}}
    sums: dict[FunctionKey, Fraction] = defaultdict(Fraction)
    entered: dict[FunctionKey, list[FunctionKey]] = {}
    left: dict[FunctionKey, list[FunctionKey]] = {}
    for start in sorted(outside, key=lambda key: (key in called, -outside[key], key)):
        path = [] if start in entered else [(start, heaviest_first(start))]
        entered.setdefault(start, [])
        while path:
            caller, rest = path[-1]
            if (callee := next(rest, None)) is None:
                left[caller] = entered[caller]
                path.pop()
            elif callee in left or callee not in entered:
                entered[caller].append(callee)
                sums[callee] += callees[caller][callee]
                if callee not in entered:
                    entered[callee] = []
                    path.append((callee, heaviest_first(callee)))
    return {
        caller: {callee: float(callees[caller][callee] / sums[callee]) for callee in calls}
        for caller, calls in left.items()
    }
