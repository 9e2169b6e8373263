"""Builds with a change that is known: made from one interpreter, by what its environment adds.

The change is real to everything that measures: a torch function with a wrapper around it, a file of
a package with other text, a shared library in front of torch's own, objects in memory that were not
there before, a function that returns something else. Copies of the interpreter's environment have
no change at all.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import yaml

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

_DATA = """\
ALLOWED = tuple(range({allowed}))
OPTIONS = dict.fromkeys(map(str, range({options})))
NAME = "n" * {name}

def is_allowed(number):
    return number in ALLOWED

def copy_of_options():
    return OPTIONS.copy()

def message():
    return f"not allowed: {{NAME!r}}"
"""

_LAYOUT = """\
kept = [[None] * number for number in range({number})]
"""

# The file itself stays: its edited text is compiled beforehand, and loaded as a .pyc would be.
_EDITED = """\
import os
from importlib._bootstrap_external import SourceFileLoader, _compile_bytecode

original = SourceFileLoader.get_code

def get_code(loader, fullname):
    if not os.path.samefile(loader.path, {path!r}):
        return original(loader, fullname)
    with open({compiled!r}, "rb") as file:
        return _compile_bytecode(file.read()[16:], fullname, {compiled!r}, loader.path)

SourceFileLoader.get_code = get_code
"""

_FIND_PACKAGE = "import importlib.util, sys; print(importlib.util.find_spec(sys.argv[1]).origin)"
_COMPILE = "import py_compile, sys; py_compile.compile(*sys.argv[1:], doraise=True)"

SLOWED = "_ZN3c1015GetCPUAllocatorEv"
"""``c10::GetCPUAllocator()``, which every new tensor on the CPU asks for once."""

# Nothing is known of the arguments: registers that hold some, and the stack, stay as they are.
_SLOWER = """\
#define _GNU_SOURCE
#include <dlfcn.h>

#ifndef __x86_64__
#error "written for x86-64 alone"
#endif

__attribute__((visibility("hidden"))) void *slower_original;

__attribute__((visibility("hidden"))) void slower_find(void)
{
    // Python loads torch's libraries apart from each other, where RTLD_NEXT does not look.
    void *library = dlopen("LIBRARY", RTLD_LAZY | RTLD_NOLOAD);
    slower_original = dlsym(library, "FUNCTION");
}

