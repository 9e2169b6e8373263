"""Where the instructions of a case went on two sides, function by function.

Costs are stored over some iterations, of which the sides may have different numbers. Here all is
per iteration and exact, as fractions; rounding is left to those who show them. Exclusive costs add
up: over all functions, libraries or layers, the change is the change of the count.
"""

import functools
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import attrs

from instruction_counts.analysis.attribution.layers import Layer, layer_of
from instruction_counts.analysis.attribution.names import normalised, normalised_library, stem
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.domain.records import Record

_Rational: TypeAlias = Fraction | int
_AmountOf: TypeAlias = Callable[[int | None], Fraction | None]

_NOTHING = Fraction()


@attrs.frozen(order=True, cache_hash=True)
class FunctionKey:
    """What a function is called on both sides, by normalised names."""

    name: str
    library: str
    layer: Layer = attrs.field(order=False)


@attrs.frozen
class FunctionChange:
    """The exclusive instructions of a function per iteration, and the calls into it."""

    key: FunctionKey
    base: Fraction | None
    """None where the function is not executed."""
    new: Fraction | None
    base_calls: Fraction | None
    """Calls into it per iteration; None where they are not known."""
    new_calls: Fraction | None

    @property
    def delta(self) -> Fraction:
        """Instructions per iteration that new has more."""
        return (self.new or _NOTHING) - (self.base or _NOTHING)

    @property
    def more_calls(self) -> Fraction:
        """Calls per iteration that new has more; 0 where they are not known on a side."""
        if self.base_calls is None or self.new_calls is None:
            return _NOTHING
        return self.new_calls - self.base_calls


@attrs.frozen
class CallerChange(FunctionChange):
    """The calls from one function alone, with all that happens below them.

    Where a side was stored without calls, instructions are None, too, and did not change.
    """

    caller: FunctionKey

    @property
    def delta(self) -> Fraction:
        """Instructions per iteration that new has more."""
        return _NOTHING if self.base is None or self.new is None else super().delta


@attrs.frozen
class Share:
    """What one layer or one library spends in a run."""

    title: str
    base: Fraction
    new: Fraction

    @property
    def delta(self) -> Fraction:
        """Instructions per iteration that new has more."""
        return self.new - self.base


@attrs.frozen
class FunctionDifference:
    """Two sides of a case, per iteration."""

    functions: tuple[FunctionChange, ...]
    """All functions of both sides, the largest change first."""
    calls: tuple[CallerChange, ...] = ()
    """By caller and function, the largest change first; empty where no side has them."""

    @property
    def delta(self) -> Fraction:
        """The sum of all changes."""
        return sum((function.delta for function in self.functions), _NOTHING)

    def by_layer(self) -> tuple[Share, ...]:
        """The layers, the largest change first."""
        return self._shares(lambda key: key.layer.value)

    def by_library(self) -> tuple[Share, ...]:
        """The libraries, the largest change first."""
        return self._shares(lambda key: key.library)

    def callers(self, key: FunctionKey) -> tuple[CallerChange, ...]:
        """Who calls a function, the largest change first; not the function itself.

        Empty where calls are not known on a side, and of a function that is also executed below
        itself: what is spent there counts with each call, and all calls with more than the case.
        """
        found = tuple(
            call
            for call in self.calls
            if call.key == key != call.caller and None not in {call.base, call.new}
        )
        is_recursive = any(
            sum(getattr(call, side) for call in found)
            > sum(getattr(function, side) or 0 for function in self.functions)
            for side in ("base", "new")
        )
        return () if is_recursive else found

    def _shares(self, title: Callable[[FunctionKey], str]) -> tuple[Share, ...]:
        groups: dict[str, list[FunctionChange]] = defaultdict(list)
        for function in self.functions:
            groups[title(function.key)].append(function)
        shares = (
            Share(name, *(_sum(getattr(part, side) for part in parts) for side in ("base", "new")))
            for name, parts in groups.items()
        )
        return tuple(sorted(shares, key=lambda share: (*_size(share.base, share.new), share.title)))


def _sum(amounts: Iterable[Fraction | None]) -> Fraction:
    """Most amounts have the same few denominators, and whole numbers are added faster."""
    numerators: Counter[int] = Counter()
    for amount in amounts:
        if amount:
            numerators[amount.denominator] += amount.numerator
    return sum((Fraction(whole, part) for part, whole in numerators.items()), _NOTHING)


def _size(base: _Rational | None, new: _Rational | None) -> tuple[_Rational, _Rational]:
    """By it, the largest change comes first; of equal ones, that of the largest amount."""
    less, more = sorted((base or 0, new or 0))
    return less - more, -more


def shown(amount: Fraction) -> str:
    """An amount per iteration for people: ``1``, ``0.5``, ``1,234.33``."""
    if amount.denominator == 1:
        return f"{amount.numerator:,}"
    return f"{float(amount):,.2f}".rstrip("0").rstrip(".")


# ---------------------------------------------------------------------------------- two sides


def difference(
    base: FunctionCosts | None, new: FunctionCosts | None, *, with_calls: bool = True
) -> FunctionDifference:
    """What changed from ``base`` to ``new``; a side that is None spends nothing.

    Calls by caller are most of the work. Without ``with_calls`` they stay empty.
    """
    scale = math.lcm(*(side.runs for side in (base, new) if side is not None))
    before, after = (_Spent.of(side, scale) for side in (base, new))
    if names := _renamed(before.costs, after.costs):
        before = _Spent.of(base, scale, names)
    amount = functools.cache(lambda number: None if number is None else Fraction(number, scale))
    calls = _calls(before, after, amount) if with_calls else ()
    return FunctionDifference(_functions(before, after, amount), calls)


