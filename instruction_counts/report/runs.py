"""Stored runs: a table of all, and the head of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from instruction_counts.domain.build import DEFAULT_NAME
from instruction_counts.domain.records import Run, RunSummary
from instruction_counts.report.document import Cell, Column, Document, Line, Role, Row, Table, Unit
from instruction_counts.report.format import plural

_ROLES = {"running": Role.WARNING, "interrupted": Role.WARNING, "killed": Role.BAD}
_CHANGED = "* files of a build changed during the run (runs show RUN): measure it again"


def runs_document(summaries: Sequence[RunSummary]) -> Document:
    """A line for each run."""
    columns = (
        Column("id", "run", Unit.COUNT),
        Column("started_at", "started (UTC)"),
        Column("builds", "torch"),
        Column("cases", "cases", Unit.COUNT),
        Column("failed", "failed", Unit.COUNT),
        Column("state", "state"),
        Column("tags", "tags"),
    )
    is_changed = any(summary.changed_files for summary in summaries)
    return Document(
        "runs",
        sections=(Table("runs", "", columns, tuple(map(_row, summaries))),),
        notes=(Line(_CHANGED, Role.WARNING),) if is_changed else (),
        data=[attrs.asdict(summary) for summary in summaries],
    )


def _row(summary: RunSummary) -> Row:
    mark = " *" if summary.changed_files else ""
    cells = (
        Cell(str(summary.id)),
        Cell(_minute(summary.started_at)),
        Cell(_versions(summary.builds)),
        Cell(summary.cases),
        Cell(summary.failed, Role.BAD if summary.failed else Role.PLAIN),
        Cell(f"{summary.state}{mark}", _ROLES.get(summary.state, Role.PLAIN)),
        Cell(", ".join(summary.tags)),
    )
    return Row(cells, str(summary.id))


def head(run: Run, summary: RunSummary | None) -> Iterator[str]:
    """What is known of a run besides its cases; ``summary`` is there if it is stored."""
    if summary is not None:
        parts = [
            f"run {summary.id}",
            summary.state,
            f"started {_minute(summary.started_at)} UTC" if summary.started_at else "",
            f"engine {summary.engine}",
            *sorted({f"instruction-counts {found.tool_version}" for found in run.builds.values()}),
        ]
        yield " · ".join(part for part in parts if part)
        if summary.tags:
            yield f"tags: {', '.join(summary.tags)}"
    for name, build in run.builds.items():
        facts = [f"torch {build.torch}", f"Python {build.python}", build.cpu, build.valgrind]
        known = " · ".join(fact for fact in facts if fact)
        yield known if list(run.builds) == [DEFAULT_NAME] else f"{name}: {known}"


def title(summary: RunSummary) -> str:
    """A run in some words, to tell it from others."""
    when = f", {_minute(summary.started_at)}" if summary.started_at else ""
    tags = f", {', '.join(summary.tags)}" if summary.tags else ""
    return f"run {summary.id} ({plural(summary.cases, 'case')}{when}{tags})"


def _minute(started_at: str) -> str:
    return started_at.replace("T", " ")[:16] or "–"


def _versions(builds: Mapping[str, str]) -> str:
    if list(builds) == [DEFAULT_NAME]:
        return builds[DEFAULT_NAME]
    return ", ".join(f"{name} {torch}" for name, torch in builds.items())
