"""Models in results: which record is a layer of which, and what a change of one means for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

from core.facts import Layer, Model
from core.types import AutogradMode, Language, RuntimeMode
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


# ------------------------------------------------------------------------------------- impact


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
