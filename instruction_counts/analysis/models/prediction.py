"""A model as the sum of its layers, beside the model as it was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import attrs

from instruction_counts.analysis.attribution.functions import layer_counts
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.models.costs import MeasuredModel, count_of, time_of, type_of
from instruction_counts.domain.records import Record


@attrs.frozen
class Amount:
    """What an iteration costs; None where that was not measured."""

    instructions: int | None
    time_s: float | None


@attrs.frozen
class TypeCost:
    """All layers of one type."""

    type: str
    calls: int
    unique: int
    cost: Amount


@attrs.frozen
class Prediction:
    """The layers of a model, the most expensive type first."""

    model: str
    types: tuple[TypeCost, ...]
    layers: Amount
    """Their sum."""
    whole: Amount
    """As it was measured."""
    missing: tuple[Record, ...]
    """Layers that were not measured, and are not in the sum."""
    forward_only: tuple[Record, ...] = ()
    """Layers in a sum of forward and backward that have no backward."""
    beyond: tuple[tuple[Layer, int], ...] = ()
    """Where in PyTorch the unexplained instructions lie, the largest part first.

    They add up to them. Empty where the functions of a count are not known.
    """

    @property
    def calls(self) -> int:
        """Of all layers that were measured."""
        return sum(prediction.calls for prediction in self.types)

    @property
    def unexplained(self) -> Amount:
        """What the whole model costs beyond its layers; negative where they cost more."""
        instructions = time_s = None
        if self.whole.instructions is not None and self.layers.instructions is not None:
            instructions = self.whole.instructions - self.layers.instructions
        if self.whole.time_s is not None and self.layers.time_s is not None:
            time_s = self.whole.time_s - self.layers.time_s
        return Amount(instructions, time_s)

    @property
    def total(self) -> Amount:
        """What shares are shares of: the whole where it was measured, else the sum."""
        return Amount(
            self.whole.instructions or self.layers.instructions,
            self.whole.time_s or self.layers.time_s,
        )


def predict(measured: MeasuredModel) -> Prediction:
    """Add up the layers of a model, each as often as it is called."""
    present = [layer for layer in measured.layers if count_of(layer[0]) or time_of(layer[0])]
    missing = tuple(record for record, _ in measured.layers if (record, _) not in present)
    by_type: dict[str, list[tuple[Record, int]]] = {}
    for record, calls in present:
        by_type.setdefault(type_of(record), []).append((record, calls))
    types = [
        TypeCost(name, sum(calls for _, calls in ones), len(ones), _sum(ones))
        for name, ones in by_type.items()
    ]
    types.sort(
        key=lambda prediction: (
            -(prediction.cost.instructions or 0),
            -(prediction.cost.time_s or 0),
        )
    )
    whole = Amount(count_of(measured.whole), time_of(measured.whole))
    forward_only = tuple(name for name in measured.forward_only if name not in missing)
    return Prediction(
        measured.model,
        tuple(types),
        _sum(present),
        whole,
        missing,
        forward_only,
        _beyond(measured.whole, present),
    )


def _beyond(
    whole: Record | None, present: Sequence[tuple[Record, int]]
) -> tuple[tuple[Layer, int], ...]:
    spent = layer_counts(whole) if whole is not None and present else {}
    if not spent:
        return ()
    beyond = Counter(spent)
    for record, calls in present:
        spent = layer_counts(record)
        if not spent and count_of(record):
            return ()
        beyond.subtract({layer: count * calls for layer, count in spent.items()})
    parts = [(layer, beyond[layer]) for layer in Layer if beyond[layer]]
    return tuple(sorted(parts, key=lambda part: -abs(part[1])))


def _sum(ones: Iterable[tuple[Record, int]]) -> Amount:
    counts = [(count_of(record), calls) for record, calls in ones]
    times = [(time_of(record), calls) for record, calls in ones]
    instructions = [count * calls for count, calls in counts if count is not None]
    seconds = [time * calls for time, calls in times if time is not None]
    return Amount(sum(instructions) if instructions else None, sum(seconds) if seconds else None)
