"""How far a watch got: what was seen, and what was said of it, in a file between its runs.

File format history: 1, the first.
"""

from __future__ import annotations

import contextlib
import enum
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from core.types import CaseKey
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.reading.structure import read_as, require_version, strict_converter
from instruction_counts.system.files import locked, write_atomically

_VERSION = 1


class Delivery(enum.Enum):
    """How far an alert got."""

    WAITING = "waiting"
    SENDING = "sending"
    """Begun. If the program ends in between, nobody knows whether it arrived."""
    SENT = "sent"


@attrs.frozen
class Alert:
    """One step of one case."""

    id: str
    """The same for the same step, however often it is seen."""
    case: str
    base: str
    """The build before the step, as it was named."""
    new: str
    verdict: str
    reason: str
    base_count: int | None
    new_count: int | None
    change: int | None
    run: str
    """Where it was measured: ``run 12, NAME``."""
    verified: bool
    causes: tuple[str, ...] = ()
    delivery: Delivery = Delivery.WAITING


@attrs.frozen
class LastBuild:
    """The build that the next one is compared with."""

    line: str
    """As the command printed it."""
    name: str
    python: str
    run_id: int


@attrs.frozen
class Waiting:
    """Cases without a count since a build: they are compared with it when they have one again."""

    build: LastBuild
    cases: tuple[CaseKey, ...]


@attrs.frozen
class State:
    """How far a watch got."""

    watched: str
    """What is watched: another command, selection or database needs a file of its own."""
    seen: tuple[str, ...] = ()
    """The builds that were looked at, also broken ones."""
    last: LastBuild | None = None
    alerts: tuple[Alert, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    """The oldest build first; all are older than the last one."""

    def with_alerts(self, alerts: Iterable[Alert]) -> State:
        """With further alerts; those that it has already stay as they are."""
        known = {alert.id for alert in self.alerts}
        return attrs.evolve(
            self, alerts=(*self.alerts, *(alert for alert in alerts if alert.id not in known))
        )

    def marked(self, alert: Alert, delivery: Delivery) -> State:
        """With an alert that got so far."""
        alerts = (
            attrs.evolve(known, delivery=delivery) if known.id == alert.id else known
            for known in self.alerts
        )
        return attrs.evolve(self, alerts=tuple(alerts))


@attrs.frozen
class _File:
    version: int
    state: State


CONVERTER = strict_converter()
"""Alerts and states as plain data, and back."""
require_version(CONVERTER, _File, "version", _VERSION)


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep others from the state in a file meanwhile; a process that dies lets go of it.

    Raises:
        UsageError: another watch has it.
        DataError: nothing can be written there.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(path, patience_s=0))
        except TimeoutError as error:
            raise UsageError(
                f"another watch is using {path}",
                "Wait until it ends, or choose another file with --state.",
            ) from error
        except OSError as error:
            raise _not_writable(path, error) from error
        yield


def read_state(path: Path, watched: str) -> State:
    """The state in a file; a fresh one where there is none.

    Raises:
        DataError: the file holds something else, or another watch's state.
    """
    remedy = "Choose another file with --state, or delete it to start over."
    if not path.exists():
        return State(watched)
    state = read_as(path, _File, CONVERTER, remedy, as_json=True).state
    if state.watched != watched:
        raise DataError(f"{path} belongs to another watch: {state.watched}", remedy)
    return state


def write_state(path: Path, state: State) -> None:
    """Replace the state in a file.

    Raises:
        DataError: it cannot be written.
    """
    document = CONVERTER.unstructure(_File(_VERSION, state))
    try:
        write_atomically(path, json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise _not_writable(path, error) from error


def _not_writable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"{path} cannot be written: {error.strerror}", "Choose another file with --state."
    )
