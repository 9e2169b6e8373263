"""Calls: variants, overrides, and the code of both languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from core.types import Language
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators import cpp_code, python_code
from instruction_counts.sources.operators.calls import Call, Overrides, Value, calls, together
from instruction_counts.sources.operators.catalogue import Argument, Schema
from instruction_counts.sources.operators.entries import (
    DISTRIBUTIONS,
    DTYPES,
    ByVariant,
    Distribution,
    OperatorEntry,
    Tensor,
)
from instruction_counts.sources.operators.values import drawn

SQUARE = Tensor(ByVariant({"small": (2, 2), "typical": (8, 8), "large": (64, 64)}))


def call_of(entry: OperatorEntry, **overrides: Any) -> Call:
    """The one call of an entry."""
    (call,) = calls(entry, Overrides(**overrides))
    return call


def test_an_entry_gives_a_call_for_each_variant_that_is_asked_for() -> None:
    """And none for variants that it has not."""
    entry = OperatorEntry("torch.neg", "arithmetic", {"input": SQUARE})
    made = calls(entry, Overrides(variants=("small", "large", "skewed")))
    assert [(call.variant, call.shapes) for call in made] == [
        ("small", {"input": [2, 2]}),
        ("large", {"input": [64, 64]}),
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
        ("input=[1, 3]", {"input": [1, 3]}),
        ("input=[5]", {"input": [5]}),
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
    assert [call_of(entry, dtypes=(one,)).differentiates for one in ("float64", "int64")] == [
        True,
        False,
    ]


# Python


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (OperatorEntry("torch.neg", "a", {"input": SQUARE}), "torch.neg(input)"),
        (OperatorEntry("torch.zeros", "a", {}, {"size": (2, 3)}), "torch.zeros(size=[2, 3])"),
        (
            OperatorEntry("torch.zeros", "a", {}, {"size": (2,)}, positional=("size",)),
            "torch.zeros([2])",
        ),
        (
            OperatorEntry("Tensor.to", "a", {"input": SQUARE}, {"dtype": "torch.float64"}),
            "input.to(dtype=torch.float64)",
        ),
        (
            OperatorEntry(
                "torch.take_along",
                "a",
                {"input": SQUARE, "index": SQUARE},
                {"dim": 1},
                positional=("dim", "index"),
            ),
            "torch.take_along(input, 1, index)",
        ),
        (
            OperatorEntry("torch.cat", "a", {"tensors": (SQUARE, SQUARE)}, {"dim": 0}),
            "torch.cat([tensors_0, tensors_1], dim=0)",
        ),
        (
            OperatorEntry("torch.max", "a", {"input": SQUARE}, {"dim": 1}, output=0),
            "torch.max(input, dim=1)[0]",
        ),
        (
            OperatorEntry("Tensor.__getitem__", "a", {"input": SQUARE}, python="input[1:]"),
            "input[1:]",
        ),
        (
            OperatorEntry(
                "torch.clamp", "a", {"input": SQUARE}, {"max": float("inf"), "min": None}
            ),
            'torch.clamp(input, max=float("inf"), min=None)',
        ),
        (
            OperatorEntry("torch.add", "a", {"input": SQUARE}, python="input + 1", output=0),
            "(input + 1)[0]",
        ),
    ],
)
def test_a_call_in_python_is_exactly_this(entry: OperatorEntry, expected: str) -> None:
    """Inputs by position, the rest by keyword, unless the entry says otherwise."""
    assert python_code.expression(call_of(entry)) == expected


def test_the_setup_in_python_is_exactly_this() -> None:
    """Seeded, the inputs in their order, and the gradient of the output."""
    entry = OperatorEntry("torch.mul", "a", {"input": SQUARE, "other": Tensor((8,), "int64")})
    assert python_code.setup(call_of(entry, seed=7)) == (
        "torch.manual_seed(7)\n"
        "input = torch.randn([8, 8])\n"
        "input.requires_grad_()\n"
        "other = torch.randint(0, 10, [8])\n"
        "gradient = torch.ones_like(torch.mul(input, other))"
    )


# C++


def schema(name: str, *arguments: tuple[Any, ...], returns: tuple[str, ...] = ("Tensor",)) -> Any:
    """Schemas by name: ``(name, type)``, and the default where there is one."""
    overload = name.partition(".")[2]
    made = tuple(
        Argument(
            one[0].removeprefix("*"),
            one[1],
            kwarg_only=one[0].startswith("*"),
            has_default=len(one) > 2,
            default=one[2] if len(one) > 2 else None,
            is_write=one[0] == "*out",
        )
        for one in arguments
    )
    return Schema(name.partition(".")[0], overload, made, returns)


T = ("self", "Tensor")
OPTIONS = (
    ("*dtype", "Optional[ScalarType]", None),
    ("*layout", "Optional[Layout]", None),
    ("*device", "Optional[Device]", None),
    ("*pin_memory", "Optional[bool]", None),
)


@pytest.mark.parametrize(
    ("entry", "schemas", "expected"),
    [
        (
            OperatorEntry("torch.neg", "a", {"input": SQUARE}),
            [schema("neg", T)],
            "torch::neg(input)",
        ),
        (
            OperatorEntry("torch.fft.rfft", "a", {"input": SQUARE}),
            [schema("fft_rfft", T)],
            "torch::fft_rfft(input)",
        ),
        (
            OperatorEntry("torch.sum", "a", {"input": SQUARE}, {"dim": 1, "keepdim": True}),
            [
                schema("sum", T),
                schema("sum.dim", T, ("dim", "Optional[List[int]]"), ("keepdim", "bool", False)),
            ],
            "torch::sum(input, at::IntArrayRef({1}), true)",
        ),
        (
            OperatorEntry("torch.std", "a", {"input": SQUARE}, {"keepdim": True}),
            [
                schema(
                    "std",
                    T,
                    ("dim", "Optional[List[int]]", None),
                    ("correction", "Optional[number]", None),
                    ("keepdim", "bool", False),
                    ("last", "bool", False),
                )
            ],
            "torch::std(input, c10::nullopt, c10::nullopt, true)",
        ),
        (
            OperatorEntry("torch.add", "a", {"input": SQUARE, "other": SQUARE}, {"alpha": 2}),
            [schema("add.Tensor", T, ("other", "Tensor"), ("*alpha", "number", 1))],
            "torch::add(input, other, 2)",
        ),
        (
            OperatorEntry("torch.add", "a", {"input": SQUARE}, {"other": 2}, positional=("other",)),
            [
                schema("add.Tensor", T, ("other", "Tensor"), ("*alpha", "number", 1)),
                schema("add.Scalar", T, ("other", "number"), ("alpha", "number", 1)),
            ],
            "torch::add(input, 2)",
        ),
        (
            OperatorEntry("torch.zeros", "a", {}, {"size": (2,), "dtype": "torch.float64"}),
            [schema("zeros", ("size", "List[int]"), *OPTIONS)],
            "torch::zeros(at::IntArrayRef({2}), torch::TensorOptions().dtype(torch::kFloat64))",
        ),
        (
            OperatorEntry("torch.zeros", "a", {}, {"size": (2,)}),
            [schema("zeros", ("size", "List[int]"), *OPTIONS)],
            "torch::zeros(at::IntArrayRef({2}))",
        ),
        (
            OperatorEntry("Tensor.to", "a", {"input": SQUARE}, {"dtype": "torch.float64"}),
            [schema("to.dtype", T, ("dtype", "ScalarType"))],
            "input.to(torch::kFloat64)",
        ),
        (
            OperatorEntry("Tensor.add_", "a", {"input": SQUARE, "other": SQUARE}, autograd=False),
            [schema("add_.Tensor", T, ("other", "Tensor"))],
            "input.add_(other)",
        ),
        (
            OperatorEntry("torch.cat", "a", {"tensors": (SQUARE, SQUARE)}),
            [schema("cat", ("tensors", "List[Tensor]"), ("dim", "int", 0))],
            "torch::cat(at::TensorList({tensors_0, tensors_1}))",
        ),
        (
            OperatorEntry("torch.max", "a", {"input": SQUARE}, {"dim": 1}, output=1),
            [schema("max.dim", T, ("dim", "int"), returns=("Tensor", "Tensor"))],
            "std::get<1>(torch::max(input, 1))",
        ),
        (
            OperatorEntry("torch.split", "a", {"input": SQUARE}, {"split_size": 2}, output=0),
            [schema("split.Tensor", T, ("split_size", "int"), returns=("List[Tensor]",))],
            "torch::split(input, 2)[0]",
        ),
        (
            OperatorEntry("torch.dropout", "a", {"input": SQUARE}, {"p": 1, "train": True}),
            [schema("dropout", ("input", "Tensor"), ("p", "float"), ("train", "bool"))],
            "torch::dropout(input, 1.0, true)",
        ),
        (
            OperatorEntry(
                "torch.pad", "a", {"input": SQUARE}, {"mode": 'a"b', "value": float("-inf")}
            ),
            [schema("pad", T, ("mode", "str"), ("value", "Optional[float]", None))],
            'torch::pad(input, "a\\"b", -std::numeric_limits<double>::infinity())',
        ),
        (OperatorEntry("torch.neg", "a", {"input": SQUARE}, cpp="-input"), [], "-input"),
        (
            OperatorEntry("torch.norm", "a", {"input": SQUARE}, overload="b"),
            [schema("norm.a", T), schema("norm.b", T, ("p", "number", 2), ("q", "int", 1))],
            "torch::norm(input)",
        ),
    ],
)
def test_a_call_in_cpp_is_exactly_this(
    entry: OperatorEntry, schemas: list[Schema], expected: str
) -> None:
    """In the schema's order, with defaults before the last argument that is given."""
    assert cpp_code.expression(call_of(entry), by_name(schemas)) == expected


