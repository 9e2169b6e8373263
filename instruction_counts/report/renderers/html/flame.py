"""Stacks of two sides as one tree, for a differential flame graph.

Each node has what the stack that leads to it costs on either side, with all that is below it. The
roots of a side add up to its count: what is too small to be seen is merged, and never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

_MOST_NODES = 1_500
"""plotly draws so many in half a second."""


@attrs.define
class Node:
    """A function in a stack, with what was spent there and below, on each side."""

    name: str
    place: str
    base: int = 0
    new: int = 0
    children: dict[tuple[str, str], Node] = attrs.field(factory=dict)

    @property
    def weight(self) -> int:
        """What decides whether it can be seen."""
        return max(self.base, self.new)


def tree(profiles: Mapping[str, Any] | None) -> dict[str, list[Any]] | None:
    """Columns of a table of nodes, each after its parent; None where there are no stacks.

    ``profiles`` is a file of speedscope's format, whose first two profiles are base and new; a
    single one is both.
    """
    if profiles is None or not profiles["profiles"]:
        return None
    root = Node("all", "")
    frames = profiles["shared"]["frames"]
    sides = profiles["profiles"][:2]
    for side, profile in zip(("base", "new"), (sides[0], sides[-1]), strict=True):
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            _add(root, [frames[place] for place in stack], weight, side)
    return _columns(root)


def _add(root: Node, stack: Sequence[Mapping[str, str]], weight: int, side: str) -> None:
    node = root
    setattr(node, side, getattr(node, side) + weight)
    for frame in stack:
        key = frame["name"], frame.get("file", "")
        node = node.children.setdefault(key, Node(*key))
        setattr(node, side, getattr(node, side) + weight)


def _columns(root: Node) -> dict[str, list[Any]]:
    smallest = _smallest(root)
    found: dict[str, list[Any]] = {name: [] for name in ("parent", "name", "place", "base", "new")}
    pending: list[tuple[Node, int]] = [(root, -1)]
    while pending:
        node, parent = pending.pop()
        number = len(found["parent"])
        for column, value in zip(
            found.values(), (parent, node.name, node.place, node.base, node.new), strict=True
        ):
            column.append(value)
        pending += [(child, number) for child in _visible(node, smallest)]
    return found


def _smallest(root: Node) -> int:
    """The weight below which nodes are merged, so that not too many are left."""
    weights, pending = [], [root]
    while pending:
        node = pending.pop()
        weights.append(node.weight)
        pending += node.children.values()
    weights.sort(reverse=True)
    return weights[_MOST_NODES] + 1 if len(weights) > _MOST_NODES else 0


def _visible(node: Node, smallest: int) -> list[Node]:
    """Its children, the smallest as one."""
    children = sorted(node.children.values(), key=lambda child: (child.weight, child.name))
    small = [child for child in children if child.weight < smallest]
    if len(small) < 2:
        return children
    merged = Node(f"({len(small):,} smaller)", "")
    merged.base, merged.new = sum(c.base for c in small), sum(c.new for c in small)
    return [merged, *(child for child in children if child.weight >= smallest)]
