"""An engine that is registered while a test runs, and builds to measure on it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import attrs
import pytest

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.build import Build
from instruction_counts.engines.engine import Ability, EngineEntry, Notice, Profile
from instruction_counts.engines.registry import register, unregister
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.measuring import Recorder
from instruction_counts.system.folders import RUNTIME_VARIABLE
from tests.fakes import FACTS, FakeEngine

SETTINGS = MeasurementSettings(engine="fake", jobs=1)


@contextmanager
def fake_engines(
    engines: Mapping[str, FakeEngine], *, layouts: Mapping[str, FakeEngine] | None = None
) -> Iterator[None]:
    """Register an engine that is, for each build by its name, one of ``engines``.

    ``layouts`` are those for other memory layouts than the usual one. Cores are lent as if nothing
    else ran on this machine: nothing is measured on them.
    """

    def make(facts: BuildFacts, profile: Profile, notice: Notice) -> FakeEngine:
        del notice
        made = layouts if profile.layout and layouts is not None else engines
        return made[facts.build.name]

    entry = register(EngineEntry("fake", "answers from a script", frozenset(Ability), make))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUNTIME_VARIABLE, folder)
        try:
            yield
        finally:
            unregister(entry)


def runner_of(*names: str, recorder: Recorder | None = None) -> BuildRunner:
    """Builds of these names, which nobody had to ask what they are."""
    facts = (attrs.evolve(FACTS, build=Build(name, "/nowhere/bin/python")) for name in names)
    return BuildRunner(tuple(facts), SETTINGS, recorder=recorder)
