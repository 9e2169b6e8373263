"""What happens only once in a process: importing, first calls, making modules, tracing.

Each case is counted in processes of its own, where nothing warmed it up. Functions are traced by
Dynamo alone (the backend ``eager``), by AOTAutograd, too (``aot_eager``), or down to the C++ code
of Inductor, which no compiler sees.

They are a set of their own (``--definitions definitions.once``), as they take minutes.
"""

from core.api import GroupedOnce, TimerArgs
from core.types import Definition, FlatIntermediateDefinition
from core.utils import flatten

_TRACES = ("torch", "torch._dynamo", "torch._functorch.aot_autograd", "torch.export")


def _traced(function: str, call: str = "x", options: str = 'backend="eager"') -> TimerArgs:
    """The first call of a function that is compiled, in a process that compiled another before."""
    warm_up = f"torch.compile(lambda x: x + 1, {options})(torch.ones(2))"
    made = f"f = torch.compile(f, {options})"
    setup = f"x = torch.ones(4, 4)\n{warm_up}\n{function}\n{made}"
    return GroupedOnce(f"f({call})", setup, _TRACES)


def _generated(function: str) -> TimerArgs:
    """Inductor's Python: from the function to the code of its kernels, which is not compiled."""
    setup = (
        "from torch._inductor import config\nfrom torch._inductor.utils import get_code\n"
        # Without caches on disk, for one instruction set, and without compiling to try it.
        "config.force_disable_caches = config.cpp.vec_isa_ok = True\nconfig.cpp.simdlen = 256\n"
        "x = torch.ones(4, 4)\nget_code(torch.compile(lambda x: x + 1), torch.ones(2))\n"
        f"{function}\nf = torch.compile(f)"
    )
    return GroupedOnce("get_code(f, x)", setup, (*_TRACES, "torch._inductor.compile_fx"))


_CHAIN = """\
def f(x):
    for _ in range(100):
        x = x + 1
    return x
"""
_MODULES = "f = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(50)))"
_INPUTS = """\
inputs = {f"x{number}": torch.ones(4) for number in range(100)}

def f(inputs):
    return sum(inputs.values())
"""
_NESTED = """\
def f(x):
    def outer(scale):
        def inner(y):
            return y * scale + x
        return inner
    for number in range(20):
        x = outer(number)(x)
    return x
"""
_SIZES = """\
def f(x):
    for number in range(1, 20):
        x = x.reshape(-1, x.shape[-1]) + x.shape[0] * number
    return x
"""
_SOFTMAX = """\
def f(x):
    return torch.nn.functional.gelu(x @ x).softmax(-1).sum(0)
"""
_MLP = """\
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
x = torch.ones(2, 8)
"""

_ONCE: Definition = {
    "import": {
        "torch": GroupedOnce("import torch", imports=()),
        "Inductor": GroupedOnce("import torch._inductor.compile_fx"),
        "export": GroupedOnce("import torch.export"),
    },
    "first call": {
        "add": GroupedOnce("x + x", "x = torch.ones(4, 4)"),
        "mm": GroupedOnce("torch.mm(x, x)", "x = torch.ones(4, 4)"),
        "conv2d": GroupedOnce(
            "torch.nn.functional.conv2d(x, w)",
            "x, w = torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3)",
        ),
        "fft": GroupedOnce("torch.fft.fft(x)", "x = torch.ones(16)"),
        "backward": GroupedOnce(
            "y.backward()", "x = torch.ones(4, requires_grad=True)\ny = (x * x).sum()"
        ),
        "Adam step": GroupedOnce(
            "optimizer.step()",
            "w = torch.ones(4, requires_grad=True)\nw.sum().backward()\n"
            "optimizer = torch.optim.Adam([w])",
        ),
    },
    "make": {
        "Linear": GroupedOnce("torch.nn.Linear(8, 8)"),
        "TransformerEncoderLayer": GroupedOnce("torch.nn.TransformerEncoderLayer(16, 2)"),
    },
    "load": {
        "state dict": GroupedOnce(
            'torch.load(stream, map_location="cpu", weights_only=True)',
            "import io\nstream = io.BytesIO()\n"
            "torch.save(torch.nn.Linear(8, 8).state_dict(), stream)\nstream.seek(0)",
        ),
    },
    "trace": {
        "100 additions": _traced(_CHAIN),
        "50 modules": _traced(_MODULES),
        "100 inputs in a dictionary": _traced(_INPUTS, "inputs"),
        "nested functions": _traced(_NESTED),
        "symbolic sizes": _traced(_SIZES, options='backend="eager", dynamic=True'),
        "100 additions, AOTAutograd": _traced(_CHAIN, options='backend="aot_eager"'),
        "product and reductions, Inductor": _generated(_SOFTMAX),
        "export": GroupedOnce("torch.export.export(model, (x,))", _MLP, _TRACES),
    },
}

BENCHMARKS: FlatIntermediateDefinition = flatten(_ONCE)