def by_name(schemas: list[Schema]) -> Mapping[str, list[Schema]]:
    """All overloads by name."""
    return {one.name: [other for other in schemas if other.name == one.name] for one in schemas}


@pytest.mark.parametrize(
    ("entry", "schemas", "reason"),
    [
        (OperatorEntry("torch.neg", "a", {"input": SQUARE}), [], "no schema of aten::neg"),
        (
            OperatorEntry("torch.neg", "a", {"input": SQUARE}),
            [schema("neg.out", T, ("*out", "Tensor"))],
            "no schema",
        ),
        (
            OperatorEntry("torch.neg", "a", {"input": SQUARE}, {"dim": 1}),
            [schema("neg", T)],
            "no schema of aten::neg fits its arguments (neg)",
        ),
        (
            OperatorEntry("torch.sum", "a", {"input": SQUARE}),
            [schema("sum", T, ("dim", "int"))],
            "no schema",
        ),
        (OperatorEntry("torch.neg", "a", {"input": SQUARE}, cpp=False, note="none"), [], "none"),
        (OperatorEntry("torch.neg", "a", {"input": SQUARE}, python="-input"), [], "needs C++ code"),
    ],
)
def test_where_no_cpp_can_be_derived_the_reason_is_told(
    entry: OperatorEntry, schemas: list[Schema], reason: str
) -> None:
    """Never a guess."""
    found = cpp_code.expression(call_of(entry), by_name(schemas))
    assert isinstance(found, cpp_code.Underivable)
    assert reason in found.reason


# Values


@pytest.mark.parametrize("name", [one for one in DISTRIBUTIONS if one != "index_of"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_distribution_makes_a_tensor_of_its_shape_and_dtype(name: str, dtype: str) -> None:
    """Torch itself says so; but complex numbers have no order to be sorted in."""
    if name == "sorted" and dtype.startswith("complex"):
        return
    torch = pytest.importorskip("torch")
    shape = (12,) if name == "permutation" else (3, 3)
    namespace: dict[str, Any] = {"torch": torch}
    value = Value("x", shape, dtype, Distribution(name, 0, 2), requires_grad=False)
    exec(drawn(value, Language.PYTHON), namespace)  # noqa: S102 - code is what is tested
    made = namespace["x"]
    assert tuple(made.shape) == shape
    assert str(made.dtype) == f"torch.{dtype}"
