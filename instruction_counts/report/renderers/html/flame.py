"""Stacks of two sides as one tree, for a differential flame graph.

Each node has what the stack that leads to it costs on either side, with all that is below it. The
roots of a side add up to its count: what is too small to be seen is merged, and never dropped.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from instruction_counts.analysis.attribution.names import short

_COLUMNS = ("parent", "name", "place", "base", "new")
_LABEL_WIDTH = 60
_MOST_NODES = 1_500
"""plotly draws so many in half a second."""


def tree(profiles: Mapping[str, Any] | None) -> dict[str, list[Any]] | None:
    """Columns of a table of nodes, each after its parent; None where there are no stacks.

    ``profiles`` is a file of speedscope's format, whose first two profiles are base and new; a
    single one is both.
    """
    if profiles is None:
        return None
    frames = [(frame["name"], frame["file"]) for frame in profiles["shared"]["frames"]]
    nodes = {(-1, ("all", "")): 0}
    """By the node above, and what the function is called."""
    base, new = Counter[int](), Counter[int]()
    sides = profiles["profiles"][:2]
    for spent, profile in ((base, sides[0]), (new, sides[-1])):
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            node = 0
            spent[node] += weight
            for place in stack:
                node = nodes.setdefault((node, frames[place]), len(nodes))
                spent[node] += weight
    keys = list(nodes)
    weights = [max(base[node], new[node]) for node in range(len(keys))]
    # None costs more than the one above it, so the heaviest are a tree, each after its parent.
    heaviest = sorted(range(len(keys)), key=lambda node: -weights[node])
    least = weights[heaviest[_MOST_NODES]] if len(heaviest) > _MOST_NODES else -1
    shown = [node for node in heaviest if weights[node] > least]
    places = {-1: -1, **{node: place for place, node in enumerate(shown)}}
    rows = [(places[keys[node][0]], *keys[node][1], base[node], new[node]) for node in shown]
    small: dict[int, list[int]] = defaultdict(list)
    for node in heaviest[len(shown) :]:
        small[keys[node][0]].append(node)
    for parent, nodes_below in small.items():
        if parent in places:
            before, after = (sum(spent[node] for node in nodes_below) for spent in (base, new))
            rows.append((places[parent], f"({len(nodes_below):,} smaller)", "", before, after))
    found = dict(zip(_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    return {**found, "label": list(map(_label, found["name"]))}


def _label(name: str) -> str:
    """What fits into a box: a C++ name without its arguments, any other as it is."""
    return name if name.startswith(("(", "<")) else short(name, _LABEL_WIDTH)
