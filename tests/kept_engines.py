"""Engines that several tests use: most of what a small command costs is to start its servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from instruction_counts.builds.hermetic import environment
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines import fork
from instruction_counts.engines.engine import Engine, Lend
from instruction_counts.engines.entry import Notice, Profile


@attrs.define
class Kept:
    """An engine that stays open for the next command when one closes it."""

    engine: Engine
    facts: BuildFacts
    profile: Profile
    environment: Mapping[str, str]
    notice: Notice

    @property
    def fingerprint(self) -> Fingerprint:
        """What is measured."""
        return self.engine.fingerprint

    def check(self, orders: Sequence[WorkOrder]) -> None:
        """Find out whether orders can be carried out."""
        self.engine.check(orders)

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """Measure one case."""
        return self.engine.measure(order, cores, folder)

    def start(self, orders: Sequence[WorkOrder], lend: Lend) -> None:
        """Get ready, as far as it is not."""
        self.engine.start(orders, lend)

    def wait(self) -> None:
        """Wait until it is ready."""
        self.engine.wait()

    def close(self) -> None:
        """Stay open."""


class KeptEngines:
    """The engine of the last build that was measured; another build gets another."""

    def __init__(self) -> None:
        self._kept: Kept | None = None

    def make(self, facts: BuildFacts, profile: Profile, notice: Notice) -> Engine:
        """The one that is there, if it was made for the same."""
        kept = self._kept
        # The name of a build is for people.
        anonymous = attrs.evolve(facts, build=attrs.evolve(facts.build, name=""))
        wanted = anonymous, profile, environment(facts.build)
        if kept is None or (kept.facts, kept.profile, kept.environment) != wanted:
            self.close()
            engine = fork.ENTRY.make(facts, profile, self._notify)
            kept = self._kept = Kept(engine, *wanted, notice)
        kept.notice = notice
        return kept

    def close(self) -> None:
        """End what is open."""
        if self._kept is not None:
            self._kept.engine.close()
        self._kept = None

    def _notify(self, text: str) -> None:
        if self._kept is not None:
            self._kept.notice(text)
