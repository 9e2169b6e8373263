"""Counting what tests call, and comparing it with a baseline."""

import contextlib
import functools
import hashlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.analysis.verdicts.difference import Layouts, judge_verified
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.api import MeasurementSettings, Session, accept, check
from instruction_counts.api.arguments import effect_of
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.types import Case
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.work import Statements
from instruction_counts.gate.baseline import read_baseline
from instruction_counts.gate.limits import Allowed, Limits, apply_limits
from instruction_counts.report.document import Document, Line
from instruction_counts.report.format import plural
from instruction_counts.report.gate import acceptance_document, check_document
from instruction_counts.report.renderers import terminal
from instruction_counts.report.run import run_document
from instruction_counts.storage.json_files import dumps, loads
from instruction_counts.system.program import PROGRAM


@attrs.frozen
class _Counted:
    """What a process tells the one that started it."""

    run: Run
    layouts: tuple[Layouts | None, ...]
    """Of each case what it was verified with."""


class Counting:
    """Counts in servers that start with the first count, and keeps what it counted."""

    def __init__(self, session_of: Callable[..., Session] = Session) -> None:
        self._open = functools.cache(lambda: session_of(settings=MeasurementSettings(times=False)))
        self._run: Run | None = None
        self._cases: list[Case] = []
        self._layouts: dict[tuple[str, ...], Layouts | None] = {}
        self.records: dict[tuple[str, ...], Record] = {}

    def count(
        self, label: tuple[str, ...], stmt: str, scope: Mapping[str, Any], setup: str = ""
    ) -> str:
        """Count a statement, which may read the names of ``scope``; why that failed, if it did."""
        try:
            timed = self._open().statements(Statements((stmt,), setup=setup), scope)
        except (UsageError, DefinitionError) as error:
            return _told(error)
        record = timed.statements[0].record
        # What is called may change, and is compared then: a case is what its test says.
        digest = hashlib.sha256(f"{setup}\0{stmt}".encode()).hexdigest()
        self._run = timed.run
        self._cases += (attrs.evolve(case, label=label) for case in timed.cases)
        self.records[label] = attrs.evolve(record, label=label, definition_hash=digest)
        failure = record.outcome.failure
        return "" if record.outcome.status is Status.OK or failure is None else failure.summary

    def counted(self) -> Run:
        """All of it as one run; there is something."""
        assert self._run is not None, "something was counted"
        return attrs.evolve(self._run, cases=tuple(self.records.values()))

    def verify(self, baseline: str | None, _: str, accepts: bool) -> None:
        """Count again, in other memory layouts, what differs from a baseline; `close` comes later.

        What keeps it from being compared, `concluded` says.
        """
        if baseline is None or accepts or not self._cases:
            return
        with contextlib.suppress(UsageError):
            comparison = check(baseline, self._side()).comparison
            found = self._open().verify(comparison, read_baseline(Path(baseline)), self._cases)
            self._layouts = {each.key.label: each.layouts for each in found.differences}

    def as_text(self) -> str:
        """All of it, for `add` in another process."""
        return dumps(_Counted(self.counted(), tuple(map(self._layouts.get, self.records))))

    def add(self, text: str) -> None:
        """Take what another process counted in the same build."""
        found = loads(text, _Counted)
        self._run = found.run
        for record, layouts in zip(found.run.cases, found.layouts, strict=True):
            self.records[record.label], self._layouts[record.label] = record, layouts

    def problem_with(self, stmt: str, setup: str, scope: Mapping[str, Any]) -> str:
        """Why a statement cannot be counted with the names of ``scope``; empty where it can."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                self._open().passed(setup, [stmt], scope, Path(folder))
            except UsageError as error:
                return _told(error)
        return ""

    @functools.cache  # noqa: B019 - lives as long as the process
    def concluded(self, options: tuple[str | None, str, bool]) -> tuple[str, bool]:
        """What was counted, against the baseline of ``options`` if they name one; if that fails."""
        try:
            document, fails = self._compared(*options)
        except UsageError as error:
            return f"{error.text(PROGRAM)}\n", True
        return terminal.render(document), fails

    def close(self) -> None:
        """End the session."""
        if self._open.cache_info().currsize:
            self._open().close()

    def _compared(self, baseline: str | None, fail_on: str, accepts: bool) -> tuple[Document, bool]:
        run = self.counted()
        if baseline is None:
            return run_document(run), False
        side = self._side()
        if accepts:
            return _accepted(side, baseline), False
        limits = Limits(Allowed(hard=effect_of(fail_on)))
        if not Path(baseline).exists():
            raise UsageError(f"{baseline} does not exist", "Write it: --icount-accept")
        comparison = check(baseline, side).comparison
        judged = tuple(
            judge_verified(of, layouts) if (layouts := self._layouts.get(of.key.label)) else of
            for of in comparison.differences
        )
        gate = apply_limits(attrs.evolve(comparison, differences=judged), limits)
        return check_document(gate), gate.fails

    def _side(self) -> Side:
        run = self.counted()
        (build,) = run.builds
        return side_of(run, build, "these tests")


def _accepted(side: Side, baseline: str) -> Document:
    """What is counted becomes the baseline; that the rest is not may be what its test expects."""
    records = {key: record for key, record in side.records.items() if record.outcome.instructions}
    if not records:
        raise UsageError(f"Nothing was counted for {baseline}.", "pytest -rx shows why.")
    accepted = accept(attrs.evolve(side, records=records), baseline)
    document = acceptance_document(accepted)
    others = (Line(f"Not counted: {key.title}") for key in side.records if key not in records)
    number = plural(len(accepted.after.cases), "case")
    saved = Line(f"Saved: {baseline} ({number}). Commit it.")
    return attrs.evolve(document, notes=(*document.notes, *others, saved))


def _told(error: UsageError | DefinitionError) -> str:
    return " ".join(line.strip() for line in str(error).splitlines())
