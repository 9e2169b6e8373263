"""Running cases on builds: the run is stored and exported while it grows."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import attrs

from instruction_counts.core.facts import Operator
from instruction_counts.core.types import Case
from instruction_counts.domain.build import Build
from instruction_counts.domain.records import Run
from instruction_counts.execution.events import Observer
from instruction_counts.session.builds import BuildRunner, MeasuredRun, MeasurementSettings
from instruction_counts.session.measuring import Exporter
from instruction_counts.session.time_budget import planned, require_measured
from instruction_counts.storage.store import Store


@attrs.frozen
class RunRequest:
    """Which cases are run on which builds, and what is measured beside counts and times."""

    cases: tuple[Case, ...]
    builds: tuple[Build, ...]
    settings: MeasurementSettings = attrs.field(factory=MeasurementSettings)
    skip_unavailable: bool = False
    """Whether cases that a build cannot run are skipped; otherwise nothing is measured then."""
    resources: bool | None = None
    """Whether memory and floating point operations are measured; None measures operators'."""
    callgrind_out: Path | None = None
    """A folder for Callgrind's raw files; it is made."""
    time_budget_s: float | None = None
    done: Run | None = None
    """A run to go on from."""

    def wants_resources(self, case: Case) -> bool:
        """Whether memory and floating point operations of ``case`` are measured."""
        is_operator = isinstance(case.subject, Operator)
        return is_operator if self.resources is None else self.resources


def run_cases(
    request: RunRequest,
    store: Store | None,
    observer: Observer,
    exporters: Collection[Exporter] = (),
) -> MeasuredRun:
    """Measure all cases on all builds by turns.

    Raises:
        BuildError: a build cannot be used, or an engine cannot start; nothing was measured.
        DataError: the run to go on from is another one.
        UsageError: the budget of time was used up before the first case started.
    """
    if request.callgrind_out is not None:
        request.callgrind_out.mkdir(parents=True, exist_ok=True)
    runner = BuildRunner.of(request.builds, request.settings, observer, store)
    orders = [
        attrs.evolve(order, resources=request.wants_resources(order.case))
        for order in runner.orders(request.cases, skip=request.skip_unavailable)
    ]
    measured = runner.run(
        orders,
        exporters=exporters,
        done=request.done,
        budget=planned(request.time_budget_s, request.cases, store),
        callgrind_out=request.callgrind_out,
    )
    require_measured(measured.run)
    return measured
