"""Builds with a change that is known: made from one interpreter, by what its environment adds.

The change is real to everything that measures: a torch function with a wrapper around it, a shared
library in front of torch's own, objects in memory that were not there before, a function that
returns something else.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from instruction_counts.domain.build import Build

_WRAPPED = """\
import torch

def wrap(original):
    def wrapper(*args, **kwargs):
        return original(*args, **kwargs)
    return wrapper

for name in {names!r}:
    setattr(torch, name, wrap(getattr(torch, name)))
"""

_WRONG = """\
import torch

def first(*args, **kwargs):
    return args[0]

for name in {names!r}:
    setattr(torch, name, first)
"""

_LAYOUT = """\
kept = [[None] * number for number in range({number})]
"""

SLOWED = "_ZN3c1015GetCPUAllocatorEv"
"""``c10::GetCPUAllocator()``, which every new tensor on the CPU asks for once."""

_SLOWER = f"""\
#define _GNU_SOURCE
#include <dlfcn.h>

void *{SLOWED}(void)
{{
    static void *(*original)(void);
    if (!original) {{
        // Python loads torch's libraries apart from each other, where RTLD_NEXT does not look.
        void *library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
        original = (void *(*)(void)) dlsym(library, "{SLOWED}");
    }}
    for (volatile int more = 0; more < 3; ++more)
        ;
    return original();
}}
"""


def wrapped(name: str, python: str, folder: Path, functions: Sequence[str]) -> Build:
    """One more call around each of ``functions`` of torch: nothing else changes."""
    return _with_site(name, python, folder, _WRAPPED.format(names=list(functions)))


def wrong(name: str, python: str, folder: Path, functions: Sequence[str]) -> Build:
    """Each of ``functions`` returns its first argument: faster, and wrong."""
    return _with_site(name, python, folder, _WRONG.format(names=list(functions)))


def moved(name: str, python: str, folder: Path, number: int) -> Build:
    """The same code in another memory layout: more objects on the heap, more on the stack."""
    build = _with_site(name, python, folder, _LAYOUT.format(number=number))
    return Build(name, python, env={**build.env, "PADDING": "x" * (16 * number)})


def slower(name: str, python: str, folder: Path) -> Build:
    """A shared library in front of torch's own: some twenty more instructions for each new tensor.

    Raises:
        RuntimeError: there is no C compiler.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("a C compiler is needed")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "slower.c").write_text(_SLOWER, encoding="utf-8")
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", "slower.so", "slower.c", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return Build(name, python, env={"LD_PRELOAD": str(folder / "slower.so")})


def _with_site(name: str, python: str, folder: Path, code: str) -> Build:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    return Build(name, python, env={"PYTHONPATH": str(folder)})
