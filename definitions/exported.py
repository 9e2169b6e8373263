"""What callers of a package of AOTInductor pay: the loader, the wrapper, and the kernels.

The tensors are tiny, so that what surrounds kernels is measured, in Python and in C++. Weights are
in the package where a module is exported, and inputs where a statement is.

They are a set of their own (``--definitions definitions.exported``) and not part of the standard
suite: each package takes its time to be made, once for each build.
"""

from collections.abc import Mapping
from typing import Any

from core.api import GroupedBenchmark, GroupedModules, GroupedSetup, GroupedStmts
from core.types import Definition, FlatIntermediateDefinition
from core.utils import flatten

_TENSORS = GroupedSetup(
    "x, y = torch.ones((4, 4)), torch.ones((4, 4))",
    "auto x = torch::ones({4, 4}), y = torch::ones({4, 4});",
)
_IMAGE = GroupedSetup("x = torch.ones((1, 2, 8, 8))", "auto x = torch::ones({1, 2, 8, 8});")
_WORDS = GroupedSetup("x = torch.arange(4)", "auto x = torch::arange(4);")
_SEVERAL = GroupedSetup(
    "a, b, c, d, e, g, h, i = (torch.ones((4, 4)) for _ in range(8))",
    "auto x = torch::ones({4, 4});\nauto a = x.clone(), b = x.clone(), c = x.clone(), "
    "d = x.clone(), e = x.clone(), g = x.clone(), h = x.clone(), i = x.clone();",
)
_LARGE = GroupedSetup(
    "x, y = torch.ones((256, 256)), torch.ones((256, 256))",
    "auto x = torch::ones({256, 256}), y = torch::ones({256, 256});",
)


def _stmt(
    python: str,
    cpp: str,
    args: str = "x, y",
    setup: GroupedSetup = _TENSORS,
    exported: bool | Mapping[str, Any] = True,
    **options: Any,
) -> GroupedBenchmark:
    """A statement, which assigns to ``z``."""
    signature = f"f({args}) -> z"
    return GroupedStmts(python, cpp, setup, signature, exported=exported, **options)


def _same(code: str, args: str = "x, y", **options: Any) -> GroupedBenchmark:
    """An expression that is the same in both languages."""
    return _stmt(f"z = {code}", f"auto z = {code};", args, **options)


def _model(
    python: str, cpp: str, setup: GroupedSetup = _TENSORS, **options: Any
) -> GroupedBenchmark:
    """A module, which is called with ``x``."""
    return GroupedModules(
        f"model = torch.nn.{python}.eval()",
        f"{cpp}\nmodel->eval();",
        setup,
        "f(x) -> z",
        exported=True,
        **options,
    )


_LAYERS = ", ".join(["{nn}Linear(4, 4), {nn}ReLU()"] * 2 + ["{nn}Linear(4, 4)"])
_BLOCK = """\
h = torch.layer_norm(x, (4,))
scores = (h.mm(y) / 2).softmax(-1)
z = x + scores.mm(h).mm(y)
"""
_CPP_BLOCK = """\
auto h = torch::layer_norm(x, {4});
auto scores = (h.mm(y) / 2).softmax(-1);
auto z = x + scores.mm(h).mm(y);
"""

EXPORTED: Definition = {
    "Pointwise": {
        "One": _same("x + y"),
        "Chain of 4": _same("((x + y) * 2).sin().relu()"),
        "Chain of 16": _same("x" + " * y + x" * 8),
        "Broadcast": _same("x + y[0]"),
        "View": _same("x.t().reshape(-1)", "x"),
        "Three outputs": _stmt(
            "z = (x + y, x - y, x * y)", "auto z = std::make_tuple(x + y, x - y, x * y);"
        ),
        "In place": _stmt("x.mul_(1)\nz = x + 1", "x.mul_(1);\nauto z = x + 1;", "x"),
    },
    "Reduction": {
        "Sum": _same("(x * y).sum()"),
        "Mean of rows": _same("(x - y).mean(1)"),
        "Softmax": _same("(x + y).softmax(-1)"),
        "Layer norm": _stmt(
            "z = torch.layer_norm(x + y, (4,))", "auto z = torch::layer_norm(x + y, {4});"
        ),
        "Arg max": _same("(x * y).argmax(1)"),
    },
    "MatMul": {
        "mm": _same("x.mm(y)"),
        "Fused": _same("x.mm(y).relu() + x"),
        "Linear": _stmt(
            "z = torch.nn.functional.linear(x, y, y[0])", "auto z = torch::linear(x, y, y[0]);"
        ),
        "Batched": _same("x.unsqueeze(0).bmm(y.unsqueeze(0))"),
        "Attention": _stmt(
            "h = x.unsqueeze(0).unsqueeze(0)\n"
            "z = torch.nn.functional.scaled_dot_product_attention(h, h, h)",
            "auto h = x.unsqueeze(0).unsqueeze(0);\n"
            "auto z = at::scaled_dot_product_attention(h, h, h);",
            "x",
        ),
        "Attention block": _stmt(_BLOCK, _CPP_BLOCK),
    },
    "Modules": {
        "Linear": _model("Linear(4, 4)", "torch::nn::Linear model(4, 4);"),
        "MLP": _model(
            f"Sequential({_LAYERS.format(nn='torch.nn.')})",
            f"torch::nn::Sequential model({_LAYERS.format(nn='torch::nn::')});",
            torchscript=True,
            compiled=True,
        ),
        "Conv2d": _model(
            "Conv2d(2, 2, 3)", "torch::nn::Conv2d model(torch::nn::Conv2dOptions(2, 2, 3));", _IMAGE
        ),
        "BatchNorm2d": _model("BatchNorm2d(2)", "torch::nn::BatchNorm2d model(2);", _IMAGE),
        "Embedding": _model("Embedding(8, 4)", "torch::nn::Embedding model(8, 4);", _WORDS),
    },
    "Inputs": {
        "None": _stmt("z = torch.ones(4) + 1", "auto z = torch::ones(4) + 1;", ""),
        "8 tensors": _same(
            "a + b + c + d + e + g + h + i", "a, b, c, d, e, g, h, i", setup=_SEVERAL
        ),
    },
    "Shapes": {
        "Dynamic rows": _same("x * 3 + y", exported={"dynamic_shapes": {"x": (0,), "y": (0,)}}),
        "Dynamic": _same("(x * x).sum(1)", "x", exported={"dynamic_shapes": {"x": (0, 1)}}),
    },
    "Threads": {"Large": _same("(x * y).sin()", setup=_LARGE, num_threads=(1, 2))},
}

BENCHMARKS: FlatIntermediateDefinition = flatten({"Exported": EXPORTED})
