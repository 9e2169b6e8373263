"""Measuring cases on builds for a command that makes something else of the run than a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from core.types import Case
from instruction_counts.builds.probing import probe
from instruction_counts.cli import console
from instruction_counts.cli.measuring import Measuring
from instruction_counts.domain.build import Build
from instruction_counts.domain.records import Run
from instruction_counts.session.measuring import DURATIONS, Measured
from instruction_counts.storage.store import Store
from instruction_counts.system.cache import Cache


def measured_run(
    cases: Sequence[Case],
    builds: Sequence[Build],
    measuring: Measuring,
    db: str | None,
    *,
    stored: bool = True,
) -> Run:
    """The run of ``cases`` on ``builds``, also kept in the database if ``stored``.

    Raises:
        KeyboardInterrupt: it was interrupted; what was finished is stored.
    """
    facts = [probe(build) for build in builds]
    orders = measuring.orders(cases, facts, skip=False)
    pool = measuring.pool()
    lanes = measuring.jobs or pool.size
    with Store.open(db) if stored else nullcontext() as store:
        for one in facts:
            console.note(measuring.banner(one, lanes))
        engines = measuring.engines(facts, measuring.profile())
        measured = Measured(measuring.engine, engines, (), console, Cache().root / DURATIONS, store)
        if measured.take_in(orders, pool, lanes, None):
            raise KeyboardInterrupt
    return measured.run
