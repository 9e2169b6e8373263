"""Calls: variants and overrides."""

from __future__ import annotations

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators.calls import Overrides, calls, together
from instruction_counts.sources.operators.entries import (
    Distribution,
    OperatorEntry,
    Tensor,
)
from tests.sources.operators.made import SQUARE, call_of


def test_an_entry_gives_a_call_for_each_variant_that_is_asked_for() -> None:
    """And none for variants that it has not."""
    entry = OperatorEntry("torch.neg", "arithmetic", {"input": SQUARE})
    made = calls(entry, Overrides(variants=("small", "large", "skewed")))
    assert [(call.variant, call.shapes) for call in made] == [
        ("small", {"input": (2, 2)}),
        ("large", {"input": (64, 64)}),
    ]


def test_a_dtype_that_is_asked_for_holds_for_inputs_that_name_none() -> None:
    """An index stays what it is."""
    entry = OperatorEntry(
        "torch.take", "indexing", {"input": SQUARE, "index": Tensor((3,), "int64")}
    )
    call = call_of(entry, dtypes=("float64",))
    assert [value.dtype for value in call.values] == ["float64", "int64"]


def test_a_dtype_that_no_tensor_follows_is_not_asked_for() -> None:
    """Else one case would be measured under two names, both wrong."""
    tensor = Tensor((3,), "int64")
    entry = OperatorEntry("torch.bitwise_not", "bits", {"input": tensor, "others": (tensor,)})
    assert [""] == [call.dtype for call in calls(entry, Overrides(dtypes=("float64", "int8")))]


@pytest.mark.parametrize(
    ("dtypes", "asked", "expected"),
    [
        ((None,), "float64", "float64"),
        (("int64", None), "", "float32"),
        (("int64", "bool"), "", "int64"),
        ((), "", None),
    ],
)
def test_the_dtype_of_a_call_is_one_that_its_tensors_have(
    dtypes: tuple[str | None, ...], asked: str, expected: str | None
) -> None:
    """The one that was asked for, or float32, if any has it."""
    inputs = {f"x{place}": Tensor((3,), dtype) for place, dtype in enumerate(dtypes)}
    call = call_of(OperatorEntry("torch.neg", "a", inputs), dtypes=(asked,) if asked else ())
    assert expected == call.main_dtype


def test_shapes_that_are_asked_for_take_the_place_of_the_variants() -> None:
    """Several give several calls, each labelled with its shapes."""
    entry = OperatorEntry("torch.neg", "arithmetic", {"input": SQUARE})
    made = calls(entry, Overrides(inputs=({"input": (1, 3)}, {"input": (5,)})))
    assert [(call.variant, call.shapes) for call in made] == [
        ("input=[1, 3]", {"input": (1, 3)}),
        ("input=[5]", {"input": (5,)}),
    ]


def test_an_input_that_the_operator_has_not_is_named_with_those_that_it_has() -> None:
    """So that the next try is right."""
    entry = OperatorEntry("torch.neg", "arithmetic", {"input": SQUARE})
    with pytest.raises(UsageError, match=r'^torch\.neg has no tensor "x"\n  It has input'):
        call_of(entry, inputs=({"x": (1,)},))


def test_shapes_of_several_inputs_go_together_one_by_one() -> None:
    """A single one goes with all."""
    found = together({"a": [(1,), (2,)], "b": [(3,), (4,)], "c": [(5,)]})
    assert found == ({"a": (1,), "b": (3,), "c": (5,)}, {"a": (2,), "b": (4,), "c": (5,)})


def test_shapes_that_cannot_go_together_are_refused() -> None:
    """Two of one and three of the other."""
    with pytest.raises(UsageError, match=r"^Shapes are paired up.* 2 of a, 3 of b"):
        together({"a": [(1,), (2,)], "b": [(3,), (4,), (5,)]})


@pytest.mark.parametrize(("dim", "high"), [(0, 5), (1, 2), (-1, 2)])
def test_an_index_stays_below_the_size_of_what_it_indexes(dim: int, high: int) -> None:
    """Also when that size is asked for; dimensions can be counted from the end."""
    index = Tensor((3,), "int64", Distribution("index_of", of="input", dim=dim))
    entry = OperatorEntry("torch.take", "indexing", {"input": SQUARE, "index": index})
    call = call_of(entry, inputs=({"input": (5, 2)},))
    assert call.values[1].distribution == Distribution("integers", 0, high)


def test_an_index_into_a_dimension_that_a_shape_lacks_is_refused() -> None:
    """When another shape is asked for than the entry has."""
    index = Tensor((3,), "int64", Distribution("index_of", of="input", dim=1))
    entry = OperatorEntry("torch.take", "indexing", {"input": SQUARE, "index": index})
    with pytest.raises(
        UsageError, match=r"^torch\.take: index is an index into dimension 1 of input"
    ):
        call_of(entry, inputs=({"input": (5,)},))


def test_integers_have_no_backward_pass() -> None:
    """Although the operator differentiates."""
    entry = OperatorEntry("torch.neg", "arithmetic", {"input": SQUARE})
    assert [call_of(entry, dtypes=(dtype,)).differentiates for dtype in ("float64", "int64")] == [
        True,
        False,
    ]
