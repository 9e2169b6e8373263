"""Watching builds as they come: each is compared with the one before, and its steps are reported.

Each case is compared with the last build on which it had a count; where that cannot be, a notice
says so. A suspect is a step only if it still differs when both builds are measured once more, and
as it differs then; unverified only where that cannot be measured.
"""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.builds.configured import parse_build
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.execution.events import Observer
from instruction_counts.session.build_series import StoreBuildMeasurer, made_build, output_of
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.session.watch_state import (
    Base,
    FoundStep,
    SeenBuild,
    State,
    held,
    read_state,
    state_file_of,
    write_state,
)
from instruction_counts.storage.store import Store
from instruction_counts.system.program import program_name

_NAMED = 3
"""So many cases are named in a notice."""


class Reporting(Protocol):
    """Where steps are reported."""

    def causes(self, difference: Difference) -> tuple[str, ...]:
        """The causes of a change, as texts."""

    def report(self, step: FoundStep) -> None:
        """Report a step; one that was reported already, too, if the program ended meanwhile.

        Raises:
            OSError, DataError: it could not be reported.
        """


@attrs.frozen
class WatchRequest:
    """Which builds are watched, by which cases, and how these are measured."""

    list_command: str
    """A shell command that prints the builds, one per line, the oldest first."""
    build_command: str | None
    """A shell command that makes the build of a commit; None where the builds exist."""
    compared: ComparisonRequest
    """How each is compared with the one before."""
    state_file: Path | None = None
    """The file that remembers what was seen; None takes one in the user's data folder."""

    def name(self, store: Store) -> str:
        """What identifies the watch, wherever the program is started."""
        cases = str(self.compared.definitions), attrs.asdict(self.compared.selection)
        # Runs are known by their numbers, so the database is part of it.
        place = store.name if "://" in store.name else str(Path(store.name).resolve())
        return json.dumps([self.list_command, self.build_command, *cases, place])


def watch(
    request: WatchRequest,
    store: Store,
    reporting: Reporting,
    observer: Observer,
    every_s: float | None = None,
) -> int:
    """Look at the builds that are new, and return how many steps were found.

    With ``every_s`` it looks again after each pause of so many seconds, and never returns; builds
    that cannot be listed then are an error that the observer gets.

    Raises:
        UsageError: the state is that of another watch, or another process holds it.
        BuildError: the builds cannot be listed.
    """
    name = request.name(store)
    path = request.state_file or state_file_of(name)
    with held(path):
        state, make = read_state(path, name), _given_build
        if request.build_command is not None:
            made = {base.build.python: base.build.name for base in state.bases[-1:]}
            make = functools.partial(
                made_build, request.build_command, made=made, notice=observer.note
            )
        measurer = StoreBuildMeasurer(request.compared, store, observer)
        looking = Looking(state, functools.partial(write_state, path), make, measurer, reporting)
        while True:
            seen = looking.state.seen
            try:
                found = looking.look(listed(request.list_command))
            except BuildError as error:
                if every_s is None:
                    raise
                observer.error(error.text(program_name()))
            if every_s is None:
                if looking.state.seen == seen:
                    observer.note("There is no new build.")
                return found
            time.sleep(every_s)


def _given_build(line: str) -> Build:
    if "=" not in line:
        raise UsageError(
            f'--command prints "{line}", which is not NAME=PYTHON',
            "With commits, say how to make their builds: --build-cmd.",
        )
    return parse_build(line)


def listed(source: str) -> str:
    """What the command prints that lists the builds.

    Raises:
        BuildError: it fails.
    """
    status, output = output_of(source)
    if status:
        raise BuildError(f"--command ends with {status}", f"Try it: {source}")
    return output


