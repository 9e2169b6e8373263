"""An engine that is registered while a test runs, builds to measure on it, and a store."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

from instruction_counts.builds.cuda.stand_ins import Versions
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.types import Case
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import EngineEntry, MeasureInTurns, Notice, Profile
from instruction_counts.engines.registry import register, unregister
from instruction_counts.execution import local_lanes
from instruction_counts.execution.events import Silent
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.storage.store import Store
from instruction_counts.system.folders import RUNTIME_VARIABLE
from tests.fakes import FACTS, FINGERPRINT, FakeEngine

SETTINGS = MeasurementSettings(engine="fake", jobs=1)
CUDA_BUILD = {"cuda": Versions("13.2")}
WITH_GPU = {**CUDA_BUILD, "fingerprint": attrs.evolve(FINGERPRINT, gpu="A GPU")}
"""Facts of a build."""


@contextmanager
def fake_engines(
    engines: Mapping[str, FakeEngine],
    *,
    layouts: Mapping[str, FakeEngine] | None = None,
    in_turns: MeasureInTurns | None = None,
) -> Iterator[None]:
    """Register an engine that is, for each build by its name, one of ``engines``.

    ``layouts`` are those for other memory layouts than the usual one. Cores are lent as if nothing
    else ran on this machine: nothing is measured on them. ``in_turns`` times two builds in turns.
    """

    def make(facts: BuildFacts, profile: Profile, notice: Notice) -> FakeEngine:
        made = layouts if profile.layout and layouts is not None else engines
        return made[facts.build.name]

    entry = register(EngineEntry("fake", "answers from a script", True, make, in_turns))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUNTIME_VARIABLE, folder)
        try:
            yield
        finally:
            unregister(entry)


@contextmanager
def known_lanes() -> Iterator[str]:
    """Register lanes on which any build is known, and fake engines measure, whatever is asked for.

    A command that was called before takes engines that were registered then alone.
    """
    local = local_lanes.lanes_named(local_lanes.DEFAULT)
    entry = local_lanes.register(
        attrs.evolve(
            local,
            name="known",
            probe=lambda build, _timeout_s: attrs.evolve(FACTS, build=build),
            open=lambda asked: local.open(attrs.evolve(asked, engine="fake")),
        )
    )
    try:
        yield entry.name
    finally:
        local_lanes.unregister(entry)


def runner_of(*names: str, recorder: Store | None = None, **facts: Any) -> BuildRunner:
    """Builds of these names, which nobody had to ask what they are; ``facts`` replace others."""
    builds = (Build(name, "/nowhere/bin/python") for name in names)
    found = (attrs.evolve(FACTS, build=build, **facts) for build in builds)
    return BuildRunner(tuple(found), SETTINGS, recorder=recorder)


def planned(
    cases: Sequence[Case], facts: Mapping[str, Any], *, skip: bool = False, **settings: Any
) -> list[WorkOrder]:
    """The orders for a build with these facts."""
    runner = BuildRunner((attrs.evolve(FACTS, **facts),), MeasurementSettings(**settings))
    return runner.orders(cases, skip=skip)


class FakeRecorder:
    """A store that takes the cases that ``accepts`` says, and remembers what it was asked for."""

    def __init__(self, accepts: Callable[[str], bool] = lambda _: True) -> None:
        self.accepts = accepts
        self.asked: list[str] = []
        self.kept: dict[str, Record] = {}
        self.state = ""
        self.option = ("--db", "a.db")
        self.error: UsageError = DataError("it is full")

    def begin(self, run: Run) -> int:
        """See `Store`."""
        del run
        return 7

    def add(self, run_id: int, record: Record) -> Record:
        """See `Store`."""
        del run_id
        name = record.label[-1]
        self.asked.append(name)
        if not self.accepts(name):
            raise self.error
        self.kept[name] = record
        return record.without_details(lambda: record.outcome.details)

    def finish(self, run_id: int, run: Run, *, interrupted: bool) -> None:
        """See `Store`: all, or nothing."""
        del run_id
        kept = {record.label[-1]: record for record in run.cases}
        if not all(map(self.accepts, kept)):
            raise self.error
        self.kept, self.state = kept, "interrupted" if interrupted else "complete"


class Remarks(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.errors: list[str] = []

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)

    def error(self, text: str) -> None:
        """Keep it."""
        self.errors.append(text)
