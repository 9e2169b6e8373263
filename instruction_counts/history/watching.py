"""Watching builds as they come: each is compared with the one before, and each step alerts once.

What was seen, and what was said of it, is kept in a file between runs of the program.

File format history: 1, the first.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs
import cattrs

from instruction_counts.compare.comparison import Comparison
from instruction_counts.compare.sides import Key, Side
from instruction_counts.compare.verdicts import Difference
from instruction_counts.errors import BuildError, DataError
from instruction_counts.files import write_atomically
from instruction_counts.history.candidates import is_change

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
class State:
    """How far a watch got."""

    watched: str
    """What is watched: another command or selection needs a file of its own."""
    seen: tuple[str, ...] = ()
    """The builds that were looked at, also broken ones."""
    last: LastBuild | None = None
    alerts: tuple[Alert, ...] = ()

    def with_alerts(self, alerts: Iterable[Alert]) -> State:
        """With further alerts; those that it has already stay as they are."""
        known = {one.id for one in self.alerts}
        return attrs.evolve(
            self, alerts=(*self.alerts, *(one for one in alerts if one.id not in known))
        )

    def marked(self, alert: Alert, delivery: Delivery) -> State:
        """With an alert that got so far."""
        alerts = (
            attrs.evolve(one, delivery=delivery) if one.id == alert.id else one
            for one in self.alerts
        )
        return attrs.evolve(self, alerts=tuple(alerts))


class Station(Protocol):
    """Measures and compares the builds of a watch.

    Methods raise `BuildError` where a build cannot be made, does not start or has no torch.
    """

    def measure(self, name: str) -> tuple[LastBuild, Side]:
        """Make and measure a build, and store what it cost."""

    def stored(self, last: LastBuild) -> Side | None:
        """What was measured of an earlier build; None where it was deleted meanwhile."""

    def compare(self, base: Side, new: Side) -> Comparison:
        """Judge what was measured, without measuring again."""

    def verify(self, base: LastBuild, new: LastBuild, keys: Sequence[Key]) -> Comparison:
        """Measure cases once more on both builds, then in other memory layouts."""


def look_at(
    state: State,
    name: str,
    station: Station,
    describe: Callable[[Difference], tuple[str, tuple[str, ...]]],
    notice: Callable[[str], None],
) -> State:
    """Look at one new build; the state after it, with an alert for each step that was verified.

    A suspect alerts only if it still differs when both builds are measured once more, and as it
    differs then; unverified only where one of the builds does not start any more. ``describe``
    gives the title of a case and the causes of its change.
    """
    seen = attrs.evolve(state, seen=(*state.seen, name))
    try:
        build, side = station.measure(name)
    except BuildError as error:
        notice(f"{name} is broken, and passed over: {error.message}")
        return seen
    if not any(_is_counted(side, key) for key in side.records):
        notice(f"{name} is broken, and passed over: no case has a count")
        return seen
    before = state.last
    base = station.stored(before) if before is not None else None
    seen = attrs.evolve(seen, last=build)
    if before is None or base is None:
        return seen
    suspects = {one.key: one for one in station.compare(base, side).differences if is_change(one)}
    if not suspects:
        return seen
    try:
        again = station.verify(before, build, list(suspects))
    except BuildError as error:
        notice(f"{name}: {len(suspects)} suspects cannot be verified: {error.message}")
        found = list(suspects.values())
    else:
        # The direction may be another one: what was seen first may have been an outlier.
        found = [one for one in again.differences if one.key in suspects and is_change(one)]
    return seen.with_alerts(_alert(one, before.line, name, side, describe) for one in found)


def deliver(
    state: State,
    send: Callable[[Alert], None],
    save: Callable[[State], None],
    notice: Callable[[str], None],
) -> State:
    """Send what waits, and save the state before and after each; the state then.

    ``send`` raises `OSError` or `DataError` where an alert did not arrive; it waits for the next
    time then. One that was being sent when the program ended is not sent again: it may have
    arrived.
    """
    for alert in state.alerts:
        if alert.delivery is Delivery.SENDING:
            notice(f"An alert may not have arrived: {alert.case}, {alert.base} → {alert.new}")
            state = state.marked(alert, Delivery.SENT)
        if alert.delivery is not Delivery.WAITING:
            continue
        state = state.marked(alert, Delivery.SENDING)
        save(state)
        try:
            send(alert)
        except (OSError, DataError) as error:
            notice(f"An alert waits, as it cannot be sent now: {error}")
            state = state.marked(alert, Delivery.WAITING)
        else:
            state = state.marked(alert, Delivery.SENT)
        save(state)
    return state


def new_names(lines: str, seen: Iterable[str]) -> Iterator[str]:
    """The builds that a command printed and that were not seen yet, each once, in order."""
    known = set(seen)
    for line in lines.splitlines():
        name = line.strip()
        if name and name not in known:
            known.add(name)
            yield name


def read_state(path: Path, watched: str) -> State:
    """The state in a file; a fresh one where there is none.

    Raises:
        DataError: the file holds something else, or another watch's state.
    """
    remedy = "Name another file with --state, or remove it to start anew."
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return State(watched)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}", remedy) from error
    if not isinstance(data, Mapping) or data.get("version") != _VERSION:
        raise DataError(f"{path} is no state of a watch, or of another version", remedy)
    try:
        state = _CONVERTER.structure(data["state"], State)
    except (cattrs.BaseValidationError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} cannot be read: it holds no state of a watch", remedy) from error
    if state.watched != watched:
        raise DataError(f"{path} belongs to another watch: {state.watched}", remedy)
    return state


def write_state(path: Path, state: State) -> None:
    """Replace the state in a file.

    Raises:
        DataError: it cannot be written.
    """
    document = {"version": _VERSION, "state": _CONVERTER.unstructure(state)}
    try:
        write_atomically(path, json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror}", "Name another file with --state."
        ) from error


def alert_to_json(alert: Alert) -> str:
    """An alert for those who receive it, in one line."""
    document = _CONVERTER.unstructure(alert)
    del document["delivery"]
    return json.dumps({"text": text_of(alert), **document})


def text_of(alert: Alert) -> str:
    """An alert in one line for people; chats show what is called text."""
    counts = "" if alert.change is None else f" {alert.base_count:,} → {alert.new_count:,}"
    sure = "" if alert.verified else ", not verified"
    causes = f": {' · '.join(alert.causes)}" if alert.causes else ""
    return (
        f"{alert.verdict}: {alert.case}{counts} between {alert.base} and {alert.new} "
        f"({alert.reason}{sure}){causes}"
    )


_CONVERTER = cattrs.Converter(forbid_extra_keys=True)


def _alert(
    one: Difference,
    base: str,
    new: str,
    side: Side,
    describe: Callable[[Difference], tuple[str, tuple[str, ...]]],
) -> Alert:
    case, causes = describe(one)
    digest = hashlib.sha256(json.dumps([case, base, new]).encode()).hexdigest()
    return Alert(
        id=digest[:16],
        case=case,
        base=base,
        new=new,
        verdict=one.verdict.value,
        reason=one.reason.value,
        base_count=one.base_count,
        new_count=one.new_count,
        change=one.change,
        run=side.title,
        verified=one.verified,
        causes=causes,
    )


def _is_counted(side: Side, key: Key) -> bool:
    return side.records[key].outcome.instructions is not None
