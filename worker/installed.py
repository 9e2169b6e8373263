"""Which Python this is, and which torch is installed beside it, or why there is none."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import platform
import re
import sys
from pathlib import Path
from typing import Any

from .main import MeasurementError, cpu_capability, line_with

Message = dict[str, Any]


class RefusalError(MeasurementError):
    """A task that this build cannot carry out, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__({"kind": "refused", "message": message, "hint": hint})
        self.message, self.hint = message, hint


def torch_folder() -> Path:
    """Where it lies, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        raise RefusalError(
            "%s has no torch" % sys.executable,
            "%s -m pip install torch     or name another build" % sys.executable,
        )
    return Path(spec.origin).parent


def import_torch() -> Any:
    """It, or a refusal with the reason."""
    torch_folder()
    try:
        import torch
    except Exception as error:  # a broken torch fails in many ways
        message = "cannot import torch: %s: %s" % (type(error).__name__, error)
        hint = "The error is torch's own; all of it:  %s -c 'import torch'" % sys.executable
        raise RefusalError(message, hint) from error
    return torch


def summary(error: BaseException) -> str:
    """The type of an error, and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def identify(request: Message) -> Message:
    """What it is for the ``fingerprint``, and where its ``parts`` and its ``places`` are.

    Refused where torch cannot be imported.
    """
    places = [sys.prefix, sys.base_prefix]
    if not getattr(sys.flags, "safe_path", False):
        places.append("")  # a command has it where a script has its folder, which is off the path
    places += sys.path
    torch = import_torch()
    found = _torch_identity(torch)
    root = Path(found["parts"]["torch_root"])
    found["parts"]["cuda"] = cuda_of(root)
    found["parts"]["lacks_cuda_libraries"] = has_stand_ins = "stand_ins" in request
    found["parts"]["has"] = {name: has(torch, name) for name in request["names"]}
    found["fingerprint"]["gpu"] = "" if has_stand_ins else gpu()
    return {**found, "places": places}


def has(torch: Any, name: str) -> bool:
    """Whether a name, such as ``torch.compile``, leads to something."""
    try:
        functools.reduce(getattr, name.split(".")[1:], torch)
    except AttributeError:
        return False
    return True


def cuda_libraries(request: Message) -> Message:
    """Where torch's libraries lie, and what of CUDA they are for, without importing it."""
    del request
    root = torch_folder()
    return {"folder": str(root / "lib"), "versions": cuda_of(root)}


def cuda_of(root: Path) -> Message | None:
    """The versions of CUDA and cuDNN that torch was built with, as far as known; None of others."""
    try:
        text = (root / "version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    cuda = re.search(r"^cuda\b[^=]*= *['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return {"cuda": cuda.group(1), "cudnn": _cudnn_version()} if cuda else None


def gpu() -> str:
    """The first device that torch reaches through CUDA's own libraries; empty where none is."""
    import torch

    try:
        return torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    except (RuntimeError, AssertionError):  # a driver that does not suit, or a device in trouble
        return ""


def _cudnn_version() -> str:
    # Only what is installed with torch says it; a torch of a distribution is built with another.
    try:
        required = importlib.metadata.requires("torch") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    named = (re.match(r"nvidia[-_]cudnn[-_]cu\d+ *==([\d.]+)", entry) for entry in required)
    return next((found.group(1) for found in named if found), "")


def _torch_identity(torch: Any) -> Message:
    from torch.utils import cpp_extension

    root = Path(torch.__file__).parent
    includes = [path for path in cpp_extension.include_paths() if Path(path).is_dir()]
    fingerprint = {
        "torch": torch.__version__,
        "torch_git": getattr(torch.version, "git_version", None) or "",
        "torch_debug": bool(torch.version.debug),
        "torch_settings": line_with(torch.__config__.show(), "Build settings"),
        "cxx11_abi": bool(torch._C._GLIBCXX_USE_CXX11_ABI),
        "parallel": line_with(torch.__config__.parallel_info(), "ATen parallel backend"),
        "capability": cpu_capability(torch),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": platform.machine(),
        "libc": "-".join(platform.libc_ver()),
    }
    parts = {
        "torch_root": str(root),
        "include_paths": includes,
        "library_paths": cpp_extension.library_paths(),
        "has_cpp_headers": any((Path(path) / "torch" / "torch.h").exists() for path in includes),
        "valgrind_headers": str(root / "utils" / "benchmark" / "utils" / "valgrind_wrapper"),
    }
    return {"fingerprint": fingerprint, "parts": parts}
