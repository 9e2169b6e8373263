"""What layers are called."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.sources.models.layers import ModelLayer, Tensor
from instruction_counts.sources.models.names import labels
from tests.sources.models.made import ADD, CONV


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (CONV, ("Models", "Conv2d", "3→4 3x3 s2 no bias · 1x3x8x8")),
        (ADD, ("Models", "add", "add(a, b) · 2x2, 2x2")),
        (
            attrs.evolve(CONV, is_frozen=True),
            ("Models", "Conv2d", "3→4 3x3 s2 no bias frozen · 1x3x8x8"),
        ),
        (
            attrs.evolve(CONV, inputs=(Tensor("x", (1, 2), "int64", (1, 1), 5),)),
            ("Models", "Conv2d", "3→4 3x3 s2 no bias · 1x2 int64 strided"),
        ),
    ],
)
def test_a_layer_is_called_by_what_makes_it(layer: ModelLayer, expected: tuple[str, ...]) -> None:
    """Its arguments and the shapes that go in."""
    assert [expected] == labels([layer])


def test_two_layers_of_one_name_are_numbered() -> None:
    """A label is used once."""
    other = attrs.evolve(CONV, training=True)

    assert [False, True] == [label[-1].endswith("(2)") for label in labels([CONV, other])]
