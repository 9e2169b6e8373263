"""What stands after ``%icount``: options as on the command line, then code as it is."""

from __future__ import annotations

import io
import shlex
from typing import Any

import attrs
import click

from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.options import build_options, only_build
from instruction_counts.cli.statement_options import statement_options
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.statements import Statements
from instruction_counts.session.builds import MeasurementSettings


@attrs.frozen
class Request:
    """What a magic asks for."""

    asked: Statements
    build: Build
    measuring: MeasurementSettings
    times_counted: int = 1
    fresh: bool = False
    returned: bool = False
    """Whether the magic has a value."""


@click.command("%icount", help="Measure a statement of the notebook.")
@statement_options
@build_options
@measuring_options
@click.option(
    "-n",
    "times_counted",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Count N times, each in a fresh process, and say whether the counts agree.",
)
@click.option("--fresh", is_flag=True, help="Start new servers first.")
@click.option("-o", "returned", is_flag=True, help="Return what was measured.")
def _request(
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    times_counted: int,
    **options: Any,
) -> Request:
    if times_counted > 1 and not measuring.counts:
        raise UsageError("-n and --no-counts exclude each other", "Drop one.")
    build = only_build(builds, "%icount")
    return Request(build=build, measuring=measuring, times_counted=times_counted, **options)


def parse(line: str, cell: str | None) -> Request | None:
    """What ``%icount line`` asks for, or ``%%icount line`` with a cell; None if it was for help.

    As for ``%timeit``, code on the line of a cell is setup, and the cell is the statement.

    Raises:
        UsageError, click.ClickException: the options are wrong.
    """
    words, code = split(line)
    if cell is not None:
        words += ["--setup", code] if code.strip() else []
        code = cell.rstrip()
    if "-" in (*words, code):
        raise UsageError("a notebook has no standard input", 'Write the code in place of "-".')
    statement = [code] if code.strip() else []
    found = _request.main([*words, "--", *statement], "%icount", standalone_mode=False)
    return found if isinstance(found, Request) else None


def split(line: str) -> tuple[list[str], str]:
    """The options at the beginning, split as a shell would, and the rest as it is.

    The rest begins with the first word that is no option, or after ``--``.

    Raises:
        UsageError: a quote is never closed.
    """
    takes_value = {
        name: isinstance(param, click.Option) and not param.is_flag
        for param in _request.params
        for name in param.opts
    }
    words: list[str] = []
    rest = line.lstrip()
    while rest.startswith("-"):
        word, rest = _word(rest)
        if word == "--":
            break
        words.append(word)
        if takes_value.get(word, False) and rest:
            value, rest = _word(rest)
            words.append(value)
    return words, rest


def _word(text: str) -> tuple[str, str]:
    """The first word, without its quotes, and what follows it."""
    stream = io.StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        word = lexer.get_token()
    except ValueError as error:
        raise UsageError(f"an option of %icount: {error}", "Close the quote.") from None
    return word or "", text[stream.tell() :].lstrip()
