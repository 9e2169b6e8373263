"""Stacks of two sides as one tree, for a differential flame graph.

Each node has what the stack that leads to it costs on either side, with all that is below it. The
roots of a side add up to its count: what is too small to be seen is merged, and never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from instruction_counts.analysis.attribution.names import short

_FIELDS = ("name", "label", "place", "base", "new")
_LABEL_WIDTH = 60
_MOST_NODES = 1_500
"""plotly draws so many in half a second."""


@attrs.define
class _Node:
    """A function in a stack, with what was spent there and below, on each side."""

    name: str
    place: str
    base: int = 0
    new: int = 0
    children: dict[tuple[str, str], _Node] = attrs.field(factory=dict)

    @property
    def label(self) -> str:
        """What fits into a box: a C++ name without its arguments, any other as it is."""
        name = self.name
        return name if name.startswith(("(", "<")) else short(name, _LABEL_WIDTH)

    @property
    def weight(self) -> int:
        """What decides whether it can be seen."""
        return max(self.base, self.new)

    def spend(self, side: str, weight: int) -> None:
        setattr(self, side, getattr(self, side) + weight)


def tree(profiles: Mapping[str, Any] | None) -> dict[str, list[Any]] | None:
    """Columns of a table of nodes, each after its parent; None where there are no stacks.

    ``profiles`` is a file of speedscope's format, whose first two profiles are base and new; a
    single one is both.
    """
    if profiles is None:
        return None
    root = _Node("all", "")
    frames = profiles["shared"]["frames"]
    sides = profiles["profiles"][:2]
    for side, profile in (("base", sides[0]), ("new", sides[-1])):
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            node = root
            node.spend(side, weight)
            for place in stack:
                key = frames[place]["name"], frames[place]["file"]
                node = node.children.setdefault(key, _Node(*key))
                node.spend(side, weight)
    weights, below = [], [root]
    while below:
        node = below.pop()
        weights.append(node.weight)
        below += node.children.values()
    weights.sort(reverse=True)
    smallest = weights[_MOST_NODES] + 1 if len(weights) > _MOST_NODES else 0
    found: dict[str, list[Any]] = {name: [] for name in ("parent", *_FIELDS)}
    pending = [(root, -1)]
    while pending:
        node, parent = pending.pop()
        pending += [(child, len(found["name"])) for child in _visible(node, smallest)]
        found["parent"].append(parent)
        for name in _FIELDS:
            found[name].append(getattr(node, name))
    return found


def _visible(node: _Node, smallest: int) -> list[_Node]:
    """Its children, the smallest as one."""
    children = sorted(node.children.values(), key=lambda child: (child.weight, child.name))
    small = [child for child in children if child.weight < smallest]
    if len(small) < 2:
        return children
    base, new = sum(child.base for child in small), sum(child.new for child in small)
    return [_Node(f"({len(small):,} smaller)", "", base, new), *children[len(small) :]]
