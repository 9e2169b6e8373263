"""Calls of operators in Python."""

from __future__ import annotations

import pytest

from instruction_counts.sources.operators import python_code
from instruction_counts.sources.operators.entries import OperatorEntry, Tensor
from tests.sources.operators.made import SQUARE, call_of, entry

INDEXED = {"input": SQUARE, "index": SQUARE}


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (entry("torch.neg"), "torch.neg(input)"),
        (entry("torch.zeros", {"size": (2, 3)}, inputs={}), "torch.zeros(size=[2, 3])"),
        (
            entry("torch.zeros", {"size": (2,)}, inputs={}, positional=("size",)),
            "torch.zeros([2])",
        ),
        (entry("Tensor.to", {"dtype": "torch.float64"}), "input.to(dtype=torch.float64)"),
        (
            entry("torch.take", {"dim": 1}, inputs=INDEXED, positional=("dim", "index")),
            "torch.take(input, 1, index)",
        ),
        (
            entry("torch.cat", {"dim": 0}, inputs={"tensors": (SQUARE, SQUARE)}),
            "torch.cat([tensors_0, tensors_1], dim=0)",
        ),
        (entry("torch.max", {"dim": 1}, output=0), "torch.max(input, dim=1)[0]"),
        (entry("Tensor.__getitem__", python="input[1:]"), "input[1:]"),
        (
            entry("torch.clamp", {"max": float("inf"), "min": None}),
            'torch.clamp(input, max=float("inf"), min=None)',
        ),
        (entry("torch.add", python="input + 1", output=0), "(input + 1)[0]"),
    ],
)
def test_a_call_in_python_is_exactly_this(operator: OperatorEntry, expected: str) -> None:
    """Inputs by position, the rest by keyword, unless the entry says otherwise."""
    assert python_code.expression(call_of(operator)) == expected


def test_the_setup_in_python_is_exactly_this() -> None:
    """Seeded, the inputs in their order, and the gradient of the output."""
    mul = entry("torch.mul", inputs={"input": SQUARE, "other": Tensor((8,), "int64")})
    assert python_code.setup(call_of(mul, seed=7)) == (
        "torch.manual_seed(7)\n"
        "input = torch.randn([8, 8])\n"
        "input.requires_grad_()\n"
        "other = torch.randint(0, 10, [8])\n"
        "gradient = torch.ones_like(torch.mul(input, other))"
    )
