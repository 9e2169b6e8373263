"""Watching builds as they come: each is compared with the one before, and its steps are found.

How far a watch got is a `State`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import BuildError


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
class SeenBuild:
    """A build that later ones are compared with."""

    line: str
    """As it was listed."""
    name: str
    python: str
    run_id: int


@attrs.frozen
class Base:
    """The cases whose last count is that of a build."""

    build: SeenBuild
    cases: tuple[CaseKey, ...]


@attrs.frozen
class State:
    """How far a watch got."""

    watched: str
    """What is watched: another command, selection or database needs a file of its own."""
    seen: tuple[str, ...] = ()
    """The builds that were looked at, also broken ones."""
    bases: tuple[Base, ...] = ()
    """What the next build is compared with, the oldest first; each case is in one of them."""
    unreported: tuple[FoundStep, ...] = ()
    """Steps that were found and not reported yet."""


class WatchedBuilds(Protocol):
    """Measures and compares the builds of a watch.

    Methods raise `BuildError` where a build cannot be made, does not start or has no torch.
    """

    def measure(self, name: str) -> tuple[SeenBuild, Side]:
        """Make and measure a build, and store what it cost."""

    def stored(self, last: SeenBuild) -> Side | None:
        """What was measured of an earlier build; None where it was deleted meanwhile."""

    def compare(self, base: Side, new: Side) -> Comparison:
        """Judge what was measured, without measuring again."""

    def verify(self, base: SeenBuild, new: SeenBuild, keys: Sequence[CaseKey]) -> Comparison:
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
    state = attrs.evolve(state, seen=(*state.seen, name))
    try:
        build, side = builds.measure(name)
    except BuildError as error:
        notice(f"{name} is broken and was skipped: {error.message}")
        return state
    counted = {key: None for key, record in side.records.items() if record.outcome.instructions}
    if not counted:
        notice(f"{name} is broken and was skipped: no case has a count")
        return state
    steps: list[FoundStep] = []
    waiting: list[Base] = []
    for base in state.bases:
        back = [key for key in base.cases if key in counted]
        lost = tuple(key for key in base.cases if key not in counted)
        if lost:
            waiting.append(Base(base.build, lost))
        if lost and base is state.bases[-1]:  # later, it was said before
            notice(f"{name}: not counted, so not compared: {_titles(lost)}")
        before = builds.stored(base.build) if back else None
        if before is None:
            continue
        found = builds.compare(*(_only(side, back) for side in (before, side)))
        for why, keys in _incomparable(found):
            notice(f"{name}: not comparable with {base.build.line}, {why}: {_titles(keys)}")
        suspects = [difference for difference in found.differences if difference.is_change]
        verified = _verified(suspects, base.build, build, builds, notice) if suspects else []
        steps += (_step(step, base.build.line, name, side, causes(step)) for step in verified)
    bases = (*waiting, Base(build, tuple(counted)))
    return attrs.evolve(state, bases=bases, unreported=(*state.unreported, *steps))


def new_names(lines: str, seen: Collection[str]) -> list[str]:
    """The builds that a command printed and that were not seen yet, each once, in order."""
    names = dict.fromkeys(line.strip() for line in lines.splitlines())
    return [name for name in names if name and name not in seen]


_NAMED = 3
"""So many cases are named in a notice."""


def _only(side: Side, keys: Iterable[CaseKey]) -> Side:
    return attrs.evolve(
        side, records={key: side.records[key] for key in keys if key in side.records}
    )


def _incomparable(found: Comparison) -> Iterator[tuple[str, list[CaseKey]]]:
    """What cannot be compared, by the reason."""
    reasons: dict[Reason, list[CaseKey]] = {}
    for difference in found.differences:
        if difference.verdict is Verdict.INCOMPARABLE and not difference.is_change:
            reasons.setdefault(difference.reason, []).append(difference.key)
    facts = "".join(f", {fact.text}" for fact in found.disagreements if fact.prevents)
    for reason, keys in reasons.items():
        yield reason.value + (facts if reason is Reason.FINGERPRINT_DIFFERS else ""), keys


def _verified(
    suspects: Sequence[Difference],
    base: SeenBuild,
    new: SeenBuild,
    builds: WatchedBuilds,
    notice: Notice,
) -> list[Difference]:
    """The suspects that still differ, as they do then; as they were where that is not known."""
    try:
        again = builds.verify(base, new, [suspect.key for suspect in suspects])
    except BuildError as error:
        notice(f"{new.line}: candidates cannot be verified: {error.message}")
        return list(suspects)
    judged = {
        difference.key: difference
        for difference in again.differences
        if difference.is_change or difference.verdict in {Verdict.SAME, Verdict.AMBIGUOUS}
    }
    unknown = sum(suspect.key not in judged for suspect in suspects)
    if unknown:
        notice(
            f"{new.line}: {unknown} of {len(suspects)} candidates cannot be verified: "
            "they failed when measured again"
        )
    # The direction may be another one: what was seen first may have been an outlier.
    last = (judged.get(suspect.key, suspect) for suspect in suspects)
    return [difference for difference in last if difference.is_change]


def _titles(keys: Sequence[CaseKey]) -> str:
    named = [key.title for key in keys[:_NAMED]]
    more = len(keys) - len(named)
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
