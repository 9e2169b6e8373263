"""What a case costs in each layer of PyTorch, in whole numbers that add up to its count."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.domain.records import Record


def layer_counts(record: Record) -> dict[Layer, int]:
    """Instructions of a case by layer, in whole numbers that add up to its count."""
    counted, functions = record.outcome.instructions, record.outcome.functions
    if counted is None or functions is None:
        return {}
    return apportioned(_by_layer(functions), counted.per_run)


def apportioned(shares: Mapping[Layer, Fraction], total: int) -> dict[Layer, int]:
    """Whole numbers in proportion to ``shares`` that add up to ``total``: the largest remainder.

    Empty where the shares add up to nothing. What comes to 0 is left out.
    """
    whole = sum(shares.values(), Fraction())
    if whole <= 0:
        return {}
    exact = {layer: share * total / whole for layer, share in shares.items()}
    floors = {layer: math.floor(share) for layer, share in exact.items()}
    order = list(Layer)
    by_remainder = sorted(
        exact, key=lambda layer: (floors[layer] - exact[layer], order.index(layer))
    )
    for layer in by_remainder[: total - sum(floors.values())]:
        floors[layer] += 1
    return {layer: floors[layer] for layer in order if floors.get(layer)}


def _by_layer(functions: FunctionCosts) -> dict[Layer, Fraction]:
    sums: dict[Layer, Fraction] = defaultdict(Fraction)
    for share in difference(None, functions).by_layer():
        sums[Layer(share.title)] += share.new
    return sums
