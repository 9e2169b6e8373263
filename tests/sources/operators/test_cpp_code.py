"""Calls of operators in C++."""

from __future__ import annotations

import ast

import pytest

from instruction_counts.sources.operators import cpp_code
from instruction_counts.sources.operators.catalogue import Argument, Schema, Schemas
from instruction_counts.sources.operators.entries import OperatorEntry
from tests.sources.operators.made import SQUARE, call_of, entry

OPTIONS = (
    "*dtype:Optional[ScalarType]=None *layout:Optional[Layout]=None "
    "*device:Optional[Device]=None *pin_memory:Optional[bool]=None"
)


def schema(text: str) -> Schema:
    """A schema from ``sum.dim self:Tensor *dim:int=0 -> Tensor``; a star is for keywords alone."""
    signature, _, returns = text.partition(" -> ")
    name, *arguments = signature.split()
    made = []
    for argument in arguments:
        called, _, default = argument.partition("=")
        key, _, kind = called.partition(":")
        bare = key.removeprefix("*")
        value = ast.literal_eval(default) if default else None
        made.append(Argument(bare, kind, bare != key, bool(default), value, key == "*out"))
    base, _, overload = name.partition(".")
    return Schema(base, overload, tuple(made), tuple((returns or "Tensor").split()))


def by_name(texts: list[str]) -> Schemas:
    """Schemas as a build tells them."""
    schemas = [schema(text) for text in texts]
    return {
        known.name: [other for other in schemas if other.name == known.name] for known in schemas
    }


TWO = {"inputs": {"input": SQUARE, "other": SQUARE}}
ADD = "add.Tensor self:Tensor other:Tensor *alpha:number=1"


@pytest.mark.parametrize(
    ("operator", "schemas", "expected"),
    [
        (entry("torch.neg"), ["neg self:Tensor"], "torch::neg(input)"),
        (entry("torch.fft.rfft"), ["fft_rfft self:Tensor"], "torch::fft_rfft(input)"),
        # The schema that the arguments fit, with defaults before the last that is given.
        (
            entry("torch.sum", {"dim": 1, "keepdim": True}),
            ["sum self:Tensor", "sum.d self:Tensor dim:Optional[List[int]] keepdim:bool=False"],
            "torch::sum(input, at::IntArrayRef({1}), true)",
        ),
        (
            entry("torch.std", {"keepdim": True}),
            ["std self:Tensor dim:Optional[List[int]]=None keepdim:bool=False last:bool=False"],
            "torch::std(input, c10::nullopt, true)",
        ),
        (entry("torch.add", {"alpha": 2}, **TWO), [ADD], "torch::add(input, other, 2)"),
        (
            entry("torch.add", {"other": 2}, positional=("other",)),
            [ADD, "add.Scalar self:Tensor other:number alpha:number=1"],
            "torch::add(input, 2)",
        ),
        (
            entry("torch.norm", overload="b"),
            ["norm.a self:Tensor", "norm.b self:Tensor p:number=2 q:int=1"],
            "torch::norm(input)",
        ),
        # Options are at the end, and left out where they are not given.
        (
            entry("torch.zeros", {"size": (2,), "dtype": "torch.float64"}, inputs={}),
            [f"zeros size:List[int] {OPTIONS}"],
            "torch::zeros(at::IntArrayRef({2}), torch::kFloat64)",
        ),
        (
            entry("torch.zeros", {"size": (2,)}, inputs={}),
            [f"zeros size:List[int] {OPTIONS}"],
            "torch::zeros(at::IntArrayRef({2}))",
        ),
        # Methods, lists, one output of several, and values of each kind.
        (
            entry("Tensor.to", {"dtype": "torch.float64"}),
            ["to.dtype self:Tensor dtype:ScalarType"],
            "input.to(torch::kFloat64)",
        ),
        (
            entry("Tensor.add_", autograd=False, **TWO),
            ["add_.Tensor self:Tensor other:Tensor"],
            "input.add_(other)",
        ),
        (
            entry("torch.cat", inputs={"tensors": (SQUARE, SQUARE)}),
            ["cat tensors:List[Tensor] dim:int=0"],
            "torch::cat(at::TensorList({tensors_0, tensors_1}))",
        ),
        (
            entry("torch.max", {"dim": 1}, output=1),
            ["max.dim self:Tensor dim:int -> Tensor Tensor"],
            "std::get<1>(torch::max(input, 1))",
        ),
        (
            entry("torch.split", {"split_size": 2}, output=0),
            ["split.Tensor self:Tensor split_size:int -> List[Tensor]"],
            "torch::split(input, 2)[0]",
        ),
        (
            entry("torch.dropout", {"p": 1, "train": True}),
            ["dropout input:Tensor p:float train:bool"],
            "torch::dropout(input, 1.0, true)",
        ),
        (
            entry("torch.pad", {"mode": 'a"b', "value": float("-inf")}),
            ["pad self:Tensor mode:str value:Optional[float]=None"],
            'torch::pad(input, "a\\"b", -INFINITY)',
        ),
        (entry("torch.neg", cpp="-input"), [], "-input"),
    ],
)
def test_a_call_in_cpp_is_exactly_this(
    operator: OperatorEntry, schemas: list[str], expected: str
) -> None:
    """In the schema's order."""
    assert expected == cpp_code.expression(call_of(operator), by_name(schemas))


@pytest.mark.parametrize(
    ("operator", "schemas", "reason"),
    [
        (entry("torch.neg"), [], "no schema of aten::neg"),
        (entry("torch.neg"), ["neg.out self:Tensor *out:Tensor"], "no schema"),
        (entry("torch.neg", {"dim": 1}), ["neg self:Tensor"], "fits its arguments"),
        (entry("torch.sum"), ["sum self:Tensor dim:int"], "no schema"),
        (entry("torch.add", {"self": 2}), ["add self:number"], "no schema"),
        (entry("torch.neg", cpp=False, note="none"), [], "none"),
        (entry("torch.neg", python="-input"), [], "needs C++ code"),
    ],
)
def test_where_no_cpp_can_be_derived_the_reason_is_reported(
    operator: OperatorEntry, schemas: list[str], reason: str
) -> None:
    """Never a guess."""
    found = cpp_code.expression(call_of(operator), by_name(schemas))

    assert isinstance(found, cpp_code.Underivable)
    assert reason in found.reason
