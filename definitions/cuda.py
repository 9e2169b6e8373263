"""What code for a GPU costs the CPU: Python, dispatcher, autograd, allocator and launches.

No GPU is needed: CUDA's libraries are stand-ins. Where one text serves both devices, a case is
measured on each, and its label ends in the device: ``--only '*/cuda'`` selects. What depends on
values of a tensor is left out, because nothing computes any.

They are a set of their own: ``--definitions definitions.cuda``.
"""

from core.api import GroupedBenchmark, GroupedModules, GroupedSetup, GroupedStmts
from core.labels import CUDA, DEVICES
from core.types import Definition, FlatIntermediateDefinition
from core.utils import flatten, parse_stmts

_TENSORS = """\
import torch.nn.functional as F

x = torch.ones(16, 16, device=device)
y = torch.ones(16, 16, device=device)
v = torch.ones(16, device=device)
"""
_INDICES = "i = torch.zeros(16, dtype=torch.long, device=device)\n"
_BATCH = "a = torch.ones(2, 16, 16, device=device)\nb = torch.ones(2, 16, 16, device=device)\n"
_IMAGES = "images = torch.ones(2, 4, 8, 8, device=device)\n"
_HEADS = "q, k, w = (torch.ones(2, 4, 16, 8, device=device) for _ in range(3))\n"
_MLP = """\
model = torch.nn.Sequential(
    torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16)
).to(device)
"""
_LOSS = "F.mse_loss(model(x), y)"


def _both(stmt: str, setup: str = "") -> GroupedBenchmark:
    """On the CPU, and on CUDA."""
    return GroupedStmts(stmt, setup=GroupedSetup(_TENSORS + setup), device=DEVICES)


def _cuda(stmt: str, setup: str = "") -> GroupedBenchmark:
    """What only CUDA has."""
    return GroupedStmts(stmt, setup=GroupedSetup(_TENSORS + setup), device=CUDA)


def _in_both_languages(columns: str) -> GroupedBenchmark:
    setup = GroupedSetup(
        *parse_stmts(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        x = torch.ones(16, 16, device=device)    | auto x = torch::ones({16, 16}, device);
        y = torch.ones(16, 16, device=device)    | auto y = torch::ones({16, 16}, device);
        """)
    )
    return GroupedStmts(*parse_stmts(columns), setup=setup, device=DEVICES)


def _trained(stmt: str, setup: str = "") -> GroupedBenchmark:
    """Forward, and forward with backward, from weights ``x`` and ``v``."""
    weights = "x.requires_grad_()\nv.requires_grad_()\n"
    return GroupedStmts(
        f"z = {stmt}",
        setup=GroupedSetup(_TENSORS + weights + setup),
        signature="f(x) -> z",
        autograd=True,
        device=DEVICES,
    )


def _module(setup: str, inputs: str = "") -> GroupedBenchmark:
    return GroupedModules(
        f"model = {setup}.to(device)",
        setup=GroupedSetup(_TENSORS + inputs),
        signature="f(x) -> z",
        device=DEVICES,
    )


def _optimizer(made: str) -> GroupedBenchmark:
    setup = f"{_MLP}{_LOSS}.backward()\noptimizer = torch.optim.{made}\n"
    return _both("optimizer.step()", setup)


CREATION: Definition = {
    "empty": _both("torch.empty(16, device=device)"),
    "zeros": _both("torch.zeros(16, device=device)"),
    "full": _both("torch.full((16,), 2.0, device=device)"),
    "arange": _both("torch.arange(16, device=device)"),
    "eye": _both("torch.eye(4, device=device)"),
    "From a list": _both("torch.tensor([1.0, 2.0], device=device)"),
    "empty_like": _both("torch.empty_like(x)"),
    "Beyond a segment": _both("torch.empty(1 << 22, device=device)"),
    "rand": _both("torch.rand(16, device=device)"),
}

POINTWISE: Definition = {
    "add": _in_both_languages(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        z = x + y                                | auto z = x + y;
    """),
    "In place": _in_both_languages(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        x.mul_(1)                                | x.mul_(1);
    """),
    "Chain": _in_both_languages(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        z = ((x + y) * 2).sin().relu()           | auto z = ((x + y) * 2).sin().relu();
    """),
    "Scalar": _both("x * 2"),
    "Broadcast": _both("x + v"),
    "Promotion": _both("x + i", _INDICES),
    "where": _both("torch.where(x > 0, x, y)"),
    "clamp": _both("x.clamp(0, 1)"),
    "Comparison": _both("x == y"),
    "To half": _both("x.half()"),
    "Half": _both("h * h", "h = x.half()\n"),
    "For each": _both("torch._foreach_mul(many, 1.0)", "many = [x.clone() for _ in range(8)]\n"),
}

