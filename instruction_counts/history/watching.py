"""Watching builds as they come: each is compared with the one before, and each step alerts once.

What was seen, and what was said of it, is a `State`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import attrs

from instruction_counts.compare.comparison import Comparison
from instruction_counts.compare.sides import Key, Side
from instruction_counts.compare.verdicts import Difference
from instruction_counts.errors import BuildError, DataError
from instruction_counts.history.candidates import is_change
from instruction_counts.history.watch_state import CONVERTER, Alert, Delivery, LastBuild, State


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


def alert_to_json(alert: Alert) -> str:
    """An alert for those who receive it, in one line."""
    document = CONVERTER.unstructure(alert)
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
