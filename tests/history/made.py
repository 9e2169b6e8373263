"""Histories to look at: runs of one case, one build each, whose counts are given."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from instruction_counts.domain.outcomes import Instructions, Outcome, Status
from instruction_counts.domain.records import Run, StoredCount
from instruction_counts.storage.store import Store
from tests import builders
from tests.builders import counted, key
from tests.fakes import FINGERPRINT


def outcome_of(count: int | Outcome | None) -> Outcome:
    """An outcome with so many instructions, all above 1,000 of them in one function."""
    if not isinstance(count, int):
        return builders.outcome_of(count)
    spent = {"at::add": min(count, 1000), "at::slow": count - 1000}
    return counted(count, {name: cost for name, cost in spent.items() if cost > 0})


def run_of_cases(counts: Mapping[str, int | Outcome | None], day: int) -> Run:
    """A run on a day of 2026, of a build of its own; the counts by label."""
    outcomes = {label: outcome_of(count) for label, count in counts.items()}
    build = attrs.evolve(FINGERPRINT, torch_git=f"{day:08x}")
    started_at = f"2026-01-{day:02}T05:00:00+00:00"
    return builders.run_of(outcomes, builds={"default": build}, started_at=started_at)


def run_of(count: int | None, day: int) -> Run:
    """The same of a single case."""
    return run_of_cases({"add": count}, day)


def stored(store: Store, counts: Iterable[int | None]) -> list[int]:
    """Store a run for each count, one a day; their numbers."""
    return [store.import_run(run_of(count, day)) for day, count in enumerate(counts, 1)]


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