@attrs.define
class Looking:
    """A watch from one look to the next.

    The state is saved before steps are reported, and after each: none is lost. One that could not
    be reported, or was being reported when the program ended, is reported at the next look.
    """

    state: State
    save: Callable[[State], None]
    make: Callable[[str], Build]
    """Makes a build that was listed; raises `BuildError` where that cannot be done."""
    measurer: StoreBuildMeasurer
    reporting: Reporting

    def look(self, lines: str) -> int:
        """Look at the builds in ``lines`` that are new, and return how many steps were found."""
        found = 0
        self._report()
        names = dict.fromkeys(line.strip() for line in lines.splitlines())
        new = [name for name in names if name and name not in self.state.seen]
        for name in new:
            bases, steps = self._steps(name)
            self.state = attrs.evolve(
                self.state,
                seen=(*self.state.seen, name),
                bases=bases,
                unreported=(*self.state.unreported, *steps),
            )
            found += len(steps)
            self.save(self.state)
            self._report()
        if new:
            self._note(f"New builds: {len(new)}. New steps: {found}.")
        return found

    def _report(self) -> None:
        for step in self.state.unreported:
            try:
                self.reporting.report(step)
            except (OSError, DataError) as error:
                self._note(f"A step could not be reported and will be retried: {error}")
                continue
            left = tuple(other for other in self.state.unreported if other is not step)
            self.state = attrs.evolve(self.state, unreported=left)
            self.save(self.state)

    def _steps(self, name: str) -> tuple[tuple[Base, ...], list[FoundStep]]:
        """What the build after a new one is compared with, and the steps at the new one."""
        bases = self.state.bases
        try:
            build, side = self._measured(name)
        except BuildError as error:
            self._note(f"{name} is broken and was skipped: {error.message}")
            return bases, []
        counted = {key: None for key, record in side.records.items() if record.outcome.instructions}
        if not counted:
            self._note(f"{name} is broken and was skipped: no case has a count")
            return bases, []
        steps: list[FoundStep] = []
        waiting: list[Base] = []
        for base in bases:
            back = [key for key in base.cases if key in counted]
            lost = tuple(key for key in base.cases if key not in counted)
            if lost:
                waiting.append(Base(base.build, lost))
            if lost and base is bases[-1]:  # later, it was said before
                self._note(f"{name}: not counted, so not compared: {_titles(lost)}")
            # A run can be large: an earlier one is loaded only for cases that are back.
            before = self._stored(base.build) if back else None
            if before is None:
                continue
            found = self.measurer.compare(*(_only(side, back) for side in (before, side)))
            for why, keys in _incomparable(found):
                self._note(f"{name}: not comparable with {base.build.line}, {why}: {_titles(keys)}")
            suspects = [difference for difference in found.differences if difference.is_change]
            for step in self._verified(suspects, base.build, build):
                causes = self.reporting.causes(step)
                steps.append(_step(step, base.build.line, name, side, causes))
        return (*waiting, Base(build, tuple(counted))), steps

    def _verified(
        self, suspects: Sequence[Difference], base: SeenBuild, new: SeenBuild
    ) -> list[Difference]:
        """The suspects that still differ, as they do then; as they were where it is not known."""
        if not suspects:
            return []
        try:
            again = self._measured_again(base, new, [suspect.key for suspect in suspects])
        except BuildError as error:
            self._note(f"{new.line}: candidates cannot be verified: {error.message}")
            return [*suspects]
        judged = {
            difference.key: difference
            for difference in again.differences
            if difference.is_change or difference.verdict in {Verdict.SAME, Verdict.AMBIGUOUS}
        }
        unknown = sum(suspect.key not in judged for suspect in suspects)
        if unknown:
            self._note(
                f"{new.line}: {unknown} of {len(suspects)} candidates cannot be verified: "
                "they failed when measured again"
            )
        # The direction may be another one: what was seen first may have been an outlier.
        last = (judged.get(suspect.key, suspect) for suspect in suspects)
        return [difference for difference in last if difference.is_change]

    def _note(self, text: str) -> None:
        self.measurer.observer.note(text)

    def _measured(self, line: str) -> tuple[SeenBuild, Side]:
        build = self.make(line)
        measured = self.measurer.measured([build])
        if measured.run_id is None or not measured.is_sound:
            raise DataError(
                f"{line} was measured, but could not be stored, or its files changed meanwhile",
                "The next build is compared with what is stored. Remove the cause first.",
            )
        last = SeenBuild(line, build.name, build.python or "", measured.run_id)
        return last, measured.sides[build.name]

    def _stored(self, last: SeenBuild) -> Side | None:
        """What was measured of an earlier build; None where it was deleted meanwhile."""
        store, number = self.measurer.store, last.run_id
        run = store.load(number, details=False) if store.find(str(number)) is not None else None
        if run is None or last.name not in run.builds:
            self._note(f"Run {number} has no {last.name}: nothing to compare with.")
            return None
        return side_of(run, last.name, f"run {number}, {last.name}", number)

    def _measured_again(
        self, base: SeenBuild, new: SeenBuild, keys: Sequence[CaseKey]
    ) -> Comparison:
        """Measure cases once more on both builds, then in other memory layouts."""
        self._note(f"Measuring candidates once more: {len(keys)}")
        request = self.measurer.request
        labels = tuple(dict.fromkeys(key.path for key in keys))
        again = attrs.evolve(
            request,
            selection=attrs.evolve(request.selection, only=labels),
            settings=attrs.evolve(request.settings, times=False),
        )
        measurer = attrs.evolve(self.measurer, request=again)
        # A command may call each build the same, say ``nightly``.
        before = base.name if base.name != new.name else f"{base.name} before"
        sides = measurer.measure([Build(before, base.python), Build(new.name, new.python)])
        known = self._stored(base)
        if known is not None and _torch_of(known) != _torch_of(sides[before]):
            raise BuildError(f"{base.python} is not {base.line} any more", "Keep it for a while.")
        return measurer.check(measurer.compare(sides[before], sides[new.name]))


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


def _titles(keys: Sequence[CaseKey]) -> str:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return "; ".join(key.title for key in keys[:_NAMED]) + more


def _step(
    difference: Difference, base: str, new: str, side: Side, causes: tuple[str, ...]
) -> FoundStep:
    case = difference.key.title
    return FoundStep(
        id=hashlib.sha256(json.dumps([case, base, new]).encode()).hexdigest()[:16],
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


def _torch_of(side: Side) -> tuple[str, str]:
    return side.fingerprint.torch, side.fingerprint.torch_git