REDUCTIONS: Definition = {
    "sum": _both("x.sum()"),
    "sum of rows": _both("x.sum(1)"),
    "mean": _both("x.mean()"),
    "max": _both("x.max()"),
    "argmax": _both("x.argmax(1)"),
    "norm": _both("x.norm()"),
    "var": _both("x.var(1)"),
    "logsumexp": _both("x.logsumexp(1)"),
    "cumsum": _both("x.cumsum(0)"),
    "topk": _both("x.topk(3)"),
    "sort": _both("x.sort(1)"),
}

INDEXING: Definition = {
    "Slice": _both("x[1:3]"),
    "Indices": _both("x[i]", _INDICES),
    "index_select": _both("x.index_select(0, i)", _INDICES),
    "gather": _both("x.gather(0, i.view(1, 16))", _INDICES),
    "index_add_": _both("x.index_add_(0, i, y, alpha=0)", _INDICES),
    "masked_fill": _both("x.masked_fill(x > 0, 0.0)"),
    "Assignment": _both("x[1:3] = 1.0"),
}

VIEWS: Definition = {
    "view": _both("x.view(-1)"),
    "Transposed": _both("x.t()"),
    "contiguous": _both("x.t().contiguous()"),
    "cat": _both("torch.cat([x, y])"),
    "stack": _both("torch.stack([x, y])"),
    "split": _both("x.split(4)"),
    "repeat": _both("x.repeat(2, 2)"),
}

PRODUCTS: Definition = {
    "mm": _in_both_languages(r"""
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        z = torch.mm(x, y)                       | auto z = torch::mm(x, y);
    """),
    "mm in half": _both("h.mm(h)", "h = x.half()\n"),
    "mv": _both("x.mv(v)"),
    "bmm": _both("torch.bmm(a, b)", _BATCH),
    "addmm": _both("torch.addmm(v, x, y)"),
    "linear": _both("F.linear(x, y, v)"),
    "einsum": _both("torch.einsum('ij,jk->ik', x, y)"),
}

NETWORKS: Definition = {
    "relu": _both("F.relu(x)"),
    "gelu": _both("F.gelu(x)"),
    "softmax": _both("F.softmax(x, 1)"),
    "dropout": _both("F.dropout(x)"),
    "layer_norm": _both("F.layer_norm(x, (16,), v, v)"),
    "rms_norm": _both("F.rms_norm(x, (16,), v)"),
    "group_norm": _both("F.group_norm(images, 2)", _IMAGES),
    "batch_norm": _both("F.batch_norm(images, None, None, training=True)", _IMAGES),
    "conv2d": _both(
        "F.conv2d(images, weight)", _IMAGES + "weight = torch.ones(4, 4, 3, 3, device=device)\n"
    ),
    "max_pool2d": _both("F.max_pool2d(images, 2)", _IMAGES),
    "interpolate": _both("F.interpolate(images, scale_factor=2)", _IMAGES),
    "embedding": _both("F.embedding(i, x)", _INDICES),
    "attention": _both("F.scaled_dot_product_attention(q, k, w)", _HEADS),
    "attention in half": _both(
        "F.scaled_dot_product_attention(q, k, w)", f"{_HEADS}q, k, w = q.half(), k.half(), w.half()"
    ),
    "rfft": _both("torch.fft.rfft(x)"),
    "cross_entropy": _both("F.cross_entropy(x, i)", _INDICES),
    "mse_loss": _both("F.mse_loss(x, y)"),
}

