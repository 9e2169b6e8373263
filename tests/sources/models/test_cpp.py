"""The C++ of a layer."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from instruction_counts.sources.models import cpp
from instruction_counts.sources.models.layers import LayerInput
from tests.sources.models.made import ADD, CONV

ELSE: dict[str, Any] = {"positional": (), "keywords": ()}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Conv2d(torch::nn::Conv2dOptions(3, 4, {3, 3}).stride({2, 2}).bias(false))"),
        ({"type": "LayerNorm", **ELSE, "positional": ((8,),)}, "LayerNormOptions({8}))"),
        ({"type": "AvgPool1d", **ELSE, "positional": ((3,),)}, "AvgPool1dOptions(3))"),
        ({"type": "Softmax", **ELSE, "keywords": (("dim", -1),)}, "SoftmaxOptions(-1))"),
        ({"type": "ReLU6", **ELSE}, "ReLU6(torch::nn::ReLU6Options())"),
        ({"type": "SiLU", **ELSE}, "SiLU()"),
        (
            {"type": "GELU", **ELSE, "keywords": (("approximate", "tanh"),)},
            'GELUOptions().approximate("tanh"))',
        ),
    ],
)
def test_a_module_has_the_same_options(changes: dict[str, Any], expected: str) -> None:
    """Where torch::nn has it."""
    code = cpp.module(attrs.evolve(CONV, **changes))

    assert code is not None
    assert f"{expected};\nmodel->eval();" in code


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "Hardswish", **ELSE},
        {"type": "Softmax", **ELSE},
        {"keywords": (("padding", "same"),)},
        {"keywords": (("padding_mode", "circular"),)},
        {"dtype": "torch.bfloat16"},
        {"is_plain": False},
        {"inputs": (LayerInput("x", (1,), "bool"),)},
    ],
)
def test_what_is_not_obvious_has_no_counterpart(changes: dict[str, Any]) -> None:
    """Nothing is guessed."""
    assert cpp.module(attrs.evolve(CONV, **changes)) is None


def test_operators_have_none() -> None:
    """They are written in Python alone."""
    assert cpp.module(ADD) is None


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (LayerInput("x", (2, 3), "float32"), "auto x = torch::rand({2, 3});"),
        (LayerInput("i", (4,), "int64", high=9), "auto i = torch::randint(9, {4}, torch::kLong);"),
        (
            LayerInput("x", (2, 3), "float32", (1, 4)),
            "auto x = torch::rand({10}).as_strided({2, 3}, {1, 4});",
        ),
    ],
)
def test_inputs_are_made_as_in_python(tensor: LayerInput, expected: str) -> None:
    """Of the same shape and strides."""
    assert expected == cpp.tensor(tensor, gradient=False)
