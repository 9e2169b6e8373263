"""Calls: variants and overrides."""

from typing import Any

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators.calls import Overrides, calls, together
from instruction_counts.sources.operators.entries import Distribution, Tensor
from tests.sources.operators.made import SQUARE, call_of, entry

NEG = entry("torch.neg")


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        # None for variants that the entry has not.
        (
            {"variants": ("small", "large", "skewed")},
            [("small", {"input": (2, 2)}), ("large", {"input": (64, 64)})],
        ),
        # Shapes that are asked for take the place of the variants.
        (
            {"inputs": ({"input": (1, 3)}, {"input": (5,)})},
            [("input=[1, 3]", {"input": (1, 3)}), ("input=[5]", {"input": (5,)})],
        ),
    ],
)
def test_an_entry_gives_a_call_for_each_variant_or_shape_that_is_asked_for(
    overrides: dict[str, Any], expected: list[Any]
) -> None:
    """Labelled with it."""
    made = calls(NEG, Overrides(**overrides))
    assert [(call.variant, call.shapes) for call in made] == expected


def test_a_dtype_that_is_asked_for_holds_for_inputs_that_name_none() -> None:
    """An index stays what it is, and integers have no backward pass."""
    index = Tensor((3,), "int64")
    take = entry("torch.take", inputs={"input": SQUARE, "index": index})
    found = list(calls(take, Overrides(dtypes=("float64", "int8"))))
    assert [["float64", "int64"], ["int8", "int64"]] == [
        [value.dtype for value in call.values] for call in found
    ]
    assert [True, False] == [call.differentiates for call in found]


def index_of(dim: int) -> Tensor:
    """An index into a dimension of the input."""
    return Tensor((3,), "int64", Distribution("index_of", of="input", dim=dim))


@pytest.mark.parametrize(
    ("inputs", "shapes", "message"),
    [
        ({"input": SQUARE}, {"x": (1,)}, r'^torch\.take has no tensor "x"\n  It has input'),
        (
            {"input": SQUARE, "index": index_of(1)},
            {"input": (5,)},
            r"^torch\.take: index is an index into dimension 1 of input",
        ),
    ],
)
def test_shapes_that_the_operator_cannot_have_are_refused(
    inputs: dict[str, Tensor], shapes: dict[str, tuple[int, ...]], message: str
) -> None:
    """With what it has."""
    with pytest.raises(UsageError, match=message):
        call_of(entry("torch.take", inputs=inputs), inputs=(shapes,))


def test_shapes_of_several_inputs_go_together_one_by_one() -> None:
    """A single one goes with all; two of one and three of the other are refused, and none."""
    found = together({"a": [(1,), (2,)], "b": [(3,), (4,)], "c": [(5,)]})
    assert found == ({"a": (1,), "b": (3,), "c": (5,)}, {"a": (2,), "b": (4,), "c": (5,)})
    with pytest.raises(UsageError, match=r"^Shapes are paired up.* 2 of a, 3 of b"):
        together({"a": [(1,), (2,)], "b": [(3,), (4,), (5,)]})
    with pytest.raises(UsageError, match=r"^b has no shape"):
        together({"a": [(1,)], "b": []})


@pytest.mark.parametrize(("dim", "high"), [(0, 5), (1, 2), (-1, 2)])
def test_an_index_stays_below_the_size_of_what_it_indexes(dim: int, high: int) -> None:
    """Also when that size is asked for; dimensions can be counted from the end."""
    take = entry("torch.take", inputs={"input": SQUARE, "index": index_of(dim)})
    call = call_of(take, inputs=({"input": (5, 2)},))
    assert call.values[1].distribution == Distribution("integers", 0, high)
