"""Calls of operators in Python."""

from __future__ import annotations

import pytest

from instruction_counts.sources.operators import python_code
from instruction_counts.sources.operators.entries import OperatorEntry, Tensor
from tests.sources.operators.made import SQUARE, call_of


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