def _functions(before: "_Spent", after: "_Spent", amount: _AmountOf) -> tuple[FunctionChange, ...]:
    rows = []
    for key in {**after.costs, **before.costs}:
        costs = before.costs.get(key), after.costs.get(key)
        numbers = (side.entered.get(key, side.no_calls) for side in (before, after))
        change = FunctionChange(key, *map(amount, (*costs, *numbers)))
        rows.append((_size(*costs), key, change))
    rows.sort(key=lambda row: row[:-1])
    return tuple(row[-1] for row in rows)


def _calls(before: "_Spent", after: "_Spent", amount: _AmountOf) -> tuple[CallerChange, ...]:
    rows = []
    for called in {**after.calls, **before.calls}:
        (base_calls, less), (new_calls, more) = (
            side.calls.get(called, (side.no_calls, side.no_cost)) for side in (before, after)
        )
        known = [spent for spent in (less, more) if spent is not None]
        caller, key = called
        costs, numbers = (amount(less), amount(more)), (amount(base_calls), amount(new_calls))
        change = CallerChange(key, *costs, *numbers, caller)
        rows.append((_size(known[0], known[-1]), key, caller, change))
    rows.sort(key=lambda row: row[:-1])
    return tuple(row[-1] for row in rows)


@attrs.frozen
class _Spent:
    """One side, by names that can be found on another side, too.

    Amounts are per iteration, times the scale that both sides have in common: whole numbers, since
    fractions would take most of the time.
    """

    costs: Mapping[FunctionKey, int]
    entered: Mapping[FunctionKey, int]
    """How many calls go into a function."""
    calls: Mapping[tuple[FunctionKey, FunctionKey], tuple[int | None, int]]
    """How many, with their instructions, by caller and what it calls."""
    no_calls: int | None = 0
    """How many others there are: None where that is not known."""
    no_cost: int | None = 0
    """Their instructions: None where calls were not stored, though there were any."""

    @classmethod
    def of(
        cls,
        costs: FunctionCosts | None,
        scale: int,
        names: Mapping[FunctionKey, FunctionKey] | None = None,
    ) -> "_Spent":
        """The sums over what has one name; ``names`` are other names for some functions."""
        if costs is None:
            return cls({}, {}, {})
        found = [_key_of(cost.function, cost.library) for cost in costs.costs]
        keys = [names.get(key, key) for key in found] if names else found
        factor = scale // costs.runs
        exclusive: dict[FunctionKey, int] = defaultdict(int)
        for key, cost in zip(keys, costs.costs, strict=True):
            exclusive[key] += cost.exclusive * factor
        entered: dict[FunctionKey, int] = defaultdict(int)
        calls: dict[tuple[FunctionKey, FunctionKey], tuple[int, int]] = {}
        for call in costs.calls:
            caller, key = keys[call.caller], keys[call.callee]
            entered[key] += call.calls * factor
            number, spent = calls.get((caller, key), (0, 0))
            calls[caller, key] = number + call.calls * factor, spent + call.instructions * factor
        no_cost = 0 if calls or not exclusive else None
        if any(number for number, _ in calls.values()):
            return cls(exclusive, entered, calls, no_cost, no_cost)
        uncounted = {called: (None, spent) for called, (_, spent) in calls.items()}
        return cls(exclusive, {}, uncounted, None if exclusive else 0, no_cost)


@functools.lru_cache(maxsize=32_768)
def _key_of(function: str, library: str) -> FunctionKey:
    return FunctionKey(
        normalised(function, library), normalised_library(library), layer_of(function, library)
    )


def _renamed(
    base: Iterable[FunctionKey], new: Iterable[FunctionKey]
) -> dict[FunctionKey, FunctionKey]:
    """The functions of base that new has under a name with other parameters, where it is clear."""
    groups: dict[FunctionKey, tuple[list[FunctionKey], list[FunctionKey]]]
    groups = defaultdict(lambda: ([], []))
    names, new_names = set(base), set(new)
    for side, keys in enumerate((names - new_names, new_names - names)):
        for key in keys:
            groups[attrs.evolve(key, name=stem(key.name))][side].append(key)
    pairs = (sides for sides in groups.values() if len(sides[0]) == len(sides[1]) == 1)
    return {left[0]: entered[0] for left, entered in pairs}


# ------------------------------------------------------------------------------------- layers


def layer_counts(record: Record) -> dict[Layer, int]:
    """Instructions of a case by layer, in whole numbers that add up to its count.

    Empty where the costs are not known, or add up to nothing. What comes to 0 is left out.
    """
    counted, functions = record.outcome.instructions, record.outcome.functions
    if counted is None or functions is None:
        return {}
    shares = {
        Layer(share.title): share.new
        for share in difference(None, functions, with_calls=False).by_layer()
    }
    whole = sum(shares.values(), _NOTHING)
    if whole <= 0:
        return {}
    layers = [layer for layer in Layer if layer in shares]
    counts = rounded([shares[layer] * counted.per_run / whole for layer in layers], counted.per_run)
    return {layer: count for layer, count in zip(layers, counts, strict=True) if count}


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
