"""The extension of IPython: ``%load_ext instruction_counts`` adds ``%icount`` and ``%%icount``."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from typing import Any, NoReturn

import attrs
import click
from IPython.core.error import UsageError as ShellError

from instruction_counts.api import Build, MeasurementSettings, Result, Session
from instruction_counts.cli import console
from instruction_counts.core.errors import DefinitionError, DefinitionErrors
from instruction_counts.domain.errors import UsageError
from instruction_counts.notebook.options import Request, parse
from instruction_counts.report import format as fmt
from instruction_counts.report.statements import statements_document
from instruction_counts.session.timing import Timed
from instruction_counts.system.program import PROGRAM
from instruction_counts.system.shortages import shortage

_MAGIC = "icount"


class StoppedError(KeyboardInterrupt):
    """Ends the cell, and keeps those after it from running; shown as one line."""

    def _render_traceback_(self) -> list[str]:
        return ["Interrupted."]


class Extension:
    """The magic, with the session that it keeps: one build, measured in one way, at a time."""

    def __init__(self, shell: Any, session_of: Callable[..., Session] = Session) -> None:
        self._shell, self._session_of = shell, session_of
        self._session: Session | None = None
        self._process = os.getpid()

    def icount(self, line: str, cell: str | None = None) -> Result | list[Result] | None:
        """Measure a statement of the notebook: see docs/how-to/notebooks.md, or %icount --help.

        Names of the notebook that a Python statement reads are passed on as copies.
        """
        try:
            request = parse(line, cell)
            return None if request is None else self._measured(request)
        except KeyboardInterrupt:
            raise StoppedError from None
        except (UsageError, DefinitionError, DefinitionErrors) as error:
            _refuse(error)
        except click.ClickException as error:
            raise ShellError(error.format_message()) from None
        except (OSError, RuntimeError, MemoryError) as error:
            explained = shortage(error)
            if explained is None:
                raise
            _refuse(explained)

    def close(self) -> None:
        """End the servers, unless this is a fork of the process that has them."""
        if self._session is not None and os.getpid() == self._process:
            self._session.close()

    def _measured(self, request: Request) -> Result | list[Result] | None:
        session, measuring = self._session_for(request.build, request.measuring), request.measuring
        if request.fresh:
            session.close()
        values = self._shell.user_ns
        timed = session.statements(request.asked, values, measuring)
        counted = attrs.evolve(measuring, times=False)
        again = [
            session.statements(request.asked, values, counted)
            for _ in range(request.times_counted - 1)
        ]
        _show(timed)
        if again:
            console.line("")
            for line in _agreement([timed, *again]):
                console.line(line)
        results = [Result(found.record) for found in timed.statements]
        return (results if len(results) > 1 else results[0]) if request.returned else None

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
    atexit.register(extension.close)


def unload(shell: Any) -> None:
    """Remove the magic from ``shell``, and end its servers."""
    for magics in shell.magics_manager.magics.values():
        found = magics.pop(_MAGIC, None)
        extension = getattr(found, "__self__", None)
        if isinstance(extension, Extension):
            extension.close()
            atexit.unregister(extension.close)


def _show(timed: Timed) -> None:
    console.show(statements_document(timed.statements, timed.run))
    if timed.advice:
        console.note(timed.advice)


def _agreement(all_timed: list[Timed]) -> list[str]:
    """A line for each statement: whether its counts were the same each time."""
    lines = []
    for same in zip(*(timed.statements for timed in all_timed), strict=True):
        counts = [found.record.outcome.instructions for found in same]
        known = [count for count in counts if count is not None]
        title = f"{same[0].record.key.title}: " if len(all_timed[0].statements) > 1 else ""
        if len(known) < len(counts):
            lines.append(f"{title}counted {len(known)} of {len(counts)} times")
        elif len({count.per_run for count in known}) == 1:
            lines.append(f"{title}counted {len(known)} times, the counts are equal")
        else:
            shown = " · ".join(fmt.count(count) for count in known)
            lines.append(f"{title}counted {len(known)} times, the counts differ: {shown}")
    return lines


def _refuse(problem: Exception) -> NoReturn:
    text = problem.text(PROGRAM) if isinstance(problem, UsageError) else str(problem)
    raise ShellError(text) from None
