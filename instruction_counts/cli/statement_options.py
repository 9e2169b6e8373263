"""The options that state statements, as `python -m timeit` takes them."""

import sys
from typing import Any

import click

from instruction_counts.cli.options import choice, device, flag, gathered, option, several
from instruction_counts.core.labels import by_option
from instruction_counts.core.types import Language, RuntimeMode
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Statements

_STDIN = "-"
_RUNTIMES = [name for name in by_option(RuntimeMode) if name != RuntimeMode.EXPLICIT.option]


_OPTIONS = (
    click.argument("stmts", nargs=-1, required=True, metavar="STMT..."),
    several("-s --setup", "CODE", "Code that runs once before STMT. Several make several lines."),
    choice(
        "--language is_cpp",
        by_option(Language),
        "Language of STMT and --setup.",
        default=Language.PYTHON.option,
        callback=lambda _context, _option, name: name == Language.CPP.option,
    ),
    several("--global-setup", "CODE", "Top of the C++ file, such as #include lines."),
    flag("--backward autograd", "Measure forward and backward together."),
    choice(
        "--runtime runtimes",
        _RUNTIMES,
        "Runtime: eager, torchscript, compiled, exported.  [default: eager]",
        metavar="RUNTIME",
        multiple=True,
    ),
    option(
        "--signature",
        "TEXT",
        'Inputs and output, "f(x, y) -> z", for --backward and other runtimes  '
        "[default: derived from STMT]",
    ),
    several("--num-threads", "N", "Number of threads.  [default: 1]", type=click.IntRange(min=1)),
    device("--device", "Where the tensors are; the code knows it as device."),
)
_CODE = ("stmts", "setup", "global_setup")
_FROM_PYTHON = frozenset({"torchscript", "compiled", "exported"})
"""Runtimes that are made of a statement in Python, also where C++ calls them."""


def _statements(**given: Any) -> Statements:
    """The statements; what belongs to one language alone is refused for the other."""
    if given["global_setup"] and not given["is_cpp"]:
        raise UsageError("--global-setup is for C++", "Give --language c++, or drop it.")
    if given["is_cpp"] and (made := _FROM_PYTHON.intersection(given["runtimes"])):
        raise UsageError(
            f"--runtime {min(made)} needs a statement in Python", "Drop --language, or --runtime."
        )
    number = sum(given[name].count(_STDIN) for name in _CODE)
    if number > 1:
        raise UsageError("standard input can be read once", 'Give "-" only once.')
    try:
        typed = sys.stdin.buffer.read().decode() if number and sys.stdin is not None else ""
    except UnicodeDecodeError as error:
        raise UsageError("standard input is not UTF-8 text", "Encode it as UTF-8.") from error
    for name in _CODE:
        texts = tuple(typed if text == _STDIN else text for text in given[name])
        given[name] = texts if name == "stmts" else "\n".join(texts)
    return Statements(
        **{**given, "num_threads": tuple(dict.fromkeys(given["num_threads"])) or (1,)}
    )


statement_options = gathered("asked", _OPTIONS, _statements, Statements)
"""The statements and what belongs to them; the command gets them as ``asked``."""
