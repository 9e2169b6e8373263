"""Watching builds as they come: each is compared with the one before, and its steps are found.

How far a watch got is a `State`.
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
from instruction_counts.domain.errors import BuildError
from instruction_counts.history.candidates import is_change


@attrs.frozen
class FoundStep:
    """One step of one case; plain values, for those who receive it."""

    id: str
    """The same for the same step, however often it is reported."""
    case: str
    base: str
    """The build before the step, as it was listed."""
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


@attrs.frozen
class LastBuild:
    """The build that the next one is compared with."""

    line: str
    """As it was listed."""
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
    waiting: tuple[Waiting, ...] = ()
    """The oldest build first; all are older than the last one."""
    unreported: tuple[FoundStep, ...] = ()
    """Steps that were found and not reported yet."""


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


CauseTexts: TypeAlias = Callable[[Difference], tuple[str, ...]]
Notice: TypeAlias = Callable[[str], None]


def look_at(
    state: State, name: str, builds: WatchedBuilds, causes: CauseTexts, notice: Notice
) -> State:
    """Look at one new build; the state after it, with the steps that were verified.

    Each case is compared with the last build on which it had a count; where that cannot be, a
    notice says so. A suspect is a step only if it still differs when both builds are measured once
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
    steps: list[FoundStep] = []
    waiting = _still_waiting(state, side)
    for base, before in _bases(state, side, builds):
        found = builds.compare(before, _only(side, before.records))
        lost = [difference for difference in found.differences if difference.new_count is None]
        if lost:
            notice(f"{name}: not counted, so not compared: {_titles(lost)}")
            waiting.append(Waiting(base, tuple(difference.key for difference in lost)))
        for why, those in _incomparable(found):
            notice(f"{name}: not comparable with {base.line}, {why}: {_titles(those)}")
        suspects = [difference for difference in found.differences if is_change(difference)]
        verified = _verified(suspects, base, build, builds, notice) if suspects else []
        steps += (_step(step, base.line, name, side, causes(step)) for step in verified)
    return attrs.evolve(
        seen, last=build, waiting=tuple(waiting), unreported=(*state.unreported, *steps)
    )


def new_names(lines: str, seen: Iterable[str]) -> Iterator[str]:
    """The builds that a command printed and that were not seen yet, each once, in order."""
    known = set(seen)
    for line in lines.splitlines():
        name = line.strip()
        if name and name not in known:
            known.add(name)
            yield name


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
    notice: Notice,
) -> list[Difference]:
    """The suspects that still differ, as they do then; as they were where that is not known."""
    try:
        again = builds.verify(base, new, [suspect.key for suspect in suspects])
    except BuildError as error:
        notice(f"{new.line}: {len(suspects)} suspects cannot be verified: {error.message}")
        return list(suspects)
    judged = {
        difference.key: difference
        for difference in again.differences
        if is_change(difference) or difference.verdict in {Verdict.SAME, Verdict.AMBIGUOUS}
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


def _titles(differences: Sequence[Difference]) -> str:
    named = [difference.key.title for difference in differences[:_NAMED]]
    more = len(differences) - len(named)
    return "; ".join(named) + (f" and {more} more" if more else "")


def _step(
    difference: Difference, base: str, new: str, side: Side, causes: tuple[str, ...]
) -> FoundStep:
    case = difference.key.title
    digest = hashlib.sha256(json.dumps([case, base, new]).encode()).hexdigest()
    return FoundStep(
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
