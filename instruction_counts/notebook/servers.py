"""Engines that stay open from one count to the next, for as long as they measure what there is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TypeAlias

import attrs

from instruction_counts.builds.hermetic import environment
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import FailureKind
from instruction_counts.domain.statements import Statements
from instruction_counts.execution.events import Observer, Silent
from instruction_counts.session.builds import BuildRunner, Engines, MeasurementSettings
from instruction_counts.session.timing import Timed, time_statements

RunnerOf: TypeAlias = Callable[..., BuildRunner]


@attrs.frozen
class _Started:
    """What engines were started for: others are needed where any of it differs."""

    build: Build
    engine: str
    allocator: str
    pin_isa: str | None
    environment: Mapping[str, str] = attrs.field(repr=False)

    @classmethod
    def of(cls, build: Build, settings: MeasurementSettings) -> _Started:
        """For measuring ``build`` in this way."""
        return cls(
            *(build, settings.engine, settings.allocator, settings.pin_isa), environment(build)
        )


class Servers:
    """Measures statements on engines that it keeps open; ``observer`` learns why new ones start.

    One build at a time: its servers take some hundred MB. They are replaced where files of torch or
    the interpreter changed since they were started, and given up where a measurement is interrupted
    or they do not start.
    """

    def __init__(self, observer: Observer, runner_of: RunnerOf = BuildRunner.of) -> None:
        self._observer, self._runner_of = observer, runner_of
        self._open = contextlib.ExitStack()
        self._started: _Started | None = None
        self._runner: BuildRunner | None = None
        self._engines: Engines = {}

    def time(
        self,
        asked: Statements,
        build: Build,
        settings: MeasurementSettings,
        *,
        fresh: bool = False,
    ) -> Timed:
        """Measure statements; ``fresh`` starts new servers whether that is needed or not.

        Raises:
            UsageError, DefinitionError: a statement cannot be measured.
            BuildError: the build cannot be measured.
            KeyboardInterrupt: it was interrupted; the next count starts new servers.
        """
        try:
            runner = self._runner_for(build, settings, fresh=fresh)
            quiet = _Problems(self._observer)
            mine = attrs.evolve(runner, settings=settings, observer=quiet)
            timed = time_statements(
                asked, build, settings, quiet, runner_of=lambda *_: mine, engines=self._engines
            )
        except KeyboardInterrupt:
            self.close()
            raise
        if _lost_its_server(timed):
            self.close()
        return timed

    def close(self) -> None:
        """End the servers, if there are any; the next count starts new ones."""
        opened, self._open = self._open, contextlib.ExitStack()
        self._started, self._runner, self._engines = None, None, {}
        opened.close()

    def _runner_for(
        self, build: Build, settings: MeasurementSettings, *, fresh: bool
    ) -> BuildRunner:
        needed = _Started.of(build, settings)
        if fresh or self._started != needed or self._is_stale():
            self.close()
        if self._runner is None:
            runner = self._runner_of([build], settings, self._observer)
            self._engines = self._open.enter_context(runner.engines())
            self._runner, self._started = runner, needed
        return self._runner

    def _is_stale(self) -> bool:
        """Whether files of the build changed since; says so."""
        if self._runner is None:
            return False
        for facts in self._runner.facts:
            changed = facts.changed_files()
            if changed is not None:
                self._observer.note(
                    f"Files of the build changed, and its servers start again: {changed.summary}"
                )
                return True
        return False


class _Problems(Silent):
    """Passes on problems alone: a notebook shows results."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def error(self, text: str) -> None:
        """Report a problem after which the use case goes on."""
        self._observer.error(text)


def _lost_its_server(timed: Timed) -> bool:
    """Whether an engine refused a case: it goes on to refuse those that follow."""
    failures = (found.record.outcome.failure for found in timed.statements)
    return not timed.is_sound or any(
        failure is not None and failure.kind is FailureKind.REFUSED for failure in failures
    )
