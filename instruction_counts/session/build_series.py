"""Builds that come one after another: how each is made, and what is measured and known of it."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison, compare
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.builds.configured import find_interpreter, parse_build
from instruction_counts.core.types import Case
from instruction_counts.domain.build import Build, known_at_first
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.execution.events import Observer
from instruction_counts.session.builds import BuildRunner, other_files
from instruction_counts.session.comparing import ComparisonRequest, verify
from instruction_counts.session.measuring import MeasuredRun
from instruction_counts.system.commands import called

if TYPE_CHECKING:  # it takes a fifth of the start of a command, and some store nothing
    from instruction_counts.storage.store import Store

PLACEHOLDER = "{commit}"
"""What stands for the commit in a build command."""
VARIABLE = "COMMIT"
"""The environment variable that holds the commit while a build command runs."""


def check_build_command(command: str | None) -> str | None:
    """The command; one that makes the same build of each commit is refused.

    Raises:
        UsageError: it does not say the commit.
    """
    if command and PLACEHOLDER not in command and f"${VARIABLE}" not in command.replace("{", ""):
        raise UsageError(
            f"--build-cmd does not contain {PLACEHOLDER}",
            f'It stands for the commit, like "${VARIABLE}".',
        )
    return command


def listed(command: str) -> list[str]:
    """The lines that a command prints which lists builds, each once, the oldest first.

    Raises:
        BuildError: it fails.
    """
    status, output = _output_of(command)
    if status:
        raise BuildError(f"--command ends with {status}", f"Try it: {command}")
    return [*dict.fromkeys(line.strip() for line in output.splitlines() if line.strip())]


def maker_of(
    line: str, build_command: str | None, made: dict[str, str], notice: Callable[[str], None]
) -> Callable[[], Build]:
    """What makes a build that was listed: ``NAME=PYTHON``, or a commit for a build command.

    The maker raises what `made_build` does.

    Raises:
        UsageError: the line is a commit, and there is no such command.
    """
    if build_command is not None:
        return functools.partial(made_build, build_command, line, made, notice)
    if not line.partition("=")[0] or "=" not in line:
        remedy = "With commits, say how to make their builds: --build-cmd."
        raise UsageError(f'"{line}" is not NAME=PYTHON', remedy)
    return functools.partial(parse_build, line)


def made_build(
    command: str, commit: str, made: dict[str, str], notice: Callable[[str], None]
) -> Build:
    """The build that a build command makes of a commit; ``made`` holds where others are.

    The shell gets the commit in its environment, and never as text of the command: whatever it
    holds, it cannot end quotes of the command, or add to it.

    Raises:
        BuildError: the command fails, or no interpreter where it says.
        UsageError: it made two builds in one place.
    """
    notice(f"Making {commit}")
    script = command.replace(PLACEHOLDER, f'"${VARIABLE}"')
    status, output = _output_of(script, {**os.environ, VARIABLE: commit})
    if status:
        raise BuildError(
            f"the build command ends with {status}",
            f"Try it: export {VARIABLE}={shlex.quote(commit)}; {script}",
        )
    printed = output.strip().splitlines()
    if not printed:
        raise BuildError(
            "the build command prints nothing",
            "Its last line has to be an interpreter or a virtual environment.",
        )
    python = find_interpreter(commit, printed[-1].strip())
    other = made.setdefault(python, commit)
    if other != commit:
        raise UsageError(
            f"the build command made {other} and {commit} in one place: {python}",
            "Make a virtual environment for each commit: both builds are needed at once.",
        )
    return Build(commit, python)


def _output_of(script: str, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """How a shell command of the user ends, and what it prints; its errors go to stderr."""
    done = called(["/bin/bash", "-c", script], stderr=None, env=environment)
    return done.returncode, done.stdout


@attrs.define
class StoreBuildMeasurer:
    """Measures builds as `compare` does, or takes them from the store.

    Methods that take builds raise `BuildError` where one does not start.
    """

    request: ComparisonRequest
    store: Store
    observer: Observer
    is_sound: bool = attrs.field(default=True, init=False)
    """Whether all that was measured is stored, and no build changed meanwhile."""
    _runner: BuildRunner | None = attrs.field(default=None, init=False)
    """Of what was measured last."""

    def known(self, build: Build, case: Case) -> Side | None:
        """What was measured of a case on this very build before; None where that is not known.

        A build is known by its name and its fingerprint: two builds of one commit with different
        patches have the same fingerprint. A run during which files changed may be of other code, or
        after which.
        """
        settings = self.request.settings
        facts = settings.probe(build, self.observer.note)
        fingerprint = known_at_first(settings.fingerprint(facts))
        wanted = build.name, settings.engine, case.definition_hash, fingerprint
        refused = ""
        for count in reversed(self.store.counts([case.key])):
            measured_with = known_at_first(count.fingerprint)
            is_same = wanted == (count.build, count.engine, count.definition_hash, measured_with)
            if is_same and count.instructions is not None and not count.has_changed_files:
                run = self.store.load(count.run_id)
                if why := other_files(facts, run):
                    refused = refused or f"run {count.run_id} is not taken: {why}"
                    continue
                title = f"run {count.run_id}, {build.name}"
                side = side_of(run, build.name, title, count.run_id)
                self.observer.note(f"{build.name}: known from run {count.run_id}")
                return attrs.evolve(side, records={case.key: side.records[case.key]})
        if refused:
            self.observer.note(f"{build.name}: {refused}")
        return None

    def measure(self, builds: Sequence[Build]) -> Mapping[str, Side]:
        """Measure builds now, by turns in fresh servers; the sides by the names of the builds.

        They are those that a search asks for, in its order.
        """
        return self.measured(builds, in_order=False).sides

    def measured(self, builds: Sequence[Build], *, in_order: bool = True) -> MeasuredRun:
        """A run of builds, which are the next ones."""
        cases = self.request.cases()
        self._runner = BuildRunner.of(
            *(builds, self.request.settings, self.observer, self.store), in_order=in_order
        )
        measured = self._runner.run(self._runner.orders(cases, skip=True))
        self.is_sound = self.is_sound and measured.run.is_sound
        return measured.finished()

    def compare(self, base: Side, new: Side) -> Comparison:
        """Judge what was measured, without measuring again."""
        return compare(base, new, self.request.min_effect)

    def check(self, comparison: Comparison) -> Comparison:
        """Count the suspects of a comparison again, in other layouts of what was measured last."""
        assert self._runner is not None, "something was measured"
        return verify(self._runner, self.request.cases(), comparison, self.request.layouts)
