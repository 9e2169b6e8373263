"""AOTInductor: a statement or a module is exported and packaged inside the build, and loaded."""

import attrs

from instruction_counts.core.labels import Language
from instruction_counts.core.runtimes.runtime import ARTEFACT_PATH, Artefact, Grouped, Runtime
from instruction_counts.core.signature import assign, call

_HEADER = "torch/csrc/inductor/aoti_package/model_package_loader.h"

# Code for Valgrind, which has AVX2, whatever this machine has. Precompiled headers of Inductor lie
# outside of our folders, whatever the variable says. A package is linked with the libtorch of its
# build: that of the system, in one folder with Python's library, would be found first.
_SAVING = """
def save(path):
    import os
    import platform
    import sysconfig

    import torch

    settings = {
        "compile_threads": 1,
        "cpp_cache_precompile_headers": False,
        "aot_inductor.precompile_headers": False,
        "cpp.vec_isa_ok": True,
    }
    if platform.machine() == "x86_64":
        settings.update({"cpp.simdlen": 256, "cpp.march": "haswell"})
    module = program
    if not isinstance(program, torch.nn.Module):
        forward = {"forward": staticmethod(program)}
        module = type("Statement", (torch.nn.Module,), forward)()
    for given, (name, sizes) in zip(inputs, dynamic_shapes.items()):
        known = given.dim() if isinstance(given, torch.Tensor) else 0
        if any(size >= known for size in sizes):  # torch would leave it out without a word
            raise ValueError(
                f"exported: {name} has {known} dimensions, so these cannot all vary: {list(sizes)}"
            )
    # DYNAMIC, not AUTO: what turns out to be constant fails, with torch's own words.
    varying = tuple(
        {size: torch.export.Dim.DYNAMIC for size in sizes} or None
        for sizes in dynamic_shapes.values()
    )
    folder = os.path.dirname(os.path.abspath(path))
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")
    libraries = os.path.join(os.path.dirname(torch.__file__), "lib")
    sysconfig.get_config_vars()["LIBDIR"] = libraries
    with torch.no_grad():
        made = torch.export.export(module, inputs, dynamic_shapes=varying)
        torch._inductor.aoti_compile_and_package(
            made, package_path=path, inductor_configs=settings
        )
"""

# As torch._inductor.aoti_load_package does, but for its look at what this machine can do: it would
# compile a test of each instruction set, in each process.
_PY_LOAD = f"""\
from torch._inductor.package.package import AOTICompiledModel

exported = AOTICompiledModel(
    torch._C._aoti.AOTIModelPackageLoader("{ARTEFACT_PATH}", "model", False, 1, -1)
)"""

_ARTEFACT = Artefact(".pt2", _SAVING, is_kept=True)


@attrs.frozen
class Exported(Runtime):
    """Calls the package of the exported statement or module, from Python and from C++."""

    needs: tuple[str, ...] = (
        "torch.export.Dim.DYNAMIC",
        "torch._C._aoti.AOTIModelPackageLoader",
        "torch._inductor.config.cpp.march",  # else it compiles for the machine that it is on
    )
    artefact: Artefact | None = _ARTEFACT
    has_resources: bool = False
    has_backward: bool = False
    imports: tuple[str, ...] = ("torch", "torch._inductor.package")

    def stmt(self, group: Grouped, language: Language) -> str:
        """The call of ``exported``."""
        signature = group.needed_signature
        if language is Language.PYTHON:
            return call("exported", signature)
        args = ", ".join(signature.args)
        return f"{assign(signature, language)}exported.run(std::vector<at::Tensor>{{{args}}});"

    def setup(self, group: Grouped, language: Language) -> str:
        """Load the package as ``exported``; C++ has its tensors alone."""
        del group
        if language is Language.PYTHON:
            return _PY_LOAD
        return f'torch::inductor::AOTIModelPackageLoader exported("{ARTEFACT_PATH}");'

    def global_setup(self) -> str:
        """What declares the loader."""
        return f"#include <vector>\n#include <{_HEADER}>"

    def artefact_source(self, group: Grouped) -> str:
        """The program, its inputs, and for each of these the sizes that vary."""
        signature, (made, name) = group.needed_signature, group.python_program
        inputs = "".join(f"{arg}, " for arg in signature.args).rstrip()
        varying = {arg: tuple(group.dynamic_shapes.get(arg, ())) for arg in signature.args}
        return (
            f"import torch\n\n{group.inputs(Language.PYTHON)}\n{made}\n"
            f"program, inputs, dynamic_shapes = {name}, ({inputs}), {varying!r}\n"
        )
