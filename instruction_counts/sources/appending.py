"""Definitions appended to a file of Python that people edit.

What is there stays as it is; the new definitions go to the end. The new file is written beside the
old one, loaded, and put in its place only if it has all the cases of before, and the new ones.
"""

from __future__ import annotations

import ast
import contextlib
import secrets
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from importlib.util import cache_from_source
from pathlib import Path

from instruction_counts.core.api import GroupedBenchmark
from instruction_counts.core.checks import dedented
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case, Label, RuntimeMode
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.definitions import load
from instruction_counts.sources.models.literals import block, lines, text
from instruction_counts.system.files import check_writable, unwritable

_OPTION = "--definitions"
_IMPORT = "from core.api import GroupedSetup, GroupedStmts\n"
_NEW_FILE = f'"""Cases of my own."""\n\n{_IMPORT}\nBENCHMARKS = {{}}\n'


def check_appendable(path: Path, labels: Sequence[Label]) -> tuple[Case, ...]:
    """Refuse what could not be appended later; returns the cases that the file has.

    Raises:
        UsageError: it is no Python file, it cannot be written, or it has one of the labels.
        DefinitionError, DataError: it is no definition file.
    """
    if path.suffix != ".py":
        raise UsageError(f"{_OPTION} {path}: a definition file ends in .py", "Choose such a name.")
    if path.exists() and not path.is_file():
        raise UsageError(f"{_OPTION} {path} is not a file that can be written", "Choose another.")
    check_writable(path, _OPTION)
    if not _content(path).strip():
        return ()
    try:
        cases = load(str(path))
    except DefinitionError as error:
        if error.field != "BENCHMARKS":  # none yet
            raise
        return ()
    taken = {case.label for case in cases}
    for label in labels:
        if label in taken:
            raise UsageError(
                f"{path} has a case called {' / '.join(label)} already", "Choose another label."
            )
    return cases


def append(path: Path, groups: Mapping[Label, GroupedBenchmark]) -> None:
    """Append the definitions ``groups`` to the file at ``path``, which is made where there is none.

    Raises:
        UsageError: the file cannot be written, or cannot be extended in this way; it is as before.
        DefinitionError, DataError: it is no definition file.
    """
    path = path.resolve()  # what a link points to is replaced, not the link
    before, content = check_appendable(path, tuple(groups)), _content(path)
    code = "\n".join(_entry(label, group) for label, group in groups.items())
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(8)}.py")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(UsageError, DefinitionError, UnicodeError):
            old = content.decode() if content.strip() else _NEW_FILE
            imported = "" if _IMPORT in old else f"{_IMPORT}\n"
            temporary.write_bytes(f"{old.rstrip()}\n\n\n{imported}{code}".encode())
            if path.exists():
                shutil.copymode(path, temporary)
            if load(str(temporary)) == (*before, *materialize(groups)):
                temporary.replace(path)
                return
    except OSError as error:
        raise unwritable(path, _OPTION, error) from error
    finally:
        temporary.unlink(missing_ok=True)
        Path(cache_from_source(str(temporary))).unlink(missing_ok=True)
    raise UsageError(
        f"{path}: its BENCHMARKS cannot be extended at the end of the file",
        f"The file is as it was. Add the case by hand:\n\n{textwrap.indent(code, '    ')}",
    )


def _content(path: Path) -> bytes:
    """What the file holds; nothing where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        problem = f"{_OPTION} {path} cannot be read: {error.strerror}"
        raise UsageError(problem, "Choose another file.") from error


def _entry(label: Label, group: GroupedBenchmark) -> str:
    """A definition as a statement, laid out as ruff does it; it gives the same group again."""
    setup = [
        f"{name}={_block(code, 8)}"
        for name in ("py_setup", "cpp_setup", "global_setup")
        if (code := getattr(group.setup, name))
    ]
    threads = group.num_threads
    by_argument = {RuntimeMode.JIT.option, RuntimeMode.COMPILED.option}
    further = tuple(name for name in group.runtimes if name not in by_argument)
    compiled = RuntimeMode.COMPILED.option in group.runtimes
    arguments = {
        "py_stmt": group.py_fwd_stmt and _block(group.py_fwd_stmt, 4),
        "cpp_stmt": group.cpp_fwd_stmt and _block(group.cpp_fwd_stmt, 4),
        "setup": lines("GroupedSetup", setup, 4) if setup else None,
        "signature": group.signature and text(str(group.signature)),
        "torchscript": "True" if group.torchscript else None,
        "compiled": repr(group.compile_options or True) if compiled else None,
        "runtimes": f"({', '.join(map(text, further))},)" if further else None,
        "autograd": "True" if group.autograd else None,
        "num_threads": None if threads == (1,) else str(threads if threads[1:] else threads[0]),
        "gradient": group.gradient and text(group.gradient),
    }
    stated = [f"{name}={code}" for name, code in arguments.items() if code]
    return f"BENCHMARKS[{', '.join(map(text, label))}] = {lines('GroupedStmts', stated, 0)}\n"


def _block(code: str, indent: int) -> str:
    """Code as a text, of several lines where that gives the same code again."""
    laid_out = block(code, indent)
    try:
        is_same = dedented(ast.literal_eval(laid_out)) == code
    except (SyntaxError, ValueError):
        is_same = False
    return laid_out if is_same else text(code)
