"""The options that state statements, as `python -m timeit` takes them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from instruction_counts.core.labels import by_option
from instruction_counts.core.types import RuntimeMode
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Statements

_STDIN = "-"
_RUNTIMES = [name for name in by_option(RuntimeMode) if name != RuntimeMode.EXPLICIT.option]


def _code(*names: str, text: str) -> Callable[..., Any]:
    return click.option(*names, multiple=True, metavar="CODE", help=text)


_OPTIONS = (
    click.argument("stmts", nargs=-1, required=True, metavar="STMT..."),
    _code("-s", "--setup", text="Code that runs once before. Repeatable: each is a line."),
    click.option("--cpp", is_flag=True, help="STMT and --setup are C++."),
    _code("--cpp-stmt", text="C++ equivalent of STMT. Repeatable: one per STMT, in their order."),
    _code("--cpp-setup", text="Setup of --cpp-stmt. Repeatable."),
    _code("--global-setup", text="Top of the C++ file, such as #include lines. Repeatable."),
    click.option("--backward", is_flag=True, help="Measure forward and backward together."),
    click.option(
        "--gradient",
        metavar="NAME",
        help="Variable that --backward starts from, if the output is not a scalar.",
    ),
    click.option(
        "--runtime",
        multiple=True,
        metavar="MODE",
        type=click.Choice(_RUNTIMES, case_sensitive=False),
        help="Runtime: eager, torchscript, compiled. Repeatable.  [default: eager]",
    ),
    click.option(
        "--signature",
        metavar="TEXT",
        help='Inputs and output, "f(x, y) -> z", for --backward and TorchScript  '
        "[default: derived from STMT]",
    ),
    click.option(
        "--num-threads",
        multiple=True,
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of threads. Repeatable.  [default: 1]",
    ),
)


def statement_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the statements and what belongs to them; the command gets them as ``asked``."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        own = {name: kwargs.pop(name) for name in _NAMES}
        return function(*args, asked=_statements(**own), **kwargs)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return wrapper


def _statements(
    *,
    stmts: tuple[str, ...] = (),
    setup: tuple[str, ...] = (),
    cpp: bool = False,
    cpp_stmt: tuple[str, ...] = (),
    cpp_setup: tuple[str, ...] = (),
    global_setup: tuple[str, ...] = (),
    backward: bool = False,
    gradient: str | None = None,
    runtime: tuple[str, ...] = (),
    signature: str | None = None,
    num_threads: tuple[int, ...] = (),
) -> Statements:
    """The statements; what belongs to C++ is refused where there is none, or given twice."""
    if cpp and (cpp_stmt or cpp_setup):
        option = "--cpp-stmt" if cpp_stmt else "--cpp-setup"
        raise UsageError(f"{option} and --cpp exclude each other", "Drop one.")
    if cpp_setup and not cpp_stmt:
        raise UsageError("--cpp-setup is for --cpp-stmt", "Give one, or --cpp with --setup.")
    if global_setup and not (cpp or cpp_stmt):
        raise UsageError("--global-setup is for C++", "Give --cpp or --cpp-stmt.")
    given = (*stmts, *setup, *cpp_stmt, *cpp_setup, *global_setup)
    typed = _typed() if _STDIN in given else ""
    if given.count(_STDIN) > 1:
        raise UsageError("standard input can be read once", 'Give one "-" alone.')

    def code(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(typed if text == _STDIN else text for text in texts)

    own_setup = "\n".join(code(setup))
    return Statements(
        code(stmts),
        cpp,
        code(cpp_stmt),
        "" if cpp else own_setup,
        own_setup if cpp else "\n".join(code(cpp_setup)),
        "\n".join(code(global_setup)),
        signature,
        runtime,
        backward,
        gradient,
        tuple(dict.fromkeys(num_threads)) or (1,),
    )


_NAMES = tuple(inspect.signature(_statements).parameters)


def _typed() -> str:
    """What standard input holds."""
    try:
        return sys.stdin.buffer.read().decode() if sys.stdin is not None else ""
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8 text", "Encode it as UTF-8.") from error
