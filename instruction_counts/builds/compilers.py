"""Which C++ compiler makes the cases of a build, and what it can do."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import attrs

from instruction_counts.builds.hermetic import environment
from instruction_counts.domain.build import Build
from instruction_counts.system.commands import called

CLANG = "clang"
"""What asks for the newest clang there is."""
TORCHS_OWN = "cxx"
"""What asks for the compiler that torch's own extensions would use: CXX, else g++."""

_OLDEST_CLANG = 19
"""The oldest that is taken unasked; with it was measured what it saves."""
_LAUNCHERS = frozenset({"ccache", "distcc", "sccache"})
"""What may stand before the compiler in CXX; cases have a cache of their own."""
_FOR_C = re.compile(r"(.*-)?(gcc|cc|clang)(-[\d.]+)?")
"""The names of compilers that take C++, and do not link its library."""


@attrs.frozen
class CppCompiler:
    """A C++ compiler as it was found."""

    path: str = ""
    """Empty where there is none."""
    version: str = ""
    """Of the compiler, and of what else decides about its code: clang takes the C++ library of g++,
    and perhaps a linker of its own."""
    clang: int = 0
    """Which clang it is; 0 for any other compiler."""
    linker: str = ""
    """The linker to ask for; empty for the usual one."""
    missing: str = ""
    """The one that was named, by the build or CXX, and is no C++ compiler on PATH."""


def find_compiler(build: Build) -> CppCompiler:
    """The compiler that the build asks for; else CXX, else a clang that is new enough, else g++.

    What is named is replaced by no other.
    """
    variables = environment(build)
    path, asked = variables["PATH"], build.compiler
    named = variables.get("CXX", "") if asked in {"", TORCHS_OWN} else asked
    launcher, _, launched = named.partition(" ")
    if launched and Path(launcher).name in _LAUNCHERS:
        named = launched
    if named:
        found = _newest_clang(path) if named == CLANG else _found(named, path)
        return _described(found, path) if found else CppCompiler(missing=named)
    if not asked:
        newest = _described(_newest_clang(path), path)
        if newest.clang >= _OLDEST_CLANG:
            return newest
    return _described(_found("g++", path) or _found("c++", path), path)


def printed(command: list[str], variables: Mapping[str, str] = os.environ) -> str:
    """What a command prints, in English; empty where it cannot be run."""
    try:
        return called(command, env={**variables, "LC_ALL": "C"}, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def first_line(command: list[str], variables: Mapping[str, str] = os.environ) -> str:
    """The first line of that."""
    return (printed(command, variables).splitlines() or [""])[0].strip()


def _described(compiler: str, path: str) -> CppCompiler:
    said = first_line([compiler, "--version"]) if compiler else ""
    clang = re.search(r"clang version (\d+)", said)
    if clang is None:
        return CppCompiler(compiler, said)
    # Where clang looks first; one elsewhere may be of another version.
    linker = "lld" if Path(compiler).resolve().with_name("ld.lld").exists() else ""
    gcc = _found("g++", path)
    library = first_line([gcc, "--version"]) if gcc else ""
    version = " · ".join(filter(None, (said, linker, library)))
    return CppCompiler(compiler, version, int(clang[1]), linker)


def _newest_clang(path: str) -> str:
    """Debian and others have one command for each version, and perhaps one for the usual."""
    numbers = {
        int(number)
        for folder in path.split(":")
        for found in Path(folder).glob("clang++-*")
        if (number := found.name.removeprefix("clang++-")).isdecimal()
    }
    names = *(f"clang++-{number}" for number in sorted(numbers, reverse=True)), "clang++"
    return next(filter(None, (_found(name, path) for name in names)), "")


def _found(name: str, path: str) -> str:
    return "" if _FOR_C.fullmatch(Path(name).name) else shutil.which(name, path=path) or ""
