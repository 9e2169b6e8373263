"""Tells what an installed torch offers, in the interpreter of the build that is asked.

This one file is all that a build needs: it imports the standard library, and torch inside
functions, and nothing else of this project. It runs on Python 3.9 and later. It is started with
the path of a request and the path of its answer, both JSON; the key ``question`` says which:

- ``locate``: where torch lies and what tells one torch from another, without importing it.
- ``schemas``: every schema of the namespace aten.
- ``capability``: what one core of this machine can do.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

Message = Dict[str, Any]
_NAMESPACE = "aten::"
_KIB, _MIB = 1 << 10, 1 << 20


class RefusalError(Exception):
    """A question that this build cannot answer, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Answer the one question that the request file holds."""
    request_path, answer_path = sys.argv[1:] if argv is None else argv
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    questions = {"locate": locate, "schemas": schemas, "capability": capability}
    try:
        answer = {"status": "ok", **questions[request["question"]](request)}
    except RefusalError as error:
        answer = {"status": "failed", "message": error.message, "hint": error.hint}
    Path(answer_path).write_text(json.dumps(answer, allow_nan=False), encoding="utf-8")
    return 0


# ---------------------------------------------------------------------------------------------
# Which torch this is
# ---------------------------------------------------------------------------------------------


def locate(request: Message) -> Message:
    """The folder of torch, its version file, and size and time of its libraries."""
    del request
    root = _root()
    version = root / "version.py"
    libraries = [*root.glob("_C*.so"), *root.glob("lib/libtorch*.so*")]
    return {
        "root": str(root),
        "version": version.read_text(encoding="utf-8") if version.exists() else "",
        "files": [
            [str(path), path.stat().st_size, path.stat().st_mtime_ns]
            for path in sorted(libraries)
            if path.exists()
        ],
    }


def _root() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        raise RefusalError(
            "%s has no torch" % sys.executable,
            "%s -m pip install torch     or name another build" % sys.executable,
        )
    return Path(spec.origin).parent


def _torch() -> Any:
    _root()
    try:
        import torch
    except Exception as error:  # a broken torch fails in many ways
        message = "cannot import torch: %s: %s" % (type(error).__name__, error)
        raise RefusalError(message, "%s -c 'import torch' shows more." % sys.executable) from error
    return torch


def _identity(torch: Any) -> Message:
    return {
        "torch_version": str(torch.__version__),
        "git_version": getattr(torch.version, "git_version", None) or "",
    }


# ---------------------------------------------------------------------------------------------
# Schemas
# ---------------------------------------------------------------------------------------------


def schemas(request: Message) -> Message:
    """Every schema of the namespace aten, with its arguments as the dispatcher knows them."""
    del request
    torch = _torch()
    found = {
        (one.name[len(_NAMESPACE) :], one.overload_name): one
        for one in torch._C._jit_get_all_schemas()
        if one.name.startswith(_NAMESPACE)
    }
    return {
        **_identity(torch),
        "schemas": [
            {
                "name": name,
                "overload": overload,
                "arguments": [_argument(one) for one in schema.arguments],
                "returns": [_type(one) for one in schema.returns],
            }
            for (name, overload), schema in sorted(found.items())
        ],
    }


def _argument(argument: Any) -> Message:
    has_default = bool(argument.has_default_value())
    alias = argument.alias_info
    return {
        "name": argument.name,
        "type": _type(argument),
        "kwarg_only": bool(argument.kwarg_only),
        "has_default": has_default,
        "default": plain(argument.default_value) if has_default else None,
        "is_write": bool(alias is not None and alias.is_write),
    }


def _type(argument: Any) -> str:
    # The real type tells ScalarType, MemoryFormat, Layout and SymInt, all of which pass as int.
    return str(getattr(argument, "real_type", argument.type))


def plain(value: Any) -> Any:
    """A value as JSON has it, or else its text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        elements: List[Any] = [plain(one) for one in value]
        return elements
    return str(value)


# ---------------------------------------------------------------------------------------------
# What the machine can do
# ---------------------------------------------------------------------------------------------

_REPEATS = 5
_MATRIX_SIZE = 1024


def capability(request: Message) -> Message:
    """Copied bytes and operations of a matrix product in a second: on one core, with one thread."""
    if request["core"] is not None:
        os.sched_setaffinity(0, [request["core"]])
    torch = _torch()
    torch.set_num_threads(1)
    return {
        "copy_bytes_per_s": _copy_bytes_per_s(torch),
        "matmul_flops_per_s": _matmul_flops_per_s(torch),
    }


def _copy_bytes_per_s(torch: Any) -> int:
    """Bytes that a copy reads and writes; the best of several."""
    half = copied_bytes(last_level_cache_bytes(Path("/sys/devices/system/cpu")), available_bytes())
    source = torch.ones(half, dtype=torch.uint8)
    target = torch.ones(half, dtype=torch.uint8)
    return int(2 * half / _best_s(lambda: target.copy_(source)))


def _matmul_flops_per_s(torch: Any) -> int:
    """Multiplications and additions of a product of float32 matrices; the best of several."""
    a, b, c = (torch.ones(_MATRIX_SIZE, _MATRIX_SIZE) for _ in range(3))
    return int(2 * _MATRIX_SIZE**3 / _best_s(lambda: torch.mm(a, b, out=c)))


def _best_s(function: Callable[[], Any]) -> float:
    """The shortest time of several runs, after one to warm up."""
    times_s = []
    for _ in range(1 + _REPEATS):
        begin = time.perf_counter()
        function()
        times_s.append(time.perf_counter() - begin)
    return min(times_s[1:])


def copied_bytes(cache_bytes: int, free_bytes: int) -> int:
    """How much to copy: with its target four times the cache, unless memory is short."""
    return max(64 * _MIB, min(2 * cache_bytes, free_bytes // 8))


def last_level_cache_bytes(folder: Path) -> int:
    """The largest cache that the system tells of; 64 MiB where it tells of none."""
    sizes = [path.read_text().strip() for path in folder.glob("cpu*/cache/index*/size")]
    return max((int(size[:-1]) * _KIB for size in sizes if size.endswith("K")), default=64 * _MIB)


def available_bytes() -> int:
    """Memory that can be had without swapping."""
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * _KIB
    return 1024 * _MIB


if __name__ == "__main__":
    sys.exit(main())