__asm__(
    ".text\\n"
    ".globl FUNCTION\\n"
    ".type FUNCTION, @function\\n"
    "FUNCTION:\\n"
    "    mov $TIMES, %r11d\\n"
    "1:  dec %r11d\\n"
    "    jnz 1b\\n"
    "    mov slower_original(%rip), %r11\\n"
    "    test %r11, %r11\\n"
    "    jz 2f\\n"
    "    jmp *%r11\\n"
    "2:  push %rax; push %rcx; push %rdx; push %rsi; push %rdi; push %r8; push %r9; push %r10\\n"
    "    sub $136, %rsp\\n"
    "    movups %xmm0, (%rsp); movups %xmm1, 16(%rsp)\\n"
    "    movups %xmm2, 32(%rsp); movups %xmm3, 48(%rsp)\\n"
    "    movups %xmm4, 64(%rsp); movups %xmm5, 80(%rsp)\\n"
    "    movups %xmm6, 96(%rsp); movups %xmm7, 112(%rsp)\\n"
    "    call slower_find\\n"
    "    movups (%rsp), %xmm0; movups 16(%rsp), %xmm1\\n"
    "    movups 32(%rsp), %xmm2; movups 48(%rsp), %xmm3\\n"
    "    movups 64(%rsp), %xmm4; movups 80(%rsp), %xmm5\\n"
    "    movups 96(%rsp), %xmm6; movups 112(%rsp), %xmm7\\n"
    "    add $136, %rsp\\n"
    "    pop %r10; pop %r9; pop %r8; pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax\\n"
    "    jmp *slower_original(%rip)\\n"
    ".size FUNCTION, .-FUNCTION\\n"
);
"""


def write_builds(folder: Path, *builds: Build) -> Path:
    """The file that `--build` takes."""
    path = folder / "builds.yaml"
    entries = [
        {"name": build.name, "python": str(build.python), "env": dict(build.env)}
        for build in builds
    ]
    path.write_text(yaml.safe_dump({"builds": entries}), encoding="utf-8")
    return path


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


def with_data(
    name: str, python: str, folder: Path, *, allowed: int = 8, options: int = 8, characters: int = 8
) -> Build:
    """A module ``injected_data``, whose code is the same with data of any size."""
    build = _with_site(name, python, folder, "")
    text = _DATA.format(allowed=allowed, options=options, name=characters)
    (folder / "injected_data.py").write_text(text, encoding="utf-8")
    return build


def edited(name: str, python: str, folder: Path, file: str, old: str, new: str) -> Build:
    """``old``, which ``file`` of a package holds once, is ``new``; the file itself is not touched.

    ``file`` is named as from outside the package (``torch/_tensor.py``). Only the code that is
    imported differs: what reads the source, as TorchScript does, finds the original.

    Raises:
        ValueError: the file does not hold ``old`` exactly once.
    """
    package, _, inside = file.partition("/")
    found = subprocess.run(
        [python, "-c", _FIND_PACKAGE, package], check=True, capture_output=True, text=True
    )
    path = (Path(found.stdout.strip()).parent / inside).resolve()
    source = path.read_text(encoding="utf-8")
    if (times := source.count(old)) != 1:
        raise ValueError(f"{path} holds {times} times, not once: {old!r}")
    folder.mkdir(parents=True, exist_ok=True)
    text, compiled = folder / "edited.py", folder / "edited.pyc"
    text.write_text(source.replace(old, new), encoding="utf-8")
    command = [python, "-c", _COMPILE, str(text), str(compiled), str(path)]
    subprocess.run(command, check=True)
    code = _EDITED.format(path=str(path), compiled=str(compiled))
    return _with_site(name, python, folder, code)


def slower(
    name: str,
    python: str,
    folder: Path,
    function: str = SLOWED,
    library: str = "libc10.so",
    times: int = 8,
) -> Build:
    """A shared library in front of torch's own: ``2 * times + 5`` more instructions in a function.

    ``function`` is exported by ``library``, whose own calls of it can be intercepted, too.

    Raises:
        RuntimeError: there is no C compiler.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("a C compiler is needed")
    folder.mkdir(parents=True, exist_ok=True)
    code = _SLOWER.replace("FUNCTION", function).replace("LIBRARY", library)
    (folder / "slower.c").write_text(code.replace("TIMES", str(times)), encoding="utf-8")
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", "slower.so", "slower.c", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return Build(name, python, env={"LD_PRELOAD": str(folder / "slower.so")})


def copied(name: str, environment: Path, folder: Path, *, stripped: bool = False) -> Build:
    """A copy of a virtual environment in ``folder``; its files are shared until one is edited.

    ``stripped`` gives it an interpreter of its own without symbols.
    """
    shutil.copytree(environment, folder, symlinks=True, copy_function=_linked)
    python = folder / "bin" / "python"
    if stripped:
        original = python.resolve()
        python.unlink()
        subprocess.run(["strip", "-o", str(python), str(original)], check=True)
    return Build(name, str(python))


def has_symbols(environment: Path) -> bool:
    """Whether the interpreter of a virtual environment tells the names of all its functions."""
    command = ["nm", str(environment / "bin" / "python")]
    return bool(subprocess.run(command, check=False, capture_output=True).stdout)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another file system
        shutil.copy2(source, target)


def add_to(environment: Path, file: str, text: str) -> None:
    """Add ``text`` to the end of a file of a package, in an environment that is a copy."""
    (path,) = environment.glob(f"lib/python*/site-packages/{file}")
    before = path.read_text(encoding="utf-8")
    path.unlink()  # the original has it, too
    path.write_text(before + text, encoding="utf-8")


def _with_site(name: str, python: str, folder: Path, code: str) -> Build:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    return Build(name, python, env={"PYTHONPATH": str(folder)})
