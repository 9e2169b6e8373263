"""The cases of ``benchmarks.detect``: functions, modules, an optimizer and backward passes."""

from core.api import GroupedSetup, GroupedStmts
from core.utils import flatten

ARGUMENTS = {
    "add": "x, y",
    "addmm": "v, x, y",
    "argmax": "x",
    "bmm": "a, a",
    "cat": "{x, y}",
    "cumsum": "x, 1",
    "div": "x, y",
    "exp": "x",
    "gather": "x, 1, index",
    "mm": "x, y",
    "mul": "x, y",
    "relu": "x",
    "softmax": "x, 1",
    "sum": "x",
}
"""Functions of torch that both languages have."""

PYTHON = {
    "nn.functional.relu": "torch.nn.functional.relu(x)",
    "nn.functional.softmax": "torch.nn.functional.softmax(x, 1)",
    "nn.LayerNorm": "layer_norm(x)",
    "nn.Linear": "linear(x)",
    "nn.Sequential": "sequential(x)",
    "split": "x.split(2)",
    "rsub": "1 - x",
    "Function": "Double.apply(x)",
    "Function, backward": "Double.apply(w).sum().backward()",
    "backward": "w.mul(w).sum().backward()",
    "SGD.step": "optimizer.step()",
    "SGD.zero_grad": "optimizer.zero_grad()",
    "training": """
        optimizer.zero_grad()
        sequential(x).sum().backward()
        optimizer.step()
        """,
}
"""What only the cases in Python execute."""

CPP = {
    "nn::functional::relu": "torch::nn::functional::relu(x);",
    "nn::LayerNorm": "layer_norm(x);",
    "nn::Linear": "linear(x);",
    "nn::Sequential": "sequential->forward(x);",
    "backward (C++)": "w.mul(w).sum().backward();",
    "SGD::step": "optimizer.step();",
    "training (C++)": """
        optimizer.zero_grad();
        sequential->forward(x).sum().backward();
        optimizer.step();
        """,
}

_TENSORS = GroupedSetup(
    """
    x = torch.arange(16.0).view(4, 4) - 8
    y = x + 1
    v, a = torch.ones(4), torch.ones(2, 4, 4)
    index = torch.zeros(4, 4, dtype=torch.int64)
    """,
    """
    auto x = torch::arange(16.0).view({4, 4}) - 8;
    auto y = x + 1;
    auto v = torch::ones({4});
    auto a = torch::ones({2, 4, 4});
    auto index = torch::zeros({4, 4}, torch::kLong);
    """,
)

_NETWORKS = GroupedSetup(
    """
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x + x

        @staticmethod
        def backward(ctx, gradient):
            return gradient + gradient

    x = torch.arange(16.0).view(4, 4) - 8
    w = torch.ones(4, 4, requires_grad=True)
    torch.manual_seed(0)
    layer_norm, linear = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)
    sequential = torch.nn.Sequential(linear, torch.nn.ReLU(), torch.nn.Linear(4, 2))
    optimizer = torch.optim.SGD(sequential.parameters(), lr=1e-6, foreach=False)
    for parameter in sequential.parameters():
        parameter.grad = torch.ones_like(parameter)
    """,
    """
    auto x = torch::arange(16.0).view({4, 4}) - 8;
    auto w = torch::ones({4, 4}, torch::requires_grad());
    auto layer_norm = torch::nn::LayerNorm(torch::nn::LayerNormOptions({4}));
    auto linear = torch::nn::Linear(4, 4);
    auto sequential = torch::nn::Sequential(linear, torch::nn::ReLU(), torch::nn::Linear(4, 2));
    auto optimizer = torch::optim::SGD(sequential->parameters(), 1e-6);
    sequential->forward(x).sum().backward();
    """,
)


def _python(arguments: str) -> str:
    return arguments.replace("{", "[").replace("}", "]")


BENCHMARKS = flatten(
    {
        **{
            name: GroupedStmts(
                f"torch.{name}({_python(arguments)})", f"torch::{name}({arguments});", _TENSORS
            )
            for name, arguments in ARGUMENTS.items()
        },
        **{name: GroupedStmts(stmt, None, _NETWORKS) for name, stmt in PYTHON.items()},
        **{name: GroupedStmts(None, stmt, _NETWORKS) for name, stmt in CPP.items()},
    }
)
