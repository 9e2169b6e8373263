"""The extension of IPython: ``%load_ext instruction_counts`` adds ``%icount`` and ``%%icount``."""

from __future__ import annotations

import atexit
import os
from typing import Any, NoReturn

import attrs
import click
from IPython.core.error import UsageError as ShellError

from core.errors import DefinitionError, DefinitionErrors
from instruction_counts.cli import console
from instruction_counts.domain.errors import UsageError
from instruction_counts.notebook.free_names import free_names
from instruction_counts.notebook.options import Request, parse
from instruction_counts.notebook.servers import Servers
from instruction_counts.notebook.values import code_of
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
    """The magic, with the servers that it keeps."""

    def __init__(self, shell: Any, servers: Servers) -> None:
        self._shell, self._servers = shell, servers
        self._process = os.getpid()

    def icount(self, line: str, cell: str | None = None) -> Timed | None:
        """Measure a statement of the notebook: see docs/how-to/notebooks.md, or %icount --help.

        Names of the notebook that a Python statement reads are passed on by value.
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
        if os.getpid() == self._process:
            self._servers.close()

    def _measured(self, request: Request) -> Timed | None:
        asked = request.asked
        if not asked.is_cpp:
            names = free_names(asked.py_setup, asked.stmts)
            passed = code_of(names, self._shell.user_ns)
            setup = "\n".join(code for code in (passed, asked.py_setup) if code)
            asked = attrs.evolve(asked, py_setup=setup)
        build, measuring = request.build, request.measuring
        timed = self._servers.time(asked, build, measuring, fresh=request.fresh)
        counted = attrs.evolve(measuring, times=False)
        again = [
            self._servers.time(asked, build, counted) for _ in range(request.times_counted - 1)
        ]
        _show(timed)
        if again:
            console.line("")
            for line in _agreement([timed, *again]):
                console.line(line)
        return timed if request.returned else None


def load(shell: Any, servers: Servers | None = None) -> None:
    """Add the magic to ``shell``; its servers end with the process, at the latest."""
    unload(shell)
    extension = Extension(shell, servers or Servers(console))
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
