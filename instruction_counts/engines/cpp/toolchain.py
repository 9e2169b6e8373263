"""Which compilers there are, and what they find: the standard of torch, and its headers."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

_OLDEST_STANDARD = 17


def cpp_standard(torch_root: Path) -> int:
    """The standard that torch compiles extensions with, as its own `cpp_extension` names it.

    Torch 1.13 names C++14, whose headers also compile as C++17; 2.0 names C++17 and 2.13 C++20.
    """
    try:
        text = (torch_root / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
    except OSError:
        return _OLDEST_STANDARD
    named = [int(year) for year in re.findall(r"""['"]-std=c\+\+(\d\d)['"]""", text)]
    return max([_OLDEST_STANDARD, *named])


def c_compiler(cpp_compiler: str, environment: Mapping[str, str]) -> str:
    """The C compiler that goes with a C++ compiler: CC, else its namesake, else any."""
    path = environment.get("PATH", os.defpath)
    names = [environment.get("CC", ""), _namesake(cpp_compiler), "gcc", "cc"]
    found = (shutil.which(name, path=path) for name in names if name)
    return next((name for name in found if name), "")


def _namesake(cpp_compiler: str) -> str:
    folder, name = os.path.split(cpp_compiler)
    for cpp, c in (("clang++", "clang"), ("g++", "gcc"), ("c++", "cc")):
        if cpp in name:
            return os.path.join(folder, name.replace(cpp, c))  # noqa: PTH118 - may be a bare name
    return ""


def headers_digest(include_paths: Sequence[str]) -> str:
    """Changes when a header below ``include_paths`` does: their names, sizes and times."""
    digest = hashlib.sha256()
    for top in include_paths:
        for folder, subfolders, files in os.walk(top):
            subfolders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)  # noqa: PTH118 - ten thousand times
                with contextlib.suppress(OSError):
                    found = os.stat(path)  # noqa: PTH116 - ten thousand times
                    digest.update(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()
