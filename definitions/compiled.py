"""What callers of torch.compile pay: guards, the cache look-up, and what is called behind them.

The tensors are tiny here, too: kernels take little, so that what surrounds them is measured.
Nothing is compiled any more after the first runs of a statement.

They are a set of their own (``--definitions definitions.compiled``) and not part of the standard
suite: not all of their counts are equal in every process yet.
"""

from collections.abc import Mapping
from typing import Any

from core.api import GroupedBenchmark, GroupedModules, GroupedSetup, GroupedStmts
from core.types import Definition, FlatIntermediateDefinition
from core.utils import flatten

_TENSORS = """\
x, y = torch.ones((4, 4)), torch.ones((4, 4))
w = torch.ones((4, 4), requires_grad=True)
"""
_WHOLE = {"fullgraph": True}


def _stmt(
    stmt: str, setup: str = "", args: str = "x, y", options: Mapping[str, Any] | None = None
) -> GroupedBenchmark:
    return GroupedStmts(
        stmt,
        None,
        GroupedSetup(_TENSORS + setup),
        f"f({args}) -> z",
        compiled=_WHOLE if options is None else options,
    )


def _trained(stmt: str, setup: str = "", args: str = "x, w") -> GroupedBenchmark:
    return GroupedStmts(
        stmt,
        None,
        GroupedSetup(_TENSORS + setup),
        f"f({args}) -> z",
        compiled=_WHOLE,
        autograd=True,
    )


def _model(setup: str, args: str = "x", options: Mapping[str, Any] = _WHOLE) -> GroupedBenchmark:
    return GroupedModules(
        setup, setup=GroupedSetup(_TENSORS), signature=f"f({args}) -> z", compiled=options
    )


def _repeated(line: str, times: int) -> str:
    return "\n".join(["z = x", *(line.format(n=n) for n in range(times))])


_ATTENTION = """\
z = torch.nn.functional.scaled_dot_product_attention(x[None, None], y[None, None], y[None, None])
"""
_BLOCK = """\
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(4)
        self.query, self.key, self.value = (torch.nn.Linear(4, 4) for _ in range(3))
        self.out = torch.nn.Linear(4, 4)

    def forward(self, x):
        h = self.norm(x)
        scores = (self.query(h) @ self.key(h).t()).softmax(-1)
        return x + self.out(scores @ self.value(h))

model = Block()
"""
_ATTRIBUTES = """\
class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for number in range({number}):
            setattr(self, f"scale_{{number}}", float(number))

    def forward(self, x):
        for number in range({number}):
            x = x + getattr(self, f"scale_{{number}}")
        return x

model = Scaled()
"""
_MLP = "model = torch.nn.Sequential({})".format(
    ", ".join(["torch.nn.Linear(4, 4), torch.nn.ReLU()"] * 2 + ["torch.nn.Linear(4, 4)"])
)
_PICKED = "z = x[:pick()] * 2"
_SIZES = """\
import itertools

sizes = itertools.cycle((2, 4))

@torch._dynamo.disable
def pick():
    return next(sizes)
"""

