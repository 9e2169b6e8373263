"""Histories to look at: runs of one case, one build each, whose counts are given."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from instruction_counts.core.types import Language
from instruction_counts.domain.outcomes import Instructions, Outcome, Status
from instruction_counts.domain.records import Run, StoredCount
from instruction_counts.storage.store import Store
from tests.builders import counted, key
from tests.fakes import FINGERPRINT, failed, make_record, make_run


def outcome_of(count: int | None) -> Outcome:
    """An outcome with so many instructions, all above 1,000 of them in one function."""
    if count is None:
        return failed()
    spent = {"at::add": min(count, 1000), "at::slow": count - 1000}
    return counted(count, {name: cost for name, cost in spent.items() if cost > 0})


def run_of(count: int | None, day: int, label: str = "add", **more: Any) -> Run:
    """A run on a day of 2026, of a build of its own."""
    record = make_record("Group", label, outcome=outcome_of(count), language=Language.CPP, **more)
    build = attrs.evolve(FINGERPRINT, torch_git=f"{day:08x}")
    return attrs.evolve(
        make_run(record), builds={"default": build}, started_at=f"2026-01-{day:02}T05:00:00+00:00"
    )


def stored(store: Store, counts: Iterable[int | None], **more: Any) -> list[int]:
    """Store a run for each count, one a day; their numbers."""
    return [store.import_run(run_of(count, day, **more)) for day, count in enumerate(counts, 1)]


def run_of_cases(counts: Mapping[str, int | None], day: int) -> Run:
    """A run of several cases on that day; their counts by label."""
    runs = [run_of(count, day, label) for label, count in counts.items()]
    return attrs.evolve(runs[0], cases=tuple(case for run in runs for case in run.cases))


def point(count: int | None, number: int = 1, **more: Any) -> StoredCount:
    """A stored count, as the store gives it."""
    found = StoredCount(
        case=key("add"),
        run_id=number,
        started_at=f"2026-01-{number:02}",
        tags=(),
        engine="fork",
        build="default",
        fingerprint=FINGERPRINT,
        definition_hash="d1",
        status=Status.OK if count is not None else Status.FAILED,
        instructions=None if count is None else Instructions(count, exact=True, windows=()),
    )
    return attrs.evolve(found, **more)
