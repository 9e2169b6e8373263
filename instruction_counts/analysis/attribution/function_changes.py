"""What changed on the way from one side to another, function by function; per iteration, exact."""

from __future__ import annotations

import enum
from collections.abc import Callable
from fractions import Fraction

import attrs

from instruction_counts.analysis.attribution.layers import Layer


@attrs.frozen(order=True, cache_hash=True)
class FunctionKey:
    """What a function is called on both sides, by normalised names."""

    name: str
    library: str
    layer: Layer = attrs.field(order=False)


class ChangeKind(enum.Enum):
    """What happened to a function."""

    ENTERED = "entered"
    LEFT = "left"
    CHANGED = "changed"
    SAME = "same"


@attrs.frozen
class FunctionChange:
    """The exclusive instructions of a function per iteration, and the calls into it."""

    key: FunctionKey
    base: Fraction | None
    """None where the function is not executed."""
    new: Fraction | None
    base_calls: Fraction | None = None
    """Calls into it per iteration; None where they are not known."""
    new_calls: Fraction | None = None
    was: str = ""
    """The name in base, where its parameters are others in new."""

    @property
    def delta(self) -> Fraction:
        """Instructions per iteration that new has more."""
        return (self.new or Fraction()) - (self.base or Fraction())

    @property
    def more_calls(self) -> Fraction:
        """Calls per iteration that new has more; 0 where they are not known on a side."""
        if None in {self.base_calls, self.new_calls}:
            return Fraction()
        return (self.new_calls or Fraction()) - (self.base_calls or Fraction())

    @property
    def kind(self) -> ChangeKind:
        """What happened to it."""
        if self.base is None:
            return ChangeKind.ENTERED
        if self.new is None:
            return ChangeKind.LEFT
        return ChangeKind.CHANGED if self.delta else ChangeKind.SAME


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
class CallerChange:
    """The calls from one function to another, per iteration, with all that happens below them."""

    caller: FunctionKey
    callee: FunctionKey
    base_calls: Fraction | None
    """None where base was stored without calls."""
    new_calls: Fraction | None
    base: Fraction | None
    new: Fraction | None

    @property
    def delta(self) -> Fraction:
        """Instructions per iteration that new has more; 0 where they are not known on a side."""
        if self.base is None or self.new is None:
            return Fraction()
        return self.new - self.base


@attrs.frozen
class FunctionDifference:
    """Two sides of a case, per iteration."""

    functions: tuple[FunctionChange, ...]
    """All functions of both sides, the largest change first."""
    calls: tuple[CallerChange, ...] = ()
    """The largest change first; empty where no side has them."""

    @property
    def base(self) -> Fraction:
        """The instructions of base: the sum over its functions."""
        return sum((function.base or Fraction() for function in self.functions), Fraction())

    @property
    def new(self) -> Fraction:
        """The instructions of new: the sum over its functions."""
        return sum((function.new or Fraction() for function in self.functions), Fraction())

    @property
    def delta(self) -> Fraction:
        """The sum of all changes."""
        return sum((function.delta for function in self.functions), Fraction())

    @property
    def changed(self) -> tuple[FunctionChange, ...]:
        """The functions whose cost is another one, the largest change first."""
        return tuple(function for function in self.functions if function.delta)

    def by_layer(self) -> tuple[Share, ...]:
        """The layers, the largest change first."""
        return self._shares(lambda key: key.layer.value)

    def by_library(self) -> tuple[Share, ...]:
        """The libraries, the largest change first."""
        return self._shares(lambda key: key.library)

    def without(self, layer: Layer) -> FunctionDifference:
        """The same without the functions of a layer, and the calls from and to them."""
        return FunctionDifference(
            tuple(function for function in self.functions if function.key.layer is not layer),
            tuple(
                call for call in self.calls if layer not in {call.caller.layer, call.callee.layer}
            ),
        )

    def callers(self, key: FunctionKey) -> tuple[CallerChange, ...]:
        """Who calls a function, the largest change first; not the function itself.

        Empty where calls are not known on a side.
        """
        return tuple(
            call
            for call in self.calls
            if call.callee == key != call.caller and None not in {call.base, call.new}
        )

    def _shares(self, title: Callable[[FunctionKey], str]) -> tuple[Share, ...]:
        sums: dict[str, list[Fraction]] = {}
        for function in self.functions:
            base_and_new = sums.setdefault(title(function.key), [Fraction(), Fraction()])
            base_and_new[0] += function.base or 0
            base_and_new[1] += function.new or 0
        shares = (Share(name, base, new) for name, (base, new) in sums.items())
        return tuple(
            sorted(
                shares,
                key=lambda share: (-abs(share.delta), -max(share.base, share.new), share.title),
            )
        )
