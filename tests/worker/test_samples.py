"""What is said of the samples that torch tests its operators with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from worker.samples import described, spellings


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (torch.ones(2, 3), {"tensor": [2, 3], "dtype": "float32", "requires_grad": False}),
        (
            torch.tensor([3, 1]),
            {"tensor": [2], "dtype": "int64", "requires_grad": False, "range": [1, 3]},
        ),
        (
            torch.ones(0, dtype=torch.int32),
            {"tensor": [0], "dtype": "int32", "requires_grad": False},
        ),
        (
            torch.ones((), requires_grad=True),
            {"tensor": [], "dtype": "float32", "requires_grad": True},
        ),
        (
            torch.ones(2).to_sparse(),
            {
                "tensor": [2],
                "dtype": "float32",
                "requires_grad": False,
                "layout": "torch.sparse_coo",
            },
        ),
        ([1, (2.5, None)], [1, {"tuple": [2.5, None]}]),
        (True, True),
        (float("inf"), {"code": "float('inf')"}),
        (torch.float64, {"code": "torch.float64"}),
        (torch.channels_last, {"code": "torch.channels_last"}),
        (slice(1, None), {"code": "slice(1, None, None)"}),
        (1 + 2j, {"code": "(1+2j)"}),
    ],
    ids=str,
)
def test_a_value_is_described_in_json(value: Any, expected: Any) -> None:
    """A tensor by what it is like; what JSON lacks, by code."""
    assert expected == described(torch, value)


@pytest.mark.parametrize(
    "name", ["linalg.norm", "torch.linalg.norm", "linalg_norm", "norm2", "torch.Tensor.norm2"]
)
def test_an_operator_of_the_database_goes_by_many_names(name: str) -> None:
    """Its own, its aliases', and the native one."""
    alias = SimpleNamespace(name="norm2")
    entry = SimpleNamespace(name="linalg.norm", aliases=(alias,), aten_name="linalg_norm")

    assert name in spellings(entry)
