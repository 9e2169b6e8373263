"""Calls of operators in C++."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from instruction_counts.sources.operators import cpp_code
from instruction_counts.sources.operators.catalogue import Argument, Schema
from instruction_counts.sources.operators.entries import OperatorEntry
from tests.sources.operators.made import SQUARE, call_of


def schema(name: str, *arguments: tuple[Any, ...], returns: tuple[str, ...] = ("Tensor",)) -> Any:
    """Schemas by name: ``(name, type)``, and the default where there is one."""
    overload = name.partition(".")[2]
    made = tuple(
        Argument(
            argument[0].removeprefix("*"),
            argument[1],
            kwarg_only=argument[0].startswith("*"),
            has_default=len(argument) > 2,
            default=argument[2] if len(argument) > 2 else None,
            is_write=argument[0] == "*out",
        )
        for argument in arguments
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
    return {
        schema.name: [other for other in schemas if other.name == schema.name] for schema in schemas
    }


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
def test_where_no_cpp_can_be_derived_the_reason_is_reported(
    entry: OperatorEntry, schemas: list[Schema], reason: str
) -> None:
    """Never a guess."""
    found = cpp_code.expression(call_of(entry), by_name(schemas))
    assert isinstance(found, cpp_code.Underivable)
    assert reason in found.reason
