"""The options that state statements, as `python -m timeit` takes them."""

from __future__ import annotations

import sys

import click

from instruction_counts.cli.options import choice, flag, gathered, option, several
from instruction_counts.core.labels import by_option
from instruction_counts.core.types import RuntimeMode
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Statements

_STDIN = "-"
_RUNTIMES = [name for name in by_option(RuntimeMode) if name != RuntimeMode.EXPLICIT.option]


_OPTIONS = (
    click.argument("stmts", nargs=-1, required=True, metavar="STMT..."),
    several("-s --setup", "CODE", "Code that runs once before. Each is a line."),
    flag("--cpp", "STMT and --setup are C++."),
    several("--cpp-stmt", "CODE", "C++ equivalent of STMT: one per STMT, in their order."),
    several("--cpp-setup", "CODE", "Setup of --cpp-stmt."),
    several("--global-setup", "CODE", "Top of the C++ file, such as #include lines."),
    flag("--backward", "Measure forward and backward together."),
    option(
        "--gradient",
        "NAME",
        "Variable that --backward starts from, if the output is not a scalar.",
    ),
    choice(
        "--runtime",
        _RUNTIMES,
        "Runtime: eager, torchscript, compiled.  [default: eager]",
        metavar="MODE",
        multiple=True,
    ),
    option(
        "--signature",
        "TEXT",
        'Inputs and output, "f(x, y) -> z", for --backward and TorchScript  '
        "[default: derived from STMT]",
    ),
    several("--num-threads", "N", "Number of threads.  [default: 1]", type=click.IntRange(min=1)),
)


def _statements(
    stmts: tuple[str, ...],
    setup: tuple[str, ...],
    cpp: bool,
    cpp_stmt: tuple[str, ...],
    cpp_setup: tuple[str, ...],
    global_setup: tuple[str, ...],
    backward: bool,
    gradient: str | None,
    runtime: tuple[str, ...],
    signature: str | None,
    num_threads: tuple[int, ...],
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


def _typed() -> str:
    """What standard input holds."""
    try:
        return sys.stdin.buffer.read().decode() if sys.stdin is not None else ""
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8 text", "Encode it as UTF-8.") from error


statement_options = gathered("asked", _OPTIONS, _statements)
"""The statements and what belongs to them; the command gets them as ``asked``."""
