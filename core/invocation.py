"""The code that we write around what the user wrote: model calls, warm-up, backward."""

from __future__ import annotations

import ast
import textwrap

from core.signature import Signature
from core.types import AutogradMode, Language, RuntimeMode

MODEL_PATH = "@TORCHSCRIPT_MODEL_PATH@"
"""Placeholder in a setup for the file of the scripted model, which the worker makes."""

_PY_LOAD = f"""\
jit_model = torch.jit.load("{MODEL_PATH}")

# The profiling executor specialises during the first calls.
for _ in range(3):
    jit_model({{args}})
"""

_CPP_LOAD = f"""\
auto jit_model = torch::jit::load("{MODEL_PATH}");

// The profiling executor specialises during the first calls.
for (int warm_up_call = 0; warm_up_call < 3; warm_up_call++) {{{{
    std::vector<torch::jit::IValue> warm_up_inputs{{inputs}};
    jit_model.forward(warm_up_inputs);
}}}}
"""

CPP_TORCHSCRIPT_INCLUDES = "#include <vector>\n#include <torch/script.h>"


def call_model(signature: Signature, runtime: RuntimeMode, language: Language) -> str:
    """The statement that calls ``model`` (eager) or ``jit_model`` (TorchScript)."""
    args = ", ".join(signature.args)
    if language is Language.PYTHON:
        name = "model" if runtime is RuntimeMode.EAGER else "jit_model"
        return f"{_assign(signature, '')}{name}({args})"
    if runtime is RuntimeMode.EAGER:
        return f"{_assign(signature, 'auto ')}model->forward({args});"
    return (
        f"std::vector<torch::jit::IValue> ivalue_inputs{_ivalues(signature)};\n"
        f"{_assign(signature, 'auto ')}jit_model.forward(ivalue_inputs);"
    )


def load_model(signature: Signature, language: Language) -> str:
    """Setup code that loads the scripted model as ``jit_model`` and warms it up."""
    if language is Language.PYTHON:
        return _PY_LOAD.format(args=", ".join(signature.args))
    return _CPP_LOAD.format(inputs=_ivalues(signature))


def with_backward(
    stmt: str,
    signature: Signature,
    runtime: RuntimeMode,
    autograd: AutogradMode,
    cpp: bool,
    gradient: str = "",
) -> str:
    """``stmt``, followed by the backward pass from the output where ``autograd`` asks for it.

    ``gradient`` names the gradient of the output; a scalar needs none.
    """
    if autograd is not AutogradMode.FORWARD_BACKWARD:
        return stmt
    # A scripted model returns an IValue in C++, whatever it holds.
    tensor = ".toTensor()" if cpp and runtime is RuntimeMode.JIT else ""
    return f"{stmt}\n{signature.output}{tensor}.backward({gradient}){';' if cpp else ''}"


def stmt_model_source(stmt: str, setup: str, signature: Signature) -> str:
    """Python source that defines ``jit_model``: a statement, scripted as a function."""
    returned = "" if signature.output is None else f"\n    return {signature.output}"
    body = textwrap.indent(stmt, " " * 4)
    return (
        f"import torch\n\n{_setup_imports(setup)}"
        f"def f({', '.join(signature.args)}):\n{body}{returned}\n\n"
        "jit_model = torch.jit.script(f)\n"
    )


def module_model_source(model_setup: str, setup: str) -> str:
    """Python source that defines ``jit_model``: a module, scripted."""
    return f"import torch\n\n{setup}\n{model_setup}\n\njit_model = torch.jit.script(model)\n"


def _setup_imports(setup: str) -> str:
    # Imports made by the setup are globals of the scripted function; its inputs are arguments.
    try:
        nodes = ast.parse(setup).body
    except (SyntaxError, ValueError):
        return ""  # running the setup reports it, with the line
    imports = [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    return "".join(f"{line}\n" for line in imports) + ("\n" if imports else "")


def _assign(signature: Signature, keyword: str) -> str:
    return "" if signature.output is None else f"{keyword}{signature.output} = "


def _ivalues(signature: Signature) -> str:
    return "{" + ", ".join(f"torch::jit::IValue({name})" for name in signature.args) + "}"
