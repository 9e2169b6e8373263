"""Engines that several tests use: most of what a small command costs is to start its servers."""

from __future__ import annotations

from typing import Any, cast

import attrs

from instruction_counts.builds.hermetic import environment
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.engines import fork
from instruction_counts.engines.engine import Engine, Notice, Profile

_MOST = 2
"""How many are kept."""


@attrs.define
class Kept:
    """An engine that stays open for the next command when one closes it."""

    engine: Engine
    wanted: tuple[Any, ...]
    notice: Notice

    def __getattr__(self, name: str) -> Any:
        """Whatever else an engine does, the one that is kept does."""
        return getattr(self.engine, name)

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
        kept = next((kept for kept in self._kept if kept.wanted == wanted), None)
        if kept is None:
            if len(self._kept) == _MOST:
                self._kept.pop(0).engine.close()

            def tell(text: str) -> None:
                (notice if kept is None else kept.notice)(text)

            kept = Kept(fork.ENTRY.make(facts, profile, tell), wanted, notice)
        # The one that was asked for last is the last to go.
        self._kept = [*(other for other in self._kept if other is not kept), kept]
        kept.notice = notice
        return cast("Engine", kept)

    def close(self) -> None:
        """End what is open."""
        for kept in self._kept:
            kept.engine.close()
        self._kept = []
