"""Which Python and torch this is."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from .installed import import_torch
from .main import Message, cpu_capability, line_with


def identify(request: Message) -> Message:
    """Which Python and torch this is; refused where torch cannot be imported."""
    del request
    identity = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": platform.machine(),
        "libc": "-".join(platform.libc_ver()),
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        # A command has an empty path where a script has its folder, which is off the path here.
        "search_path": [*([] if getattr(sys.flags, "safe_path", False) else [""]), *sys.path],
    }
    return {**identity, "torch": _torch_identity(import_torch())}


def _torch_identity(torch: Any) -> Message:
    from torch.utils import cpp_extension

    root = Path(torch.__file__).parent
    includes = [path for path in cpp_extension.include_paths() if Path(path).is_dir()]
    return {
        "version": torch.__version__,
        "git_version": getattr(torch.version, "git_version", None) or "",
        "debug": bool(torch.version.debug),
        "cxx11_abi": bool(torch._C._GLIBCXX_USE_CXX11_ABI),
        "capability": cpu_capability(torch),
        "parallel": line_with(torch.__config__.parallel_info(), "ATen parallel backend"),
        "build_settings": line_with(torch.__config__.show(), "Build settings"),
        "root": str(root),
        "include_paths": includes,
        "library_paths": cpp_extension.library_paths(),
        "cpp_headers": any((Path(path) / "torch" / "torch.h").exists() for path in includes),
        "valgrind_headers": str(root / "utils" / "benchmark" / "utils" / "valgrind_wrapper"),
    }
