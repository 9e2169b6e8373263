"""Where ``watch`` reports steps: the screen, files of JSON lines, a command of the user."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import attrs

from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.cli import console
from instruction_counts.cli.output import STDOUT
from instruction_counts.domain.errors import DataError
from instruction_counts.report.causes import of_case
from instruction_counts.report.history import step_text
from instruction_counts.session.watch_state import FoundStep


@attrs.frozen
class StepReporting:
    """Reports each step as a line of JSON to files and to a command; the screen shows its text."""

    files: tuple[Path, ...] = ()
    """``-`` is standard output, which holds JSON alone then."""
    command: str | None = None
    """A shell command that gets the line on its standard input; what it prints goes to stderr."""

    def causes(self, difference: Difference) -> tuple[str, ...]:
        """The causes of a change, as texts."""
        return of_case(difference)

    def report(self, step: FoundStep) -> None:
        """Report a step; a file takes it only once, so that this can be tried again.

        Raises:
            OSError, DataError: it could not be reported everywhere.
        """
        line = json.dumps({"text": step_text(step), **attrs.asdict(step)}) + "\n"
        for file in self.files:
            if file != STDOUT and not _holds(file, step):
                with file.open("a", encoding="utf-8") as stream:
                    stream.write(line)
        if self.command is not None:
            shell = ["/bin/bash", "-c", self.command]
            done = subprocess.run(shell, input=line, stdout=2, text=True, check=False)
            if done.returncode:
                raise DataError(f"--on-step ends with {done.returncode}", f"Try it: {self.command}")
        if STDOUT in self.files:
            console.write(line)
        else:
            console.line(step_text(step))


def _holds(file: Path, step: FoundStep) -> bool:
    """Whether a file has the step already; others may write there, too."""
    try:
        return f'"id": "{step.id}"' in file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False
