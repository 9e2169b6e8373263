"""What a change of a layer means for the models that use it."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from core.types import AutogradMode, Language
from instruction_counts.analysis.models.costs import measured, uses_of
from instruction_counts.domain.records import Record


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
