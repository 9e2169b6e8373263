"""Watching builds as they come: each is compared with the one before, and each step alerts once.

What was seen, and what was said of it, is a `State`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias

import attrs

from core.types import CaseKey
from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.errors import BuildError, DataError
from instruction_counts.history.candidates import is_change
from instruction_counts.history.watch_state import (
    CONVERTER,
    Alert,
    Delivery,
    LastBuild,
    State,
    Waiting,
)


class WatchedBuilds(Protocol):
    """Measures and compares the builds of a watch.

    Methods raise `BuildError` where a build cannot be made, does not start or has no torch.
    """

    def measure(self, name: str) -> tuple[LastBuild, Side]:
        """Make and measure a build, and store what it cost."""

    def stored(self, last: LastBuild) -> Side | None:
        """What was measured of an earlier build; None where it was deleted meanwhile."""

    def compare(self, base: Side, new: Side) -> Comparison:
        """Judge what was measured, without measuring again."""

    def verify(self, base: LastBuild, new: LastBuild, keys: Sequence[CaseKey]) -> Comparison:
        """Measure cases once more on both builds, then in other memory layouts."""


Describe: TypeAlias = "Callable[[Difference], tuple[str, tuple[str, ...]]]"
"""The title of a case, and the causes of its change."""


def look_at(
    state: State,
    name: str,
    builds: WatchedBuilds,
    describe: Describe,
    notice: Callable[[str], None],
) -> State:
    """Look at one new build; the state after it, with an alert for each step that was verified.

    Each case is compared with the last build on which it had a count; where that cannot be, a
    notice says so. A suspect alerts only if it still differs when both builds are measured once
    more, and as it differs then; unverified only where that cannot be measured.
    """
    seen = attrs.evolve(state, seen=(*state.seen, name))
    try:
        build, side = builds.measure(name)
    except BuildError as error:
        notice(f"{name} is broken and was skipped: {error.message}")
        return seen
    if not _counted(side):
        notice(f"{name} is broken and was skipped: no case has a count")
        return seen
    alerts: list[Alert] = []
    waiting = _still_waiting(state, side)
    for base, before in _bases(state, side, builds):
        found = builds.compare(before, _only(side, before.records))
        lost = [difference for difference in found.differences if difference.new_count is None]
        if lost:
            notice(f"{name}: not counted, so not compared: {_titles(lost, describe)}")
            waiting.append(Waiting(base, tuple(difference.key for difference in lost)))
        for why, those in _incomparable(found):
            titles = _titles(those, describe)
            notice(f"{name}: not comparable with {base.line}, {why}: {titles}")
        suspects = [difference for difference in found.differences if is_change(difference)]
        steps = _verified(suspects, base, build, builds, notice) if suspects else []
        alerts += (_alert(step, base.line, name, side, describe) for step in steps)
    return attrs.evolve(seen, last=build, waiting=tuple(waiting)).with_alerts(alerts)


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
            notice(f"An alert could not be sent and will be retried: {error}")
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


_NAMED = 3
"""So many cases are named in a notice."""


def _counted(side: Side) -> frozenset[CaseKey]:
    """The cases that have a count."""
    return frozenset(
        key for key, record in side.records.items() if record.outcome.instructions is not None
    )


def _only(side: Side, keys: Iterable[CaseKey]) -> Side:
    """The side with these cases, as far as it has them."""
    kept = {key: side.records[key] for key in keys if key in side.records}
    return attrs.evolve(side, records=kept)


def _still_waiting(state: State, new: Side) -> list[Waiting]:
    """The cases that waited for a count, and have none on the new build either."""
    now = _counted(new)
    found = (
        attrs.evolve(entry, cases=tuple(key for key in entry.cases if key not in now))
        for entry in state.waiting
    )
    return [entry for entry in found if entry.cases]


def _bases(state: State, new: Side, builds: WatchedBuilds) -> Iterator[tuple[LastBuild, Side]]:
    """The builds that the new one is compared with, each with the cases that are."""
    now = _counted(new)
    for entry in state.waiting:
        back = [key for key in entry.cases if key in now]
        before = builds.stored(entry.build) if back else None
        if before is not None:
            yield entry.build, _only(before, back)
    before = builds.stored(state.last) if state.last is not None else None
    if state.last is not None and before is not None:
        counted = _counted(before)
        yield state.last, _only(before, [key for key in before.records if key in counted])


def _incomparable(comparison: Comparison) -> Iterator[tuple[str, list[Difference]]]:
    """What has a count on both sides and still cannot be compared, by the reason."""
    found: dict[Reason, list[Difference]] = {}
    for difference in comparison.differences:
        if (
            difference.verdict is Verdict.INCOMPARABLE
            and difference.new_count is not None
            and not is_change(difference)
        ):
            found.setdefault(difference.reason, []).append(difference)
    facts = "".join(
        f", {disagreement.text}"
        for disagreement in comparison.disagreements
        if disagreement.prevents
    )
    for reason, those in found.items():
        yield reason.value + (facts if reason is Reason.FINGERPRINT_DIFFERS else ""), those


def _verified(
    suspects: Sequence[Difference],
    base: LastBuild,
    new: LastBuild,
    builds: WatchedBuilds,
    notice: Callable[[str], None],
) -> list[Difference]:
    """The suspects that still differ, as they do then; as they were where that is not known."""
    try:
        again = builds.verify(base, new, [suspect.key for suspect in suspects])
    except BuildError as error:
        notice(f"{new.line}: {len(suspects)} suspects cannot be verified: {error.message}")
        return list(suspects)
    judged = {
        difference.key: difference for difference in again.differences if _is_judged(difference)
    }
    unknown = sum(suspect.key not in judged for suspect in suspects)
    if unknown:
        notice(
            f"{new.line}: {unknown} of {len(suspects)} suspects cannot be verified: "
            "they failed when measured again"
        )
    # The direction may be another one: what was seen first may have been an outlier.
    return [
        difference
        for difference in (judged.get(suspect.key, suspect) for suspect in suspects)
        if is_change(difference)
    ]


def _is_judged(difference: Difference) -> bool:
    return is_change(difference) or difference.verdict in {Verdict.SAME, Verdict.AMBIGUOUS}


def _titles(differences: Sequence[Difference], describe: Describe) -> str:
    named = [describe(difference)[0] for difference in differences[:_NAMED]]
    more = len(differences) - len(named)
    return "; ".join(named) + (f" and {more} more" if more else "")


def _alert(
    difference: Difference,
    base: str,
    new: str,
    side: Side,
    describe: Describe,
) -> Alert:
    case, causes = describe(difference)
    digest = hashlib.sha256(json.dumps([case, base, new]).encode()).hexdigest()
    return Alert(
        id=digest[:16],
        case=case,
        base=base,
        new=new,
        verdict=difference.verdict.value,
        reason=difference.reason.value,
        base_count=difference.base_count,
        new_count=difference.new_count,
        change=difference.change,
        run=side.title,
        verified=difference.verified,
        causes=causes,
    )
