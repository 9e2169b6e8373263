"""The unique layers of models, with how often each model uses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs

from core.facts import Use
from instruction_counts.sources.models.layers import ModelLayer, ModelTrace


@attrs.frozen
class UniqueLayer:
    """A layer, kept once for all models, and all places where it is used."""

    layer: ModelLayer
    uses: tuple[Use, ...]

    def calls_of(self, model: str) -> int:
        """How often one run of the model calls it."""
        return sum(use.count for use in self.uses if use.model == model)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that use it, in order."""
        return tuple(dict.fromkeys(use.model for use in self.uses))


def unique_layers(traces: Sequence[ModelTrace]) -> tuple[UniqueLayer, ...]:
    """Each layer once, in the order in which it is first called."""
    uses: dict[ModelLayer, Counter[tuple[str, str]]] = {}
    for trace in traces:
        for call in trace.calls:
            places = uses.setdefault(call.layer, Counter())
            places[trace.source.name, call.path] += 1
    return tuple(
        UniqueLayer(layer, tuple(Use(*place, count) for place, count in places.items()))
        for layer, places in uses.items()
    )
