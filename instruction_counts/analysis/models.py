"""Models in results: their layers, what these add up to, and what a change of one means."""

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import attrs

from instruction_counts.core.facts import Layer, Model
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record


@attrs.frozen
class Amount:
    """What an iteration costs; None where that was not measured."""

    instructions: int | None
    time_s: float | None
    exact: bool = True
    """Whether the instructions are, where they are known."""

    @classmethod
    def of(cls, record: Record | None) -> "Amount":
        """The count and the median time of a case that succeeded."""
        if record is None or record.outcome.status is not Status.OK:
            return NOTHING
        counted, times = record.outcome.instructions, record.outcome.times
        time_s = None if times is None else times.median_s
        if counted is None:
            return cls(None, time_s)
        return cls(counted.per_run, time_s, counted.exact)

    @classmethod
    def of_all(cls, layers: Iterable[tuple[Record, int]]) -> "Amount":
        """The sums over layers, each as often as it is called."""
        amounts = [(cls.of(record), calls) for record, calls in layers]
        counts = [one.instructions * n for one, n in amounts if one.instructions is not None]
        times = [one.time_s * n for one, n in amounts if one.time_s is not None]
        exact = all(one.exact for one, _ in amounts)
        return cls(sum(counts) if counts else None, sum(times) if times else None, exact)


NOTHING = Amount(None, None)


@attrs.frozen
class TypeCost:
    """All layers of one type: ``Conv2d``, ``add``."""

    type: str
    calls: int
    unique: int
    cost: Amount


@attrs.frozen
class MeasuredModel:
    """The layers of a model as they were measured, with how often a run of it calls each."""

    model: str
    layers: tuple[tuple[Record, int], ...]
    whole_record: Record | None
    """The model itself, measured like any other case."""
    autograd: AutogradMode = AutogradMode.FORWARD
    """What was asked for; layers without it are there with their forward pass."""
    missing: tuple[Record, ...] = ()
    """Layers that were not measured, and are not in the sum."""
    calls_known: int = 0
    """How many layers the model calls, measured or not; 0 where that is not known."""

    @property
    def has_autograd(self) -> bool:
        """Whether anything of the model was measured as it was asked for."""
        records = [self.whole_record, *self.missing, *(record for record, _ in self.layers)]
        return any(record and record.autograd is self.autograd for record in records)

    @property
    def forward_only(self) -> tuple[Record, ...]:
        """Layers in a sum of forward and backward that have no backward."""
        return tuple(record for record, _ in self.layers if record.autograd is not self.autograd)

    @property
    def types(self) -> tuple[TypeCost, ...]:
        """The layers that were measured by their types, the most expensive first."""
        by_type: dict[str, list[tuple[Record, int]]] = defaultdict(list)
        for record, calls in self.layers:
            subject = record.subject
            name = subject.type if isinstance(subject, Layer) else record.label[-1]
            by_type[name].append((record, calls))
        types = [
            TypeCost(name, sum(calls for _, calls in layers), len(layers), Amount.of_all(layers))
            for name, layers in by_type.items()
        ]
        types.sort(key=lambda found: (-(found.cost.instructions or 0), -(found.cost.time_s or 0)))
        return tuple(types)

    @property
    def calls(self) -> int:
        """Of all layers that were measured."""
        return sum(calls for _, calls in self.layers)

    @functools.cached_property
    def sum_of_layers(self) -> Amount:
        """What the layers add up to, each as often as it is called."""
        return Amount.of_all(self.layers)

    @functools.cached_property
    def whole(self) -> Amount:
        """As it was measured."""
        return Amount.of(self.whole_record)

    @property
    def unexplained(self) -> Amount:
        """What the whole model costs beyond its layers; negative where they cost more."""
        whole, layers = self.whole, self.sum_of_layers
        count, time_s = whole.instructions, whole.time_s
        more = None if layers.instructions is None or count is None else count - layers.instructions
        longer = None if layers.time_s is None or time_s is None else time_s - layers.time_s
        return Amount(more, longer, whole.exact and layers.exact)

    @property
    def total(self) -> Amount:
        """What shares are shares of: the whole where it was measured, else the sum."""
        whole, layers = self.whole, self.sum_of_layers
        return Amount(whole.instructions or layers.instructions, whole.time_s or layers.time_s)


def models_in(records: Iterable[Record]) -> tuple[str, ...]:
    """The models that layers or whole models name, in order."""
    found: dict[str, None] = {}
    for record in records:
        found.update(dict.fromkeys(_uses_of(record)))
        if isinstance(record.subject, Model):
            found[record.subject.name] = None
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
    records = sorted(records, key=lambda each: (each.autograd is not autograd, each.num_threads))
    for record in records:
        if (
            record.language is language
            and record.runtime in {RuntimeMode.EAGER, RuntimeMode.EXPLICIT}
            and record.autograd in {autograd, AutogradMode.FORWARD}
        ):
            chosen.setdefault(record.label, record)
    asked = (record for record in chosen.values() if record.autograd is autograd)
    whole = next((record for record in asked if _calls_of(record, model) is not None), None)
    used = [(each, calls) for each in chosen.values() if (calls := _uses_of(each)[model])]
    known = max((_calls_of(record, model) or 0 for record in records), default=0)
    layers = tuple(layer for layer in used if Amount.of(layer[0]) != NOTHING)
    missing = tuple(record for record, _ in used if Amount.of(record) == NOTHING)
    return MeasuredModel(model, layers, whole, autograd, missing, known)


def _calls_of(record: Record, model: str) -> int | None:
    """How many layers the model calls, where this is the whole of it; 0 where nobody knows."""
    subject = record.subject
    return subject.calls if isinstance(subject, Model) and subject.name == model else None


def _uses_of(record: Record) -> Counter[str]:
    """How often each model calls this layer in one run; empty for other cases."""
    found: Counter[str] = Counter()
    if isinstance(record.subject, Layer):
        for use in record.subject.uses:
            found[use.model] += use.count
    return found


# ------------------------------------------------------------------------- what a change means


class Models:
    """The models that a run measured, and what each costs there."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = tuple(records)
        self._costs: dict[tuple[str, Language, AutogradMode], int] = {}

    def impacts(self, record: Record | None, change: int | None) -> Iterator[str]:
        """What ``change`` instructions per iteration of a layer are to each model that uses it.

        As a share of an iteration of the model: ``+3.0% of MobileNetV2 (17 calls)``.
        """
        if record is None or not change:
            return
        for model, calls in _uses_of(record).items():
            key = model, record.language, record.autograd
            if key not in self._costs:
                self._costs[key] = measured(self._records, *key).total.instructions or 0
            if self._costs[key]:
                share = change * calls / self._costs[key]
                digits = 1 if abs(share) >= 0.001 else 4
                times = "1 call" if calls == 1 else f"{calls:,} calls"
                yield f"{share:+.{digits}%} of {model} ({times})"
