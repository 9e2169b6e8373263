"""The code of calls: values that are drawn, and calls in Python and C++."""

import math
from typing import Any

import pytest

from instruction_counts.core.types import Language
from instruction_counts.domain.build import default_build
from instruction_counts.sources.operators import code
from instruction_counts.sources.operators.calls import Value
from instruction_counts.sources.operators.catalogue import Schemas, load_schemas
from instruction_counts.sources.operators.entries import (
    DISTRIBUTIONS,
    DTYPES,
    Distribution,
    OperatorEntry,
    Tensor,
)
from instruction_counts.system.cache import Cache
from tests.sources.operators.made import SQUARE, call_of, entry

INDEXED = {"input": SQUARE, "index": SQUARE}


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (entry("torch.zeros", {"size": (2, 3)}, inputs={}), "torch.zeros(size=[2, 3])"),
        (entry("torch.zeros", {"size": (2,)}, inputs={}, positional=("size",)), "torch.zeros([2])"),
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
    assert code.expression(call_of(operator)) == expected


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (
            Language.PYTHON,
            (
                "torch.manual_seed(7)\n"
                "input = torch.randn([8, 8])\n"
                "input.requires_grad_()\n"
                "other = torch.randint(0, 10, [8])\n"
                "scale = torch.randint(0, 10, [])\n"
                "gradient = torch.ones_like(f(input))"
            ),
        ),
        (
            Language.CPP,
            (
                "torch::manual_seed(7);\n"
                "auto input = torch::randn({8, 8});\n"
                "input.requires_grad_();\n"
                "auto other = torch::randint(0, 10, {8}, torch::kInt64);\n"
                "auto scale = torch::randint(0, 10, at::IntArrayRef(), torch::kInt64);\n"
                "auto gradient = torch::ones_like(f(input));"
            ),
        ),
    ],
)
def test_the_setup_is_exactly_this(language: Language, expected: str) -> None:
    """Seeded, the inputs in their order, and the gradient of the output."""
    inputs = {"input": SQUARE, "other": Tensor((8,), "int64"), "scale": Tensor((), "int64")}
    addcmul = entry("torch.addcmul", inputs=inputs)
    assert code.setup(call_of(addcmul, seed=7), language, "f(input)") == expected


def test_inputs_are_moved_to_a_device_before_they_get_a_gradient() -> None:
    """Drawn on the CPU, they are the same on each; a tensor that is moved later is no leaf."""
    call = call_of(entry("torch.neg"), devices=("cuda",))
    python, cpp = (code.setup(call, language, "f(input)") for language in Language)

    assert "input = torch.randn([8, 8]).to(device)\ninput.requires_grad_()" in python
    assert "auto input = torch::randn({8, 8}).to(device);\ninput.requires_grad_();" in cpp


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in DISTRIBUTIONS
        for dtype in DTYPES
        if not (name == "sorted" and dtype.startswith("complex"))  # they have no order
    ],
)
def test_every_distribution_makes_a_tensor_of_its_shape_and_dtype(name: str, dtype: str) -> None:
    """Torch itself says so."""
    torch = pytest.importorskip("torch")
    shape = (12,) if name == "permutation" else (3, 3)
    namespace: dict[str, Any] = {"torch": torch}
    value = Value("x", shape, dtype, Distribution(name, 0, 2), requires_grad=False)
    exec("\n".join(code.drawn([value], 0, Language.PYTHON)), namespace)  # noqa: S102 - code is what is tested
    made = namespace["x"]
    assert tuple(made.shape) == shape
    assert str(made.dtype) == f"torch.{dtype}"


# Calls in C++, derived from the schemas of the installed torch


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    """Those of every operator."""
    return load_schemas(default_build(), Cache())


TWO = {"inputs": {"input": SQUARE, "other": SQUARE}}


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
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
        (entry("torch.nan_to_num", {"nan": math.nan}), "torch::nan_to_num(input, NAN)"),
        (entry("torch.neg", cpp="-input"), "-input"),
    ],
)
def test_a_call_in_cpp_is_exactly_this(
    operator: OperatorEntry, expected: str, schemas: Schemas
) -> None:
    """In the schema's order."""
    assert (expected, "") == code.cpp_expression(call_of(operator), schemas)


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (entry("torch.no_such"), "torch has no aten::no_such"),
        (entry("torch.sum", {"dims": 1}), "aten::sum has no argument dims: one of "),
        # An overload that writes elsewhere is none for an operator that does not, and conversely.
        (entry("torch.neg_"), "no schema of aten::neg_ fits its arguments"),
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
    found, said = code.cpp_expression(call_of(operator), schemas)

    assert "" == found
    assert reason in said
