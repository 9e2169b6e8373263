"""Where the instructions of a case went on two sides, function by function.

Costs are stored over some iterations, of which the sides may have different numbers. Here all is
per iteration and exact, as fractions; rounding is left to those who show them. Exclusive costs add
up: over all functions, libraries or layers, the change is the change of the count.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import attrs

from instruction_counts.analysis.attribution.function_changes import (
    CallerChange,
    FunctionChange,
    FunctionDifference,
    FunctionKey,
)
from instruction_counts.analysis.attribution.layers import Layer, layer_of
from instruction_counts.analysis.attribution.names import normalised, normalised_library, stem
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.domain.records import Record

_Edge: TypeAlias = tuple[FunctionKey, FunctionKey]


@attrs.frozen
class _Spent:
    """One side per iteration, by names that can be found on another side, too."""

    costs: Mapping[FunctionKey, Fraction]
    calls: Mapping[_Edge, tuple[Fraction, Fraction]]
    """How many from one function to another, with their instructions."""
    into: Mapping[FunctionKey, Fraction] = attrs.field(init=False)
    """Calls of each function that is called."""

    @into.default
    def _into(self) -> Mapping[FunctionKey, Fraction]:
        into: dict[FunctionKey, Fraction] = defaultdict(Fraction)
        for (_, callee), (number, _) in self.calls.items():
            into[callee] += number
        return into

    @classmethod
    def of(cls, costs: FunctionCosts | None) -> _Spent:
        """The sums over what has one name."""
        if costs is None:
            return cls({}, {})
        _check(costs)
        keys = [
            FunctionKey(
                normalised(cost.function, cost.library),
                normalised_library(cost.library),
                layer_of(cost.function, cost.library),
            )
            for cost in costs.costs
        ]
        exclusive: dict[FunctionKey, int] = defaultdict(int)
        for key, function in zip(keys, costs.costs, strict=True):
            exclusive[key] += function.exclusive
        calls: dict[_Edge, list[int]] = defaultdict(lambda: [0, 0])
        for call in costs.calls:
            sums = calls[keys[call.caller], keys[call.callee]]
            sums[0] += call.calls
            sums[1] += call.instructions
        runs = costs.runs
        return cls(
            {key: Fraction(cost, runs) for key, cost in exclusive.items()},
            {edge: (Fraction(n, runs), Fraction(cost, runs)) for edge, (n, cost) in calls.items()},
        )

    def with_names(self, names: Mapping[FunctionKey, FunctionKey]) -> _Spent:
        """The same with other names for some functions."""
        return _Spent(
            {names.get(key, key): cost for key, cost in self.costs.items()},
            {
                (names.get(caller, caller), names.get(callee, callee)): call
                for (caller, callee), call in self.calls.items()
            },
        )

    @property
    def knows_calls(self) -> bool:
        """Whether calls were stored, if there were any."""
        return bool(self.calls) or not self.costs

    def calls_into(self, key: FunctionKey) -> Fraction | None:
        """Calls of a function; None where they are not known."""
        return self.into.get(key, Fraction()) if self.knows_calls else None

    def call(self, edge: _Edge) -> tuple[Fraction, Fraction] | tuple[None, None]:
        """Calls from one function to another, with their instructions; None where not known."""
        return self.calls.get(edge, (Fraction(), Fraction())) if self.knows_calls else (None, None)


def _check(costs: FunctionCosts) -> None:
    # The rows of a file are taken as they are, which is what makes reading large files quick.
    wrong = next(_wrong(costs), None)
    if wrong is not None:
        raise DataError(f"the costs of a case are damaged: {wrong}", "Measure it again.")


def _wrong(costs: FunctionCosts) -> Iterator[str]:
    if not isinstance(costs.runs, int) or costs.runs < 1:
        yield f"they are over {costs.runs} runs"
    for cost in costs.costs:
        names = (cost.function, cost.library, cost.file)
        if not isinstance(cost.exclusive, int) or not all(isinstance(name, str) for name in names):
            yield f"{cost.exclusive!r} is the cost of {names}"
    places = range(len(costs.costs))
    for call in costs.calls:
        numbers = (call.caller, call.callee, call.calls, call.instructions)
        if not all(isinstance(number, int) for number in numbers):
            yield f"{numbers} is no call"
        elif call.caller not in places or call.callee not in places:
            yield f"the call {numbers} names a function that is not there"


def difference(base: FunctionCosts | None, new: FunctionCosts | None) -> FunctionDifference:
    """What changed from ``base`` to ``new``; a side that is None spends nothing.

    Raises:
        DataError: the costs of a side contradict themselves.
    """
    before, after = _Spent.of(base), _Spent.of(new)
    names = _renamed(before.costs, after.costs)
    old_names = {key: old.name for old, key in names.items()}
    before = before.with_names(names)
    functions = [
        FunctionChange(
            key,
            before.costs.get(key),
            after.costs.get(key),
            before.calls_into(key),
            after.calls_into(key),
            old_names.get(key, ""),
        )
        for key in {**after.costs, **before.costs}
    ]
    calls = []
    for edge in {**after.calls, **before.calls}:
        (base_calls, base_cost), (new_calls, new_cost) = before.call(edge), after.call(edge)
        calls.append(CallerChange(*edge, base_calls, new_calls, base_cost, new_cost))
    functions.sort(key=lambda function: (*_size(function), function.key))
    calls.sort(key=lambda call: (*_size(call), call.callee, call.caller))
    return FunctionDifference(tuple(functions), tuple(calls))


def _renamed(
    base: Iterable[FunctionKey], new: Iterable[FunctionKey]
) -> dict[FunctionKey, FunctionKey]:
    """The functions of base that new has under a name with other parameters, where it is clear."""
    names, new_names = set(base), set(new)
    left, entered = (_by_stem(keys) for keys in (names - new_names, new_names - names))
    return {
        left[place][0]: entered[place][0]
        for place in left
        if len(left[place]) == len(entered.get(place, ())) == 1
    }


def _by_stem(keys: Iterable[FunctionKey]) -> dict[FunctionKey, list[FunctionKey]]:
    groups: dict[FunctionKey, list[FunctionKey]] = defaultdict(list)
    for key in keys:
        groups[attrs.evolve(key, name=stem(key.name))].append(key)
    return groups


def _size(change: FunctionChange | CallerChange) -> tuple[Fraction, Fraction]:
    nothing = Fraction()
    return -abs(change.delta), -max(change.base or nothing, change.new or nothing)


def shown(amount: Fraction) -> str:
    """An amount per iteration for people: ``1``, ``0.5``, ``1,234.33``."""
    if amount.denominator == 1:
        return f"{amount.numerator:,}"
    return f"{float(amount):,.2f}".rstrip("0").rstrip(".")


# ------------------------------------------------------------------------------------- layers


def layer_counts(record: Record) -> dict[Layer, int]:
    """Instructions of a case by layer, in whole numbers that add up to its count."""
    counted, functions = record.outcome.instructions, record.outcome.functions
    if counted is None or functions is None:
        return {}
    shares = difference(None, functions).by_layer()
    return apportioned({Layer(share.title): share.new for share in shares}, counted.per_run)


def apportioned(shares: Mapping[Layer, Fraction], total: int) -> dict[Layer, int]:
    """Whole numbers in proportion to ``shares`` that add up to ``total``: the largest remainder.

    Empty where the shares add up to nothing. What comes to 0 is left out.
    """
    whole = sum(shares.values(), Fraction())
    if whole <= 0:
        return {}
    exact = {layer: shares[layer] * total / whole for layer in Layer if layer in shares}
    counts = zip(exact, rounded(list(exact.values()), total), strict=True)
    return {layer: count for layer, count in counts if count}


def rounded(amounts: Sequence[Fraction | float], total: int) -> list[int]:
    """Whole numbers that add up to ``total``: those nearest to the next one are rounded up."""
    whole = [math.floor(amount) for amount in amounts]
    by_rest = sorted(range(len(amounts)), key=lambda place: whole[place] - amounts[place])
    for turn in range(total - sum(whole) if by_rest else 0):
        whole[by_rest[turn % len(by_rest)]] += 1
    return whole


# ------------------------------------------------------------------------------------ layouts


def steady_change(base: Sequence[FunctionCosts], new: Sequence[FunctionCosts]) -> int:
    """Instructions of an iteration by which ``new`` costs more in functions that changed.

    Each side has the costs of a case in several layouts. A function changed if its cost lies on one
    side of base in all of them, by more than layouts move it on either side: what they move is
    learnt case by case, and no function is known by its name.
    """
    sides = [[_by_function(costs) for costs in side] for side in (base, new)]
    total = Fraction()
    for function in {function for side in sides for costs in side for function in costs}:
        before, after = ([costs[function] for costs in side] for side in sides)
        noise = max(max(side) - min(side) for side in (before, after))
        if max(min(after) - max(before), min(before) - max(after)) > noise:
            total += statistics.median(after) - statistics.median(before)
    return round(total)


def _by_function(costs: FunctionCosts) -> dict[tuple[str, str], Fraction]:
    found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for cost in costs.costs:
        found[cost.library, cost.function] += Fraction(cost.exclusive, costs.runs)
    return found
