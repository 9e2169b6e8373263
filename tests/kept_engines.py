"""Engines that several tests use: most of what a small command costs is to start its servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.builds.hermetic import environment
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines import fork
from instruction_counts.engines.engine import Engine, Lend, Notice, Profile

_MOST = 2
"""How many are kept."""


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
    """The engines of the builds that were measured last; some, as each takes memory."""

    def __init__(self) -> None:
        self._kept: list[Kept] = []

    def make(self, facts: BuildFacts, profile: Profile, notice: Notice) -> Engine:
        """The one that is there, if one was made for the same."""
        # The name of a build is for people.
        anonymous = attrs.evolve(facts, build=attrs.evolve(facts.build, name=""))
        wanted = anonymous, profile, environment(facts.build)
        for kept in self._kept:
            if (kept.facts, kept.profile, kept.environment) == wanted:
                break
        else:
            kept = self._made(wanted, facts, profile)
        # The one that was asked for last is the last to go.
        self._kept = [*(other for other in self._kept if other is not kept), kept]
        kept.notice = notice
        return kept

    def _made(self, wanted: tuple[Any, ...], facts: BuildFacts, profile: Profile) -> Kept:
        if len(self._kept) == _MOST:
            self._kept.pop(0).engine.close()
        made: list[Kept] = []

        def tell(text: str) -> None:
            for kept in made:
                kept.notice(text)

        made.append(Kept(fork.ENTRY.make(facts, profile, tell), *wanted, lambda _: None))
        return made[0]

    def close(self) -> None:
        """End what is open."""
        for kept in self._kept:
            kept.engine.close()
        self._kept = []
