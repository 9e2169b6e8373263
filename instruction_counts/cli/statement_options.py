"""The options that state statements, as `python -m timeit` takes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from core.labels import by_option
from core.types import RuntimeMode
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.statements import Statements

_STDIN = "-"

_OPTIONS = (
    click.option(
        "-s",
        "--setup",
        multiple=True,
        metavar="CODE",
        help="Code that runs once before. Repeatable: each is a line.",
    ),
    click.option("--cpp", is_flag=True, help="STMT and --setup are C++."),
    click.option(
        "--cpp-stmt",
        "cpp_stmts",
        multiple=True,
        metavar="CODE",
        help="C++ twin of STMT. Repeatable: of each STMT, in their order.",
    ),
    click.option(
        "--cpp-setup", multiple=True, metavar="CODE", help="Setup of --cpp-stmt. Repeatable."
    ),
    click.option(
        "--global-setup",
        multiple=True,
        metavar="CODE",
        help="Top of the C++ file, such as #include lines. Repeatable.",
    ),
    click.option(
        "--backward", "with_backward", is_flag=True, help="Measure forward and backward together."
    ),
    click.option(
        "--gradient",
        metavar="NAME",
        help="Variable that --backward starts from, where the output is no scalar.",
    ),
    click.option(
        "--runtime",
        "runtimes",
        multiple=True,
        metavar="MODE",
        type=click.Choice(
            [name for name in by_option(RuntimeMode) if name != RuntimeMode.EXPLICIT.option],
            case_sensitive=False,
        ),
        help="Runtime: eager, torchscript. Repeatable.  [default: eager]",
    ),
    click.option(
        "--signature",
        metavar="TEXT",
        help='Inputs and output, "f(x, y) -> z", for --backward and TorchScript  '
        "[default: derived from STMT]",
    ),
    click.option(
        "--num-threads",
        "threads",
        multiple=True,
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of threads. Repeatable.  [default: 1]",
    ),
)


def statement_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the statements and what belongs to them; the command gets them as ``asked``."""

    @wraps(function)
    def wrapper(
        *args: Any,
        stmts: tuple[str, ...],
        setup: tuple[str, ...],
        cpp: bool,
        cpp_stmts: tuple[str, ...],
        cpp_setup: tuple[str, ...],
        global_setup: tuple[str, ...],
        with_backward: bool,
        gradient: str | None,
        runtimes: tuple[str, ...],
        signature: str | None,
        threads: tuple[int, ...],
        **kwargs: Any,
    ) -> Any:
        _check(cpp, cpp_stmts, cpp_setup, global_setup)
        read = _Input()
        own, py_setup = read.each(stmts), read.joined(setup)
        twins, twin_setup = read.each(cpp_stmts), read.joined(cpp_setup)
        asked = Statements(
            own,
            cpp,
            twins,
            "" if cpp else py_setup,
            py_setup if cpp else twin_setup,
            read.joined(global_setup),
            signature,
            runtimes,
            with_backward,
            gradient,
            tuple(dict.fromkeys(threads)) or (1,),
        )
        return function(*args, asked=asked, **kwargs)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return click.argument("stmts", nargs=-1, required=True, metavar="STMT...")(wrapper)


def _check(
    cpp: bool, stmts: tuple[str, ...], setup: tuple[str, ...], global_setup: tuple[str, ...]
) -> None:
    """Refuse what belongs to C++ where there is none, and C++ that is given twice."""
    if cpp and (stmts or setup):
        option = "--cpp-stmt" if stmts else "--cpp-setup"
        raise UsageError(f"{option} and --cpp exclude each other", "Drop one.")
    if setup and not stmts:
        raise UsageError("--cpp-setup is for --cpp-stmt", "Give one, or --cpp with --setup.")
    if global_setup and not (cpp or stmts):
        raise UsageError("--global-setup is for C++", "Give --cpp or --cpp-stmt.")


class _Input:
    """Codes as they are typed; ``-`` is read from standard input, once."""

    def __init__(self) -> None:
        self._is_read = False

    def each(self, codes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self._code, codes))

    def joined(self, codes: tuple[str, ...]) -> str:
        return "\n".join(self.each(codes))

    def _code(self, code: str) -> str:
        if code != _STDIN:
            return code
        if self._is_read:
            raise UsageError("standard input can be read once", 'Give one "-" alone.')
        self._is_read = True
        try:
            return sys.stdin.buffer.read().decode() if sys.stdin is not None else ""
        except UnicodeDecodeError as error:
            raise UsageError("standard input is no text in UTF-8", "Give it in UTF-8.") from error
