"""Models in results: their layers, what these add up to, and what a change of one means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs

from instruction_counts.analysis.attribution.functions import layer_counts
from instruction_counts.analysis.attribution.layers import Layer as TorchLayer
from instruction_counts.core.facts import Layer, Model
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record


@attrs.frozen
class MeasuredModel:
    """The layers of a model as they were measured, with how often a run of it calls each."""

    model: str
    layers: tuple[tuple[Record, int], ...]
    whole: Record | None
    """The model itself, measured like any other case."""
    autograd: AutogradMode = AutogradMode.FORWARD
    """What was asked for; layers without it are there with their forward pass."""

    @property
    def has_autograd(self) -> bool:
        """Whether anything of the model was measured as it was asked for."""
        return self.whole is not None or len(self.forward_only) < len(self.layers)

    @property
    def forward_only(self) -> tuple[Record, ...]:
        """Layers that count with another pass than was asked for."""
        return tuple(record for record, _ in self.layers if record.autograd is not self.autograd)

    @property
    def instructions(self) -> int:
        """Of one run: of the whole where it was counted, else of its layers."""
        return count_of(self.whole) or sum(
            (count_of(record) or 0) * calls for record, calls in self.layers
        )


def models_in(records: Iterable[Record]) -> tuple[str, ...]:
    """The models that layers or whole models name, in order."""
    found: dict[str, None] = {}
    for record in records:
        found.update(dict.fromkeys(uses_of(record)))
        name = _whole_of(record)
        if name is not None:
            found[name] = None
    return tuple(found)


def measured(
    records: Iterable[Record],
    model: str,
    language: Language = Language.PYTHON,
    autograd: AutogradMode = AutogradMode.FORWARD,
) -> MeasuredModel:
    """The records of a model in one language; eager, with the smallest thread count.

    Where backward is asked for, a layer that has none counts with its forward pass.
    """
    chosen: dict[tuple[str, ...], Record] = {}
    for record in records:
        if record.language is not language or record.runtime is RuntimeMode.JIT:
            continue
        if record.autograd not in {autograd, AutogradMode.FORWARD}:
            continue
        other = chosen.get(record.label)
        if other is None or _preference(record, autograd) < _preference(other, autograd):
            chosen[record.label] = record
    layers = [(record, uses_of(record).get(model, 0)) for record in chosen.values()]
    whole = [
        record
        for record in chosen.values()
        if _whole_of(record) == model and record.autograd is autograd
    ]
    used = tuple((record, calls) for record, calls in layers if calls)
    return MeasuredModel(model, used, next(iter(whole), None), autograd)


def uses_of(record: Record) -> Mapping[str, int]:
    """How often each model calls this layer in one run; empty for other cases."""
    found: Counter[str] = Counter()
    if isinstance(record.subject, Layer):
        for use in record.subject.uses:
            found[use.model] += use.count
    return found


def type_of(record: Record) -> str:
    """The type of a layer: ``Conv2d``, ``add``."""
    return record.subject.type if isinstance(record.subject, Layer) else record.label[-1]


def count_of(record: Record | None) -> int | None:
    """Instructions per run, where the case was counted."""
    if record is None or record.outcome.status is not Status.OK:
        return None
    counted = record.outcome.instructions
    return None if counted is None else counted.per_run


def time_of(record: Record | None) -> float | None:
    """The median time in seconds, where the case was timed."""
    if record is None or record.outcome.status is not Status.OK:
        return None
    times = record.outcome.times
    return None if times is None else times.median_s


def _whole_of(record: Record) -> str | None:
    return record.subject.name if isinstance(record.subject, Model) else None


def _preference(record: Record, autograd: AutogradMode) -> tuple[bool, int]:
    return record.autograd is not autograd, record.num_threads


@attrs.frozen
class ModelImpact:
    """A change, as a share of a model."""

    model: str
    calls: int
    share: float
    """Of the instructions of one iteration; negative where the model gets faster."""

    @property
    def text(self) -> str:
        """``+3.0% of MobileNetV2 (17 calls)``."""
        calls = "1 call" if self.calls == 1 else f"{self.calls:,} calls"
        digits = 1 if abs(self.share) >= 0.001 else 4
        return f"{self.share:+.{digits}%} of {self.model} ({calls})"


class Models:
    """The models that a run measured, and what each costs there."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = tuple(records)
        self._costs: dict[tuple[str, Language, AutogradMode], int] = {}

    def impacts(self, record: Record | None, change: int | None) -> tuple[ModelImpact, ...]:
        """What ``change`` instructions per iteration of a layer are to each model that uses it."""
        if record is None or not change:
            return ()
        found = []
        for model, calls in uses_of(record).items():
            cost = self._cost(model, record.language, record.autograd)
            if cost:
                found.append(ModelImpact(model, calls, change * calls / cost))
        return tuple(found)

    def _cost(self, model: str, language: Language, autograd: AutogradMode) -> int:
        key = model, language, autograd
        if key not in self._costs:
            self._costs[key] = measured(self._records, model, language, autograd).instructions
        return self._costs[key]


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
    beyond: tuple[tuple[TorchLayer, int], ...] = ()
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
) -> tuple[tuple[TorchLayer, int], ...]:
    spent = layer_counts(whole) if whole is not None and present else {}
    if not spent:
        return ()
    beyond = Counter(spent)
    for record, calls in present:
        spent = layer_counts(record)
        if not spent and count_of(record):
            return ()
        beyond.subtract({layer: count * calls for layer, count in spent.items()})
    parts = [(layer, beyond[layer]) for layer in TorchLayer if beyond[layer]]
    return tuple(sorted(parts, key=lambda part: -abs(part[1])))


def _sum(ones: Iterable[tuple[Record, int]]) -> Amount:
    counts = [(count_of(record), calls) for record, calls in ones]
    times = [(time_of(record), calls) for record, calls in ones]
    instructions = [count * calls for count, calls in counts if count is not None]
    seconds = [time * calls for time, calls in times if time is not None]
    return Amount(sum(instructions) if instructions else None, sum(seconds) if seconds else None)
