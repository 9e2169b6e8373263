"""A torch of two functions: its library needs some of CUDA's, as the libraries of a real one do."""

import shutil
from pathlib import Path

from tests.engines.compiled_c import compile_c

_CUDA = {
    "libcudart.so.13": (
        "libcudart.so.13",
        "int cudaGetDeviceCount(int *n) { return *n = 0; } int cudaUnheardOf(int n) { return n; }",
    ),
    "libnccl.so.2": ("", "int ncclSend(void) { return 0; }"),
}
"""By SONAME: the version of its symbols, and what a real library would have, as far as needed."""

_TORCH = """\
int cudaGetDeviceCount(int *count);
int cudaUnheardOf(int number);
int ncclSend(void);

int devices(void)
{
    int count = 0;
    return cudaGetDeviceCount(&count) == 0 ? count : -1;
}

int unheard_of(void) { return cudaUnheardOf(1); }
int send(void) { return ncclSend(); }
"""

_LOOKING_UP = 'const char *names[] = {"cuMemCreate", "nvmlInit_v2", "cudaFree", "cuBLAS"};'

_PACKAGE = """\
import ctypes, os
library = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "lib", "libtorch_cuda.so"))
"""


def make_fake_torch(folder: Path) -> Path:
    """A package ``torch`` in ``folder``; returns the folder of its libraries.

    CUDA's libraries are there only while it is linked.
    """
    libraries, linked = folder / "torch" / "lib", folder / "linked"
    libraries.mkdir(parents=True)
    linked.mkdir()
    for soname, (version, functions) in _CUDA.items():
        _compile_real(linked, soname, version, functions)
    (linked / "torch.c").write_text(_TORCH, encoding="utf-8")
    compile_c(
        *("-shared", "-fPIC", "-o", libraries / "libtorch_cuda.so", linked / "torch.c"),
        *(linked / soname for soname in _CUDA),
    )
    (linked / "c10.c").write_text(_LOOKING_UP, encoding="utf-8")
    compile_c("-shared", "-fPIC", "-o", libraries / "libc10_cuda.so", linked / "c10.c")
    shutil.rmtree(linked)
    (folder / "torch" / "__init__.py").write_text(_PACKAGE, encoding="utf-8")
    text = "__version__ = '2.15.0'\ncuda: str = '13.2'\n"
    (folder / "torch" / "version.py").write_text(text, encoding="utf-8")
    return libraries


def _compile_real(folder: Path, soname: str, version: str, functions: str) -> None:
    source, script = folder / f"{soname}.c", folder / f"{soname}.map"
    source.write_text(functions, encoding="utf-8")
    options = [f"-Wl,-soname,{soname}"]
    if version:
        script.write_text(f"{version} {{ global: *; }};\n", encoding="utf-8")
        options.append(f"-Wl,--version-script={script}")
    compile_c("-shared", "-fPIC", *options, "-o", folder / soname, source)
