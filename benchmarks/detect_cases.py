"""The cases of ``benchmarks.detect``: one function of torch each, in Python and in C++."""

from core.api import GroupedSetup, GroupedStmts
from core.utils import flatten

ARGUMENTS = {
    "abs": "x",
    "add": "x, y",
    "addmm": "v, x, y",
    "amax": "x",
    "argmax": "x",
    "bmm": "a, a",
    "cat": "{x, y}",
    "clamp_min": "x, 0.5",
    "cumsum": "x, 1",
    "div": "x, y",
    "exp": "x",
    "flip": "x, {0}",
    "gather": "x, 1, index",
    "gt": "x, y",
    "maximum": "x, y",
    "mm": "x, y",
    "mul": "x, y",
    "neg": "x",
    "relu": "x",
    "softmax": "x, 1",
    "sort": "x",
    "stack": "{x, y}",
    "sum": "x",
    "where": "x > 0, x, y",
}

_SETUP = GroupedSetup(
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


def _python(arguments: str) -> str:
    return arguments.replace("{", "[").replace("}", "]")


BENCHMARKS = flatten(
    {
        name: GroupedStmts(
            f"torch.{name}({_python(arguments)})", f"torch::{name}({arguments});", _SETUP
        )
        for name, arguments in ARGUMENTS.items()
    }
)
