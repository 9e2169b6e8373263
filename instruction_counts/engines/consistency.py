"""Engines that count alike: what another engine counts cannot stand beside it in one run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import attrs

from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Engine


class Kind:
    """The engine whose counts a run holds: that of the first count, for all lanes and builds."""

    def __init__(self) -> None:
        self._name = ""
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``fork`` or ``timer``; empty before the first count."""
        return self._name

    def admits(self, name: str) -> bool:
        """Whether a count of the engine ``name`` can stand with the others; the first one can."""
        with self._lock:
            self._name = self._name or name
            return self._name == name


class AlikeEngine:
    """An engine that fails where it counts otherwise than the run has been counted before.

    The fork engine may be replaced by the reference engine at any time, whose counts are others.
    ``before`` is the fingerprint of what the run holds already of the build.
    """

    def __init__(self, engine: Engine, kind: Kind, before: Fingerprint | None = None) -> None:
        self._engine, self._kind, self._counted = engine, kind, before

    def after(self, before: Fingerprint) -> AlikeEngine:
        """The same engine, in a run that holds something of the build already."""
        return AlikeEngine(self._engine, self._kind, before)

    @property
    def name(self) -> str:
        """What measures now."""
        return self._engine.name

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """See `Engine`; the outcome is a failure where the count would be one of another kind."""
        if order.counts and self._is_replaced:
            return self._refused()
        outcome = self._engine.measure(order, cores, folder)
        if outcome.instructions is None:
            return outcome
        # The name comes last: an engine that has not been replaced by now counted all before it.
        fingerprint = self._engine.fingerprint
        if not self._kind.admits(self._engine.name):
            return self._refused()
        self._counted = fingerprint
        return outcome

    @property
    def fingerprint(self) -> Fingerprint:
        """That of the counts which the run holds, also when another engine has taken over."""
        now = self._engine.fingerprint
        if self._counted is None:
            return now
        if self._is_replaced:
            return self._counted
        # What is counted under Valgrind is known only when the server is up.
        capability = now.counted_capability or self._counted.counted_capability
        return attrs.evolve(now, counted_capability=capability)

    def start(self, orders: Sequence[WorkOrder], cores: Sequence[int]) -> None:
        """See `Engine`."""
        self._engine.start(orders, cores)

    def wait(self) -> None:
        """See `Engine`."""
        self._engine.wait()

    def close(self) -> None:
        """See `Engine`."""
        self._engine.close()

    @property
    def _is_replaced(self) -> bool:
        return self._kind.name not in {"", self._engine.name}

    def _refused(self) -> Outcome:
        message = (
            f'counted by another engine ("{self._engine.name}") than the rest of this run '
            f'("{self._kind.name}"): measure all of it with --engine timer'
        )
        return Outcome.failed(Failure(FailureKind.REFUSED, message))