COMPILED: Definition = {
    "Pointwise": {
        "One": _stmt("z = x + y"),
        "Chain of 4": _stmt("z = ((x + y) * 2).sin().relu()"),
        "Chain of 32": _stmt(_repeated("z = z * y + {n}", 32)),
        "In place": _stmt("x.mul_(1)\nz = x"),
        "Scalar": _stmt("z = x * scale", "scale = 2.0", "x, scale"),
        "Three outputs": _stmt("z = (x + y, x - y, x * y)"),
        "View": _stmt("z = x.t().reshape(-1)"),
    },
    "Reduction": {
        "Sum": _stmt("z = (x * y).sum()"),
        "Mean of rows": _stmt("z = (x - y).mean(1)"),
        "Softmax": _stmt("z = (x + y).softmax(-1)"),
        "Layer norm": _stmt("z = torch.nn.functional.layer_norm(x + y, (4,))"),
        "Arg max": _stmt("z = (x * y).argmax(1)"),
    },
    "MatMul": {
        "mm": _stmt("z = x @ y"),
        "Fused": _stmt("z = (x @ y).relu() + x"),
        "Attention": _stmt(_ATTENTION),
    },
    "Training": {
        "Pointwise": _trained("z = (x * w).sin().sum()"),
        "MatMul": _trained("z = (x @ w).relu().sum()"),
        "Loss": _trained("z = torch.nn.functional.mse_loss(x @ w, x)"),
        "MLP": _trained("z = model(x).sum()", _MLP, "x"),
        "Attention block": _trained("z = model(x).sum()", _BLOCK, "x"),
    },
    "Modules": {
        "Linear": _model("model = torch.nn.Linear(4, 4)"),
        "MLP": _model(_MLP),
        "Attention block": _model(_BLOCK),
        "Evaluated": _model(
            "model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.ReLU()).eval()"
        ),
    },
    "Guards": {
        "8 tensors": _stmt(
            "z = a + b + c + d + e + g + h + i",
            "a = b = c = d = e = g = h = i = x",
            "a, b, c, d, e, g, h, i",
        ),
        "8 numbers": _stmt(
            "z = x * (a + b + c + d + e + g + h)",
            "a = b = c = d = e = g = h = 1",
            "x, a, b, c, d, e, g, h",
        ),
        "List of 16": _stmt("z = sum(many)", "many = [x.clone() for _ in range(16)]", "many"),
        "Dictionary of 16": _stmt(
            "z = sum(many.values())",
            "many = {str(number): x.clone() for number in range(16)}",
            "many",
        ),
        "Options": _stmt(
            "z = x * options['scale'] if options['scaled'] else x",
            "options = {'scale': 2.0, 'scaled': True}",
            "x, options",
        ),
        "4 attributes": _model(_ATTRIBUTES.format(number=4)),
        "16 attributes": _model(_ATTRIBUTES.format(number=16)),
        "Closure": _stmt("z = x * y + w.detach()", args="x"),
    },
    "Graph breaks": {
        "One": _stmt("z = x + y\ntorch._dynamo.graph_break()\nz = z * 2", options={}),
        "Two": _stmt(
            """
            z = x + y
            torch._dynamo.graph_break()
            z = z * 2
            torch._dynamo.graph_break()
            z = z + x
            """,
            options={},
        ),
        "Disabled function": _stmt(
            "z = plain(x) + y",
            "@torch._dynamo.disable\ndef plain(x):\n    return x * 2",
            options={},
        ),
        "Item": _stmt("z = x * y.sum().item()", options={}),
    },
    "Shapes": {
        "Static": _stmt("z = x * 2 + y", options={"fullgraph": True, "dynamic": False}),
        "Dynamic": _stmt("z = x * 3 + y", options={"fullgraph": True, "dynamic": True}),
        "Recompilation avoided": _stmt(_PICKED, _SIZES, "x", {"dynamic": True}),
        "Recompilation provoked": _stmt(_PICKED + " + 1", _SIZES, "x", {}),
        "Two entries": _stmt(_PICKED + " + 2", _SIZES, "x", {"dynamic": False}),
    },
    "Modes": {
        "Inference mode": _stmt("with torch.inference_mode():\n    z = x * 2 + y"),
        "No grad": _stmt("with torch.no_grad():\n    z = x @ w", args="x, w"),
        "Autocast": _stmt("with torch.autocast('cpu'):\n    z = x @ y"),
    },
    "Backends": {
        "eager": _stmt("z = (x + y).relu()", options={"backend": "eager"}),
        "aot_eager": _stmt("z = (x - y).relu()", options={"backend": "aot_eager"}),
    },
}

BENCHMARKS: FlatIntermediateDefinition = flatten({"Compiled": COMPILED})
