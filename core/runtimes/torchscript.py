"""TorchScript: a statement or a module is scripted inside the build, saved, and loaded."""

import ast

import attrs

from instruction_counts.core.labels import Language
from instruction_counts.core.runtimes.runtime import ARTEFACT_PATH, Artefact, Grouped, Runtime
from instruction_counts.core.signature import Signature, assign, call

CPP_INCLUDES = "#include <vector>\n#include <torch/script.h>"

_PY_LOAD = f"""\
jit_model = torch.jit.load("{ARTEFACT_PATH}")

# The profiling executor specialises during the first calls.
for _ in range(3):
    jit_model({{args}})
"""

_CPP_LOAD = f"""\
auto jit_model = torch::jit::load("{ARTEFACT_PATH}");

// The profiling executor specialises during the first calls.
for (int warm_up_call = 0; warm_up_call < 3; warm_up_call++) {{{{
    std::vector<torch::jit::IValue> warm_up_inputs{{inputs}};
    jit_model.forward(warm_up_inputs);
}}}}
"""


_ARTEFACT = Artefact(".pt", "\nsave = jit_model.save\n")


@attrs.frozen
class TorchScript(Runtime):
    """Calls the scripted statement or module, from Python and from C++."""

    artefact: Artefact | None = _ARTEFACT
    has_resources: bool = False

    def stmt(self, group: Grouped, language: Language) -> str:
        """The call of ``jit_model``."""
        signature = group.needed_signature
        if language is Language.PYTHON:
            return call("jit_model", signature)
        return (
            f"std::vector<torch::jit::IValue> ivalue_inputs{_ivalues(signature)};\n"
            f"{assign(signature, language)}jit_model.forward(ivalue_inputs);"
        )

    def setup(self, group: Grouped, language: Language) -> str:
        """Load the scripted model as ``jit_model``, and warm it up."""
        signature = group.needed_signature
        if language is Language.PYTHON:
            return _PY_LOAD.format(args=", ".join(signature.args))
        return _CPP_LOAD.format(inputs=_ivalues(signature))

    def global_setup(self) -> str:
        """TorchScript's own headers."""
        return CPP_INCLUDES

    def artefact_source(self, group: Grouped) -> str:
        """The Python module, or the Python statement as a function, scripted."""
        setup, (made, name) = group.inputs(Language.PYTHON), group.python_program
        before = _imports(setup) if group.model(Language.PYTHON) is None else f"{setup}\n"
        return f"import torch\n\n{before}{made}\njit_model = torch.jit.script({name})\n"

    def tensor(self, output: str, language: Language) -> str:
        """In C++ a scripted model returns an IValue, whatever it holds."""
        return f"{output}.toTensor()" if language is Language.CPP else output


def _imports(setup: str) -> str:
    # Imports made by the setup are globals of the scripted function; its inputs are arguments.
    try:
        nodes = ast.parse(setup).body
    except (SyntaxError, ValueError):
        return ""  # running the setup reports it, with the line
    imports = [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    return "".join(f"{line}\n" for line in imports) + ("\n" if imports else "")


def _ivalues(signature: Signature) -> str:
    return "{" + ", ".join(f"torch::jit::IValue({name})" for name in signature.args) + "}"
