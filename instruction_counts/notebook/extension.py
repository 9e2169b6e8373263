"""The extension of IPython: ``%load_ext instruction_counts`` adds ``%icount`` and ``%%icount``.

Options are as on the command line; code comes after them, and is taken as it is.
"""

import io
import shlex
from collections.abc import Callable
from typing import Any

import attrs
import click
from IPython.core.error import UsageError as ShellError
from IPython.core.magic import no_var_expand

from instruction_counts.api import Build, MeasurementSettings, Result, Session
from instruction_counts.cli import console
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.options import one_build_options, only_build
from instruction_counts.cli.statement_options import statement_options
from instruction_counts.core.errors import DefinitionError
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Statements
from instruction_counts.report.run import statements_document
from instruction_counts.system.program import PROGRAM
from instruction_counts.system.shortages import shortage

_MAGIC = "icount"


@attrs.frozen
class Request:
    """What a magic asks for."""

    asked: Statements
    build: Build
    measuring: MeasurementSettings
    returned: bool = False
    """Whether the magic has a value."""


class StoppedError(KeyboardInterrupt):
    """Ends the cell, and keeps those after it from running; shown as one line."""

    def _render_traceback_(self) -> list[str]:
        return ["Interrupted."]


class Extension:
    """The magic, with the session that it keeps: one build, measured in one way, at a time."""

    def __init__(self, shell: Any, session_of: Callable[..., Session] = Session) -> None:
        self._shell, self._session_of = shell, session_of
        self._session: Session | None = None

    @no_var_expand  # braces and $ are code
    def icount(self, line: str, cell: str | None = None) -> Result | list[Result] | None:
        """Measure a statement of the notebook: see docs/how-to/notebooks.md, or %icount --help.

        Names of the notebook that a Python statement reads are passed on as copies.
        """
        try:
            request = parse(line, cell)
            return None if request is None else self._measured(request)
        except KeyboardInterrupt:
            raise StoppedError from None
        except click.ClickException as error:
            raise ShellError(error.format_message()) from None
        except DefinitionError as error:
            raise ShellError(str(error)) from None
        except (UsageError, OSError, RuntimeError, MemoryError) as error:
            explained = error if isinstance(error, UsageError) else shortage(error)
            if explained is None:
                raise
            raise ShellError(explained.text(PROGRAM)) from None

    def close(self) -> None:
        """End the servers."""
        if self._session is not None:
            self._session.close()

    def _measured(self, request: Request) -> Result | list[Result] | None:
        session = self._session_for(request.build, request.measuring)
        timed = session.statements(request.asked, self._shell.user_ns, request.measuring)
        console.show(statements_document(timed.statements, timed.run))
        if timed.advice:
            console.note(timed.advice)
        if not request.returned:
            return None
        results = [Result(found.record) for found in timed.statements]
        return results if len(results) > 1 else results[0]

    def _session_for(self, build: Build, measuring: MeasurementSettings) -> Session:
        """The session that is there, unless other servers are needed."""
        kept = self._session
        what = attrs.evolve(measuring, counts=True, times=True, timeout_s=None, retries=1)
        if kept is None or (kept.build, kept.settings) != (build, what):
            self.close()
            kept = self._session_of(build, settings=what, observer=console)
            self._session = kept
        return kept


def load(shell: Any, session_of: Callable[..., Session] = Session) -> None:
    """Add the magic to ``shell``; its servers end with the process, at the latest."""
    unload(shell)
    extension = Extension(shell, session_of)
    shell.register_magic_function(extension.icount, "line_cell", _MAGIC)


def unload(shell: Any) -> None:
    """Remove the magic from ``shell``, and end its servers."""
    for magics in shell.magics_manager.magics.values():
        found = magics.pop(_MAGIC, None)
        extension = getattr(found, "__self__", None)
        if isinstance(extension, Extension):
            extension.close()


# What stands after the magic


@click.command("%icount", help="Measure a statement of the notebook.")
@statement_options
@one_build_options
@measuring_options
@click.option("-o", "returned", is_flag=True, help="Return what was measured.")
def _request(builds: tuple[Build, ...], **options: Any) -> Request:
    return Request(build=only_build(builds, "%icount"), **options)


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
    options = [param for param in _request.params if isinstance(param, click.Option)]
    with_value = {name for option in options if not option.is_flag for name in option.opts}
    words: list[str] = []
    rest = line.lstrip()
    while rest.startswith("-"):
        word, rest = _word(rest)
        if word == "--":
            break
        words.append(word)
        if word in with_value and rest:
            value, rest = _word(rest)
            words.append(value)
    return words, rest


def _word(text: str) -> tuple[str, str]:
    """The first word, without its quotes, and what follows it."""
    stream = io.StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return lexer.get_token() or "", text[stream.tell() :].lstrip()
    except ValueError as error:
        raise UsageError(f"an option of %icount: {error}", "Close the quote.") from None
