"""Layers are kept once, with all their places."""

from __future__ import annotations

from instruction_counts.core.facts import Use
from instruction_counts.sources.models.layers import unique_layers
from tests.sources.models.made import ADD, CONV, make_trace


def test_equal_layers_are_kept_once_across_models() -> None:
    """With how often each place calls them."""
    traces = [
        make_trace("A", (CONV, "one"), (ADD, ""), (CONV, "two"), (CONV, "one")),
        make_trace("B", (CONV, "first")),
    ]

    conv, add = unique_layers(traces)

    assert CONV == conv.layer
    assert (Use("A", "one", 2), Use("A", "two", 1), Use("B", "first", 1)) == conv.uses
    assert ADD == add.layer
    assert (Use("A", "", 1),) == add.uses
