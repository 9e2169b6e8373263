"""Calls of operators in C++, derived from the schemas of the installed torch."""

from __future__ import annotations

import math

import pytest

from instruction_counts.domain.build import default_build
from instruction_counts.sources.operators import cpp_code
from instruction_counts.sources.operators.catalogue import Schemas, load_schemas
from instruction_counts.sources.operators.entries import OperatorEntry
from instruction_counts.system.cache import Cache
from tests.sources.operators.made import SQUARE, call_of, entry


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    """Those of every operator."""
    return load_schemas(default_build(), Cache())


TWO = {"inputs": {"input": SQUARE, "other": SQUARE}}


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (entry("torch.neg"), "torch::neg(input)"),
        (entry("torch.fft.rfft"), "torch::fft_rfft(input)"),
        # The schema that the arguments fit, with defaults before the last that is given.
        (
            entry("torch.sum", {"dim": 1, "keepdim": True}),
            "torch::sum(input, at::IntArrayRef({1}), true)",
        ),
        (
            entry("torch.std", {"keepdim": True}, overload="correction"),
            "torch::std(input, c10::nullopt, c10::nullopt, true)",
        ),
        (entry("torch.add", {"alpha": 2}, **TWO), "torch::add(input, other, 2)"),
        (entry("torch.add", {"other": 2}, positional=("other",)), "torch::add(input, 2)"),
        (entry("torch.norm", overload="Scalar"), "torch::norm(input)"),
        # Options are at the end, and left out where they are not given.
        (
            entry("torch.zeros", {"size": (2,), "dtype": "torch.float64"}, inputs={}),
            "torch::zeros(at::IntArrayRef({2}), torch::kFloat64)",
        ),
        (entry("torch.zeros", {"size": (2,)}, inputs={}), "torch::zeros(at::IntArrayRef({2}))"),
        # Methods, lists, one output of several, and values of each kind.
        (
            entry("Tensor.to", {"dtype": "torch.float64"}, overload="dtype"),
            "input.to(torch::kFloat64)",
        ),
        (entry("Tensor.add_", autograd=False, **TWO), "input.add_(other)"),
        (
            entry("torch.cat", inputs={"tensors": (SQUARE, SQUARE)}),
            "torch::cat(at::TensorList({tensors_0, tensors_1}))",
        ),
        (entry("torch.max", {"dim": 1}, output=1), "std::get<1>(torch::max(input, 1))"),
        (entry("torch.split", {"split_size": 2}, output=0), "torch::split(input, 2)[0]"),
        (entry("torch.dropout", {"p": 1, "train": True}), "torch::dropout(input, 1.0, true)"),
        (
            entry("torch.nn.functional.pad", {"pad": (1, 1), "mode": 'a"b', "value": -math.inf}),
            'torch::pad(input, at::IntArrayRef({1, 1}), "a\\"b", -INFINITY)',
        ),
        (entry("torch.neg", cpp="-input"), "-input"),
    ],
)
def test_a_call_in_cpp_is_exactly_this(
    operator: OperatorEntry, expected: str, schemas: Schemas
) -> None:
    """In the schema's order."""
    assert expected == cpp_code.expression(call_of(operator), schemas)


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (entry("torch.no_such"), "no schema of aten::no_such"),
        (entry("torch.neg", {"out": 1}), "fits its arguments"),
        # An overload that writes elsewhere is none for an operator that does not, and conversely.
        (entry("torch.neg_"), "no schema"),
        (entry("torch.sum", {"dim": "a"}), "no schema"),
        (entry("torch.add", {"self": 2}), "no schema"),
        (entry("torch.neg", cpp=False, note="none"), "none"),
        (entry("torch.neg", python="-input"), "needs C++ code"),
    ],
)
def test_where_no_cpp_can_be_derived_the_reason_is_reported(
    operator: OperatorEntry, reason: str, schemas: Schemas
) -> None:
    """Never a guess."""
    found = cpp_code.expression(call_of(operator), schemas)

    assert isinstance(found, cpp_code.Underivable)
    assert reason in found.reason
