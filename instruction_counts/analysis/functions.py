"""Where the instructions of a case went on two sides: function by function, and why they changed.

Costs are stored over some runs, of which the sides may have different numbers. Here all is per run
and exact, as fractions; rounding is left to those who show them. Exclusive costs add up: over all
functions, libraries or layers, the change is the change of the count.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction

import attrs

from instruction_counts.analysis.layers import Layer, layer_of
from instruction_counts.analysis.names import normalised, normalised_library, short, stem
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.engines.callgrind_out import UNKNOWN

_NAME_WIDTH = 32

_MAIN_CALLER = Fraction(9, 10)
"""The share of its calls from which on a function is taken to be inlined into one caller."""

_ALIKE = (Fraction(1, 2), Fraction(3, 2))
"""What a caller gained, relative to what the inlined function lost, where the two are one change.

Inlined code is cheaper by the call, and dearer or cheaper by what the compiler makes of it.
"""


@attrs.frozen(order=True, cache_hash=True)
class Key:
    """What a function is called on both sides, by normalised names."""

    name: str
    library: str
    layer: Layer = attrs.field(order=False)


class Kind(enum.Enum):
    """What happened to a function."""

    ENTERED = "entered"
    LEFT = "left"
    CHANGED = "changed"
    SAME = "same"


@attrs.frozen
class FunctionChange:
    """The exclusive instructions of a function per run, and the calls into it."""

    key: Key
    base: Fraction | None
    """None where the function is not executed."""
    new: Fraction | None
    base_calls: Fraction | None = None
    """Calls into it per run; None where they are not known."""
    new_calls: Fraction | None = None
    was: str = ""
    """The name in base, where its parameters are others in new."""

    @property
    def delta(self) -> Fraction:
        """Instructions per run that new has more."""
        return (self.new or Fraction()) - (self.base or Fraction())

    @property
    def more_calls(self) -> Fraction:
        """Calls per run that new has more; 0 where they are not known on a side."""
        if None in {self.base_calls, self.new_calls}:
            return Fraction()
        return (self.new_calls or Fraction()) - (self.base_calls or Fraction())

    @property
    def kind(self) -> Kind:
        """What happened to it."""
        if self.base is None:
            return Kind.ENTERED
        if self.new is None:
            return Kind.LEFT
        return Kind.CHANGED if self.delta else Kind.SAME


@attrs.frozen
class Share:
    """What one layer or one library spends in a run."""

    title: str
    base: Fraction
    new: Fraction

    @property
    def delta(self) -> Fraction:
        """Instructions per run that new has more."""
        return self.new - self.base


@attrs.frozen
class CallerChange:
    """The calls from one function to another, per run, with all that happens below them."""

    caller: Key
    callee: Key
    base_calls: Fraction | None
    """None where base was stored without calls."""
    new_calls: Fraction | None
    base: Fraction | None
    new: Fraction | None

    @property
    def delta(self) -> Fraction:
        """Instructions per run that new has more; 0 where they are not known on a side."""
        if self.base is None or self.new is None:
            return Fraction()
        return self.new - self.base


@attrs.frozen
class Move:
    """Functions that are inlined into their caller on one side: one change, and not several."""

    caller: Key
    functions: tuple[Key, ...]
    """The largest first."""
    inlined: bool
    """In new; otherwise in base."""
    delta: Fraction
    """Of all of them together."""


@attrs.frozen
class Difference:
    """Two sides of a case, per run."""

    functions: tuple[FunctionChange, ...]
    """All functions of both sides, the largest change first."""
    calls: tuple[CallerChange, ...] = ()
    """The largest change first; empty where no side has them."""

    @property
    def base(self) -> Fraction:
        """The instructions of base: the sum over its functions."""
        return sum((one.base or Fraction() for one in self.functions), Fraction())

    @property
    def new(self) -> Fraction:
        """The instructions of new: the sum over its functions."""
        return sum((one.new or Fraction() for one in self.functions), Fraction())

    @property
    def delta(self) -> Fraction:
        """The sum of all changes."""
        return sum((one.delta for one in self.functions), Fraction())

    @property
    def changed(self) -> tuple[FunctionChange, ...]:
        """The functions whose cost is another one, the largest change first."""
        return tuple(one for one in self.functions if one.delta)

    def by_layer(self) -> tuple[Share, ...]:
        """The layers, the largest change first."""
        return self._shares(lambda key: key.layer.value)

    def by_library(self) -> tuple[Share, ...]:
        """The libraries, the largest change first."""
        return self._shares(lambda key: key.library)

    def callers(self, key: Key) -> tuple[CallerChange, ...]:
        """Who calls a function, the largest change first; not the function itself.

        Empty where calls are not known on a side.
        """
        return tuple(
            one
            for one in self.calls
            if one.callee == key != one.caller and None not in {one.base, one.new}
        )

    def moves(self) -> tuple[Move, ...]:
        """What was inlined or is not any more, as far as calls and costs show it."""
        return (*_moves(self, inlined=True), *_moves(self, inlined=False))

    def _shares(self, title: Callable[[Key], str]) -> tuple[Share, ...]:
        sums: dict[str, list[Fraction]] = {}
        for one in self.functions:
            base_and_new = sums.setdefault(title(one.key), [Fraction(), Fraction()])
            base_and_new[0] += one.base or 0
            base_and_new[1] += one.new or 0
        shares = (Share(name, base, new) for name, (base, new) in sums.items())
        return tuple(
            sorted(shares, key=lambda one: (-abs(one.delta), -max(one.base, one.new), one.title))
        )


def difference(base: FunctionCosts | None, new: FunctionCosts | None) -> Difference:
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
        for key in dict.fromkeys([*after.costs, *before.costs])
    ]
    calls = []
    for edge in dict.fromkeys([*after.calls, *before.calls]):
        (base_calls, base_cost), (new_calls, new_cost) = before.call(edge), after.call(edge)
        calls.append(CallerChange(*edge, base_calls, new_calls, base_cost, new_cost))
    functions.sort(key=lambda one: (*_size(one), one.key))
    calls.sort(key=lambda one: (*_size(one), one.callee, one.caller))
    return Difference(tuple(functions), tuple(calls))


def _size(one: FunctionChange | CallerChange) -> tuple[Fraction, Fraction]:
    nothing = Fraction()
    return -abs(one.delta), -max(one.base or nothing, one.new or nothing)


def top_causes(difference: Difference, n: int = 3) -> tuple[str, ...]:
    """The largest changes in short texts: ``+31 malloc (+1 call)``.

    A function that was inlined is told with its caller, as one change: ``-20 f (g inlined)``. Of a
    library that is stripped on one side its whole is told, since no function of it has its like on
    the other. What rounds to no instruction is no cause.
    """
    nameless = nameless_libraries(difference)
    moves = [one for one in difference.moves() if one.caller.library not in nameless]
    moved = {key for move in moves for key in (move.caller, *move.functions)}
    causes = [(move.delta, _text_of_move(move)) for move in moves]
    causes += [
        (one.delta, f"{one.title} (no names in {nameless[one.title]})")
        for one in difference.by_library()
        if one.title in nameless
    ]
    causes += [
        (one.delta, f"{_name(one.key)}{_remark(one)}")
        for one in difference.changed
        if one.key not in moved and one.key.library not in nameless
    ]
    causes.sort(key=lambda cause: -abs(cause[0]))
    texts = [f"{round(delta):+,} {text}" for delta, text in causes if round(delta)]
    return tuple(texts[:n])


def _name(key: Key) -> str:
    return f"unnamed in {key.library}" if key.name == UNKNOWN else short(key.name, _NAME_WIDTH)


def nameless_libraries(difference: Difference) -> dict[str, str]:
    """The libraries that spend over a quarter of their instructions in unnamed functions on a side.

    By library, with that side: ``base``, ``new`` or ``both``.
    """
    sums: dict[str, list[Fraction]] = defaultdict(lambda: [Fraction()] * 4)
    for one in difference.functions:
        for place, cost in enumerate((one.base or Fraction(), one.new or Fraction())):
            sums[one.key.library][place] += cost
            if one.key.name == UNKNOWN:
                sums[one.key.library][2 + place] += cost
    found = {}
    for library, (base, new, base_nameless, new_nameless) in sums.items():
        stripped = (4 * base_nameless > base, 4 * new_nameless > new)
        if library != UNKNOWN and any(stripped):
            found[library] = {(True, True): "both", (True, False): "base"}.get(stripped, "new")
    return found


def shown(amount: Fraction) -> str:
    """An amount per run for people: ``1``, ``0.5``, ``1,234.33``."""
    if amount.denominator == 1:
        return f"{amount.numerator:,}"
    return f"{float(amount):,.2f}".rstrip("0").rstrip(".")


def more_calls(amount: Fraction) -> str:
    """A change of calls for people: ``+1 call``."""
    sign = "+" if amount > 0 else ""
    return f"{sign}{shown(amount)} call{'' if abs(amount) == 1 else 's'}"


# --------------------------------------------------------------------------------- one side


@attrs.frozen
class _Spent:
    """One side per run, by normalised names."""

    costs: Mapping[Key, Fraction]
    calls: Mapping[tuple[Key, Key], tuple[Fraction, Fraction]]
    into: Mapping[Key, Fraction]

    @classmethod
    def of(cls, costs: FunctionCosts | None) -> _Spent:
        """The sums over what has one name."""
        if costs is None:
            return cls({}, {}, {})
        _check(costs)
        keys = [
            Key(
                normalised(one.function, one.library),
                normalised_library(one.library),
                layer_of(one.function, one.library),
            )
            for one in costs.costs
        ]
        exclusive: dict[Key, int] = defaultdict(int)
        for key, one in zip(keys, costs.costs, strict=True):
            exclusive[key] += one.exclusive
        calls: dict[tuple[Key, Key], list[int]] = defaultdict(lambda: [0, 0])
        for call in costs.calls:
            sums = calls[keys[call.caller], keys[call.callee]]
            sums[0] += call.calls
            sums[1] += call.instructions
        runs = costs.runs
        return cls.with_sums(
            {key: Fraction(cost, runs) for key, cost in exclusive.items()},
            {edge: (Fraction(n, runs), Fraction(cost, runs)) for edge, (n, cost) in calls.items()},
        )

    @classmethod
    def with_sums(
        cls,
        costs: Mapping[Key, Fraction],
        calls: Mapping[tuple[Key, Key], tuple[Fraction, Fraction]],
    ) -> _Spent:
        """With the calls into each function."""
        into: dict[Key, Fraction] = defaultdict(Fraction)
        for (_, callee), (number, _) in calls.items():
            into[callee] += number
        return cls(costs, calls, into)

    def with_names(self, names: Mapping[Key, Key]) -> _Spent:
        """The same with other names for some functions."""
        return self.with_sums(
            {names.get(key, key): cost for key, cost in self.costs.items()},
            {
                (names.get(caller, caller), names.get(callee, callee)): one
                for (caller, callee), one in self.calls.items()
            },
        )

    @property
    def knows_calls(self) -> bool:
        """Whether calls were stored, if there were any."""
        return bool(self.calls) or not self.costs

    def calls_into(self, key: Key) -> Fraction | None:
        """Calls into a function per run; None where they are not known."""
        return self.into.get(key, Fraction()) if self.knows_calls else None

    def call(self, edge: tuple[Key, Key]) -> tuple[Fraction, Fraction] | tuple[None, None]:
        """Calls from one function to another, with their instructions; None where not known."""
        if not self.knows_calls:
            return None, None
        return self.calls.get(edge, (Fraction(), Fraction()))


def _check(costs: FunctionCosts) -> None:
    # The rows of a file are taken as they are, which is what makes reading large files quick.
    wrong = next(_wrong(costs), None)
    if wrong is not None:
        raise DataError(f"the costs of a case are damaged: {wrong}", "Measure it again.")


def _wrong(costs: FunctionCosts) -> Iterator[str]:
    if not isinstance(costs.runs, int) or costs.runs < 1:
        yield f"they are over {costs.runs} runs"
    for one in costs.costs:
        names = (one.function, one.library, one.file)
        if not isinstance(one.exclusive, int) or not all(isinstance(name, str) for name in names):
            yield f"{one.exclusive!r} is the cost of {names}"
    places = range(len(costs.costs))
    for call in costs.calls:
        numbers = (call.caller, call.callee, call.calls, call.instructions)
        if not all(isinstance(number, int) for number in numbers):
            yield f"{numbers} is no call"
        elif call.caller not in places or call.callee not in places:
            yield f"the call {numbers} names a function that is not there"


def _renamed(base: Iterable[Key], new: Iterable[Key]) -> dict[Key, Key]:
    """The functions of base that new has under a name with other parameters, where it is clear."""
    names, new_names = set(base), set(new)
    left, entered = (_by_stem(keys) for keys in (names - new_names, new_names - names))
    return {
        left[place][0]: entered[place][0]
        for place in left
        if len(left[place]) == len(entered.get(place, ())) == 1
    }


def _by_stem(keys: Iterable[Key]) -> dict[Key, list[Key]]:
    groups: dict[Key, list[Key]] = defaultdict(list)
    for key in keys:
        groups[attrs.evolve(key, name=stem(key.name))].append(key)
    return groups


# ---------------------------------------------------------------------------------- inlining


def _moves(difference: Difference, *, inlined: bool) -> Iterator[Move]:
    gone_kind = Kind.LEFT if inlined else Kind.ENTERED
    changes = {one.key: one for one in difference.functions}
    gone = [one.key for one in difference.functions if one.kind is gone_kind and one.delta]
    callers = _main_callers(difference, gone, inlined=inlined)
    groups: dict[Key, list[Key]] = defaultdict(list)
    for key in gone:
        caller, seen = callers.get(key), {key}
        while caller in callers and caller not in seen:  # it may be inlined itself, and so on
            seen.add(caller)
            caller = callers[caller]
        if caller is not None and changes[caller].kind is Kind.CHANGED:
            groups[caller].append(key)
    low, high = _ALIKE
    for caller, keys in groups.items():
        lost = sum((changes[key].delta for key in keys), Fraction())
        gained = changes[caller].delta
        if lost and low <= -gained / lost <= high:
            yield Move(caller, tuple(keys), inlined, gained + lost)


def _main_callers(difference: Difference, keys: Iterable[Key], *, inlined: bool) -> dict[Key, Key]:
    wanted = set(keys)
    calls: dict[Key, dict[Key, Fraction]] = defaultdict(dict)
    for one in difference.calls:
        if one.callee in wanted and one.caller != one.callee:
            number = one.base_calls if inlined else one.new_calls
            calls[one.callee][one.caller] = number or Fraction()
    main = {}
    for callee, numbers in calls.items():
        caller = max(numbers, key=lambda key: (numbers[key], key))
        if numbers[caller] > 0 and numbers[caller] >= _MAIN_CALLER * sum(numbers.values()):
            main[callee] = caller
    return main


def _text_of_move(move: Move) -> str:
    names = [short(key.name, _NAME_WIDTH) for key in move.functions]
    what = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    how = "inlined" if move.inlined else "not inlined any more"
    return f"{short(move.caller.name, _NAME_WIDTH)} ({what} {how})"


def _remark(one: FunctionChange) -> str:
    if one.kind is Kind.ENTERED:
        return " (new)"
    if one.kind is Kind.LEFT:
        return " (gone)"
    return f" ({more_calls(one.more_calls)})" if one.more_calls else ""
