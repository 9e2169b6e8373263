"""The options that state statements, as `python -m timeit` takes them."""

from __future__ import annotations

import sys
from typing import Any

import click

from instruction_counts.cli.options import choice, flag, gathered, option, several
from instruction_counts.core.devices import DEVICES
from instruction_counts.core.labels import by_option
from instruction_counts.core.types import RuntimeMode
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Statements

_STDIN = "-"
_RUNTIMES = [name for name in by_option(RuntimeMode) if name != RuntimeMode.EXPLICIT.option]


_OPTIONS = (
    click.argument("stmts", nargs=-1, required=True, metavar="STMT..."),
    several("-s --setup py_setup", "CODE", "Code that runs once before. Each is a line."),
    flag("--cpp is_cpp", "STMT and --setup are C++."),
    several(
        "--cpp-stmt cpp_stmts", "CODE", "C++ equivalent of STMT: one per STMT, in their order."
    ),
    several("--cpp-setup", "CODE", "Setup of --cpp-stmt."),
    several("--global-setup", "CODE", "Top of the C++ file, such as #include lines."),
    flag("--backward autograd", "Measure forward and backward together."),
    option(
        "--gradient",
        "NAME",
        "Variable that --backward starts from, if the output is not a scalar.",
    ),
    choice(
        "--runtime runtimes",
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
    choice(
        "--device",
        DEVICES,
        "Where the tensors are; the code knows it as device.",
        metavar="DEVICE",
    ),
)
_CODE = ("stmts", "cpp_stmts", "py_setup", "cpp_setup", "global_setup")


def _statements(**given: Any) -> Statements:
    """The statements; what belongs to C++ is refused where there is none, or given twice."""
    is_cpp, cpp_stmts, cpp_setup = (given[name] for name in ("is_cpp", "cpp_stmts", "cpp_setup"))
    if is_cpp and (cpp_stmts or cpp_setup):
        option = "--cpp-stmt" if cpp_stmts else "--cpp-setup"
        raise UsageError(f"{option} and --cpp exclude each other", "Drop one.")
    if cpp_setup and not cpp_stmts:
        raise UsageError("--cpp-setup is for --cpp-stmt", "Give one, or --cpp with --setup.")
    if given["global_setup"] and not (is_cpp or cpp_stmts):
        raise UsageError("--global-setup is for C++", "Give --cpp or --cpp-stmt.")
    if given["gradient"] and not given["autograd"]:
        raise UsageError("--gradient is for --backward", "Give both, or neither.")
    number = sum(given[name].count(_STDIN) for name in _CODE)
    if number > 1:
        raise UsageError("standard input can be read once", 'Give one "-" alone.')
    try:
        typed = sys.stdin.buffer.read().decode() if number and sys.stdin is not None else ""
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8 text", "Encode it as UTF-8.") from error
    for name in _CODE:
        texts = tuple(typed if text == _STDIN else text for text in given[name])
        given[name] = texts if name.endswith("stmts") else "\n".join(texts)
    if is_cpp:
        given["cpp_setup"], given["py_setup"] = given["py_setup"], ""
    return Statements(
        **{**given, "num_threads": tuple(dict.fromkeys(given["num_threads"])) or (1,)}
    )


statement_options = gathered("asked", _OPTIONS, _statements, Statements)
"""The statements and what belongs to them; the command gets them as ``asked``."""
