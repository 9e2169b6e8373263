"""Definitions appended to a file of Python that people edit.

What is there stays as it is: an import may come in below the others, and the new definitions at
the end, where blank lines go. The new file is written beside the old one, loaded, and put in its
place only if it has all the cases of before, and the new ones.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import os
import secrets
import shutil
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from instruction_counts.core.api import GroupedBenchmark
from instruction_counts.core.checks import dedented
from instruction_counts.core.errors import DefinitionError, DefinitionErrors
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case, Label, RuntimeMode
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.definitions import load
from instruction_counts.sources.models.literals import block, text
from instruction_counts.system.files import check_writable, unwritable

_NEW_FILE = b'"""Cases of my own."""\n\nBENCHMARKS = {}\n'
_NAMES = ("GroupedSetup", "GroupedStmts")


def check_appendable(path: Path, labels: Sequence[Label], option: str) -> tuple[Case, ...]:
    """Refuse what could not be appended later; returns the cases that the file has.

    Raises:
        UsageError: it is no Python file, it cannot be written, or it has one of the labels.
        DefinitionErrors, DataError: it is no definition file.
    """
    if path.suffix != ".py":
        raise UsageError(f"{option} {path}: a definition file ends in .py", "Choose such a name.")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}", "Create it first.")
    if path.exists() and not path.is_file():
        raise UsageError(f"{option} {path} is not a regular file", "Choose another file.")
    check_writable(path, option)
    if not _content(path, option).strip():
        return ()
    if not os.access(path, os.W_OK):
        raise UsageError(f"{option} {path} is read-only", "Choose another file.")
    cases = _known(path)
    taken = {case.label for case in cases}
    for label in labels:
        if label in taken:
            raise UsageError(
                f"{path} has a case called {' / '.join(label)} already", "Choose another label."
            )
    return cases


def _known(path: Path) -> tuple[Case, ...]:
    """The cases of a file, which may have none yet."""
    try:
        return load(str(path))
    except DefinitionErrors as error:
        if [mistake.field for mistake in error.errors] == ["BENCHMARKS"]:
            return ()
        raise


def append(path: Path, groups: Mapping[Label, GroupedBenchmark], option: str) -> None:
    """Append the definitions ``groups`` to the file at ``path``, which is made where there is none.

    Raises:
        UsageError: the file cannot be written, or cannot be extended in this way; it is as before.
        DefinitionErrors, DataError: it is no definition file.
    """
    path = path.resolve()  # what a link points to is replaced, not the link
    content = _content(path, option)
    before = check_appendable(path, tuple(groups), option)
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(8)}.py")
    try:
        temporary.write_bytes(_extended(content, groups))
        if path.exists():
            shutil.copymode(path, temporary)
        if _cases(temporary) != (*before, *materialize(groups)):
            raise _cannot_extend(path, groups)
        if _content(path, option) != content:
            raise UsageError(f"{path} was changed meanwhile", "Try again.")
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, option, error) from error
    except (SyntaxError, UnicodeError):
        raise _cannot_extend(path, groups) from None
    finally:
        temporary.unlink(missing_ok=True)


def _content(path: Path, option: str) -> bytes:
    """What the file holds; nothing where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        problem = f"{option} {path} cannot be read: {error.strerror}"
        raise UsageError(problem, "Choose another file.") from error


def _cases(path: Path) -> tuple[Case, ...] | None:
    with _no_bytecode():
        try:
            return load(str(path))
        except (UsageError, DefinitionError, DefinitionErrors):
            return None


@contextlib.contextmanager
def _no_bytecode() -> Iterator[None]:
    """Let Python keep nothing of a file that is there for a moment."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _cannot_extend(path: Path, groups: Mapping[Label, GroupedBenchmark]) -> UsageError:
    code = "\n".join(f"    {line}".rstrip() for line in _code(groups).splitlines())
    return UsageError(
        f"{path}: its BENCHMARKS cannot be extended at the end of the file",
        f"The file is as it was. Add the case by hand:\n\n{code}",
    )


def _extended(content: bytes, groups: Mapping[Label, GroupedBenchmark]) -> bytes:
    """The whole new file, in the encoding and with the line ends of the old one."""
    content = content if content.strip() else _NEW_FILE
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    old = content.decode(encoding)
    end = "\r" if "\r\n" in old else ""
    lines = f"{old.rstrip()}{end}".split("\n")
    tree = ast.parse(content)
    ends_in_block = isinstance(tree.body[-1], ast.FunctionDef | ast.ClassDef)
    new = [*([""] * (2 if ends_in_block else 1)), *_code(groups).removesuffix("\n").split("\n")]
    lines += (line + end for line in new)
    if missing := _missing_names(tree):
        place = _place_of_import(tree, lines)
        imported = [f"from core.api import {', '.join(missing)}"]
        if not isinstance(_node_before(tree, place), ast.Import | ast.ImportFrom):
            imported = [*([""] if place else []), *imported]
            imported += [""] if lines[place].strip() else []
        lines[place:place] = [line + end for line in imported]
    return "\n".join([*lines, ""]).encode(encoding)


def _missing_names(tree: ast.Module) -> list[str]:
    known = {
        name.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "core.api" and not node.level
        for name in node.names
        if name.asname in {None, name.name}
    }
    return [name for name in _NAMES if name not in known and "*" not in known]


def _place_of_import(tree: ast.Module, lines: Sequence[str]) -> int:
    """After how many lines an import comes in: the first imports, else the head of the file."""
    comments = itertools.takewhile(lambda line: line.startswith("#"), lines)
    place = sum(1 for _ in comments)
    for node in tree.body[: 1 if ast.get_docstring(tree) is not None else 0]:
        place = node.end_lineno or place
    for node in tree.body[ast.get_docstring(tree) is not None :]:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            break
        place = node.end_lineno or place
    return place


def _node_before(tree: ast.Module, line: int) -> ast.stmt | None:
    return next((node for node in tree.body if node.end_lineno == line), None)


def _code(groups: Mapping[Label, GroupedBenchmark]) -> str:
    return "\n".join(_entry(label, group) for label, group in groups.items())


def _entry(label: Label, group: GroupedBenchmark) -> str:
    """A definition as a statement, laid out as ruff does it; it gives the same group again."""
    setup = [
        f"        {name}={_block(code, 8)},\n"
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
        "setup": f"GroupedSetup(\n{''.join(setup)}    )" if setup else None,
        "signature": group.signature and text(str(group.signature)),
        "torchscript": "True" if group.torchscript else None,
        "compiled": repr(group.compile_options or True) if compiled else None,
        "runtimes": f"({', '.join(map(text, further))},)" if further else None,
        "autograd": "True" if group.autograd else None,
        "num_threads": None if threads == (1,) else str(threads if threads[1:] else threads[0]),
        "gradient": group.gradient and text(group.gradient),
    }
    stated = "".join(f"    {name}={code},\n" for name, code in arguments.items() if code)
    return f"BENCHMARKS[{', '.join(map(text, label))}] = GroupedStmts(\n{stated})\n"


def _block(code: str, indent: int) -> str:
    """Code as a text, of several lines where that gives the same code again."""
    laid_out = block(code, indent)
    try:
        is_same = dedented(ast.literal_eval(laid_out)) == code
    except (SyntaxError, ValueError):
        is_same = False
    return laid_out if is_same else text(code)