MODULES: Definition = {
    "Linear": _module("torch.nn.Linear(16, 16)"),
    "LayerNorm": _module("torch.nn.LayerNorm(16)"),
    "MLP": _module("torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU())"),
    "LSTM": _module("torch.nn.LSTM(16, 16)"),
    "TransformerEncoderLayer": _module("torch.nn.TransformerEncoderLayer(16, 2, 16)"),
}

BACKWARD: Definition = {
    "Pointwise": _trained("(x * v).sum()"),
    "Product": _trained("torch.mm(x, y).sum()"),
    "linear": _trained("F.linear(y, x, v).sum()"),
    "layer_norm": _trained("F.layer_norm(x, (16,), v).sum()"),
    "softmax": _trained("F.softmax(x, 1).sum()"),
    "cross_entropy": _trained("F.cross_entropy(x, i)", _INDICES),
}

TRAINING: Definition = {
    "Backward of an LSTM": _both(
        "model(x)[0].sum().backward()", "model = torch.nn.LSTM(16, 16).to(device)\n"
    ),
    "Backward of an MLP": _both(f"{_LOSS}.backward()", _MLP),
    "SGD": _optimizer("SGD(model.parameters(), lr=0.1)"),
    "SGD with momentum": _optimizer("SGD(model.parameters(), lr=0.1, momentum=0.9)"),
    "AdamW": _optimizer("AdamW(model.parameters())"),
    "AdamW, each by itself": _optimizer("AdamW(model.parameters(), foreach=False)"),
    "AdamW, fused": _optimizer("AdamW(model.parameters(), fused=True)"),
    "zero_grad": _both(
        "optimizer.zero_grad(set_to_none=False)",
        f"{_MLP}{_LOSS}.backward()\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n",
    ),
    "clip_grad_norm_": _both(
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", f"{_MLP}{_LOSS}.backward()\n"
    ),
    "Step": _both(
        f"optimizer.zero_grad()\n{_LOSS}.backward()\noptimizer.step()",
        f"{_MLP}optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n",
    ),
    "Autocast": _both("with torch.autocast(device, torch.bfloat16):\n    model(x)", _MLP),
    "Scaled step": _cuda(
        f"""
optimizer.zero_grad()
scaler.scale({_LOSS}).backward()
scaler.step(optimizer)
scaler.update()
""",
        f"{_MLP}optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "scaler = torch.amp.GradScaler(device)\n",
    ),
}

COPIES: Definition = {
    "To the device": _cuda("host.to(device)", "host = torch.ones(16)\n"),
    "To the device, pinned": _cuda(
        "host.to(device, non_blocking=True)", "host = torch.ones(16).pin_memory()\n"
    ),
    "To the host": _cuda("x.cpu()"),
    "Item": _cuda("v[0].item()"),
    "Clone": _cuda("x.clone()"),
    "copy_": _cuda("x.copy_(y)"),
}

STREAMS: Definition = {
    "Current stream": _cuda("torch.cuda.current_stream()"),
    "Synchronize": _cuda("torch.cuda.synchronize()"),
    "On another stream": _cuda(
        "with torch.cuda.stream(stream):\n    x + y", "stream = torch.cuda.Stream()\n"
    ),
    "Waiting for a stream": _cuda(
        "stream.wait_stream(torch.cuda.current_stream())", "stream = torch.cuda.Stream()\n"
    ),
    "Event": _cuda("event.record()\nevent.synchronize()", "event = torch.cuda.Event()\n"),
    "Memory allocated": _cuda("torch.cuda.memory_allocated()"),
}

_GRAPH = """\
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    z = (x + y).relu()
"""

GRAPHS: Definition = {
    "Replay": _cuda("graph.replay()", _GRAPH),
    "Capture": _cuda(
        "graph.reset()\nwith torch.cuda.graph(graph):\n    z = (x + y).relu()", _GRAPH
    ),
}

BENCHMARKS: FlatIntermediateDefinition = flatten(
    {
        "Creation": CREATION,
        "Pointwise": POINTWISE,
        "Reduction": REDUCTIONS,
        "Indexing": INDEXING,
        "Views": VIEWS,
        "Products": PRODUCTS,
        "Networks": NETWORKS,
        "Modules": MODULES,
        "Backward": BACKWARD,
        "Training": TRAINING,
        "Copies": COPIES,
        "Streams": STREAMS,
        "Graphs": GRAPHS,
    }
)
