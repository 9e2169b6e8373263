"""Two sides as one tree: nothing is lost, however stacks recur and however many there are."""

import itertools
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.report.renderers.html import flame

Stacks: TypeAlias = dict[tuple[int, ...], int]
STACKS = st.dictionaries(
    st.lists(st.integers(0, 4), min_size=1, max_size=6).map(tuple), st.integers(1, 10**6)
)


def tree(*sides: Stacks, names: str | list[str] = "abcde") -> dict[str, list[Any]]:
    """The tree of these stacks, of functions of these names."""
    profiles = [{"samples": [*side], "weights": [*side.values()]} for side in sides]
    frames = [{"name": name, "file": "lib"} for name in names]
    found = flame.tree({"profiles": profiles, "shared": {"frames": frames}})
    assert found is not None
    return found


def below(found: dict[str, list[Any]], side: str) -> list[int]:
    """How wide the children of each node are together."""
    sums = [0] * len(found["name"])
    for node, parent in enumerate(found["parent"][1:], 1):
        sums[parent] += found[side][node]
    return sums


@given(STACKS, STACKS)
def test_the_widths_of_each_side_add_up_to_its_count(base: Stacks, new: Stacks) -> None:
    """With recursion, too: a function that calls itself is a node below itself."""
    found = tree(base, new)

    assert (sum(base.values()), sum(new.values())) == (found["base"][0], found["new"][0])
    for side in ("base", "new"):
        widths = zip(below(found, side), found[side], strict=True)
        assert all(children <= width for children, width in widths)


def test_what_is_too_small_to_be_seen_is_merged_and_not_dropped() -> None:
    """Five to the fifth stacks are more than a page draws."""
    stacks = {places: 1 + sum(places) % 8 for places in itertools.product(range(5), repeat=5)}
    found = tree(stacks)

    assert len(found["name"]) < 1.2 * flame._MOST_NODES
    assert sum(stacks.values()) == found["new"][0]
    # All is spent at the ends of stacks, so children are as wide as what is above them.
    widths = zip(below(found, "new"), found["new"], strict=True)
    assert all(children in {0, width} for children, width in widths)
    assert any("smaller" in name for name in found["name"])


def test_boxes_have_short_names() -> None:
    """Without arguments; what is no name of C++ stays as it is."""
    names = ["at::add(at::Tensor const&)", "<case> statement", "(below main)"]
    found = tree({(0,): 3, (1,): 2, (2,): 1}, names=names)

    assert ["all", "at::add", *names[1:]] == found["label"]
