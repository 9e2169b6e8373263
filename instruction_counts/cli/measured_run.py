"""Measuring cases on builds for a command that makes something else of the run than a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from core.types import Case
from instruction_counts.cli import console
from instruction_counts.domain.build import Build
from instruction_counts.domain.records import Run
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.storage.store import Store


def measured_run(
    cases: Sequence[Case],
    builds: Sequence[Build],
    measuring: MeasurementSettings,
    db: str | None,
    *,
    stored: bool = True,
) -> Run:
    """The run of ``cases`` on ``builds``, also kept in the database if ``stored``.

    Raises:
        KeyboardInterrupt: it was interrupted; what was finished is stored.
    """
    with Store.open(db) if stored else nullcontext() as store:
        runner = BuildRunner.of(builds, measuring, console, store)
        measured = runner.run(runner.orders(cases))
    if measured.interrupted:
        raise KeyboardInterrupt
    return measured.run
