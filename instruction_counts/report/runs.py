"""Stored runs: a table of all, and the head of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
from rich.table import Table
from rich.text import Text

from instruction_counts.domain.build import DEFAULT_NAME
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.stored import RunSummary

_STYLES = {"running": "yellow", "interrupted": "yellow", "killed": "red"}


def table(summaries: Sequence[RunSummary]) -> Table:
    """A line for each run, readable at 80 columns."""
    result = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    result.add_column("run", justify="right", no_wrap=True)
    result.add_column("started (UTC)", no_wrap=True)
    result.add_column("torch", overflow="fold")
    result.add_column("cases", justify="right", no_wrap=True)
    result.add_column("failed", justify="right", no_wrap=True)
    result.add_column("state", no_wrap=True)
    result.add_column("tags", overflow="fold")
    for summary in summaries:
        result.add_row(
            str(summary.id),
            Text(_minute(summary.started_at)),
            Text(_versions(summary.builds)),
            str(summary.cases),
            Text(str(summary.failed), style="red" if summary.failed else ""),
            _state(summary),
            Text(", ".join(summary.tags)),
        )
    return result


def _state(summary: RunSummary) -> Text:
    state = Text(summary.state, style=_STYLES.get(summary.state, ""))
    return state.append(" *", style="red") if summary.changed_files else state


def footnote(summaries: Sequence[RunSummary]) -> str:
    """What the mark of a run in the table means; empty where no run has it."""
    if not any(summary.changed_files for summary in summaries):
        return ""
    return "* files of a build changed during the run (runs show RUN): measure it again"


def as_json(summary: RunSummary) -> dict[str, object]:
    """The same as an object of JSON."""
    return attrs.asdict(summary)


def head(summary: RunSummary, fingerprints: Mapping[str, Fingerprint]) -> Iterator[str]:
    """What is known of a run besides its cases: a line for it, its tags, and one for each build."""
    tools = {fingerprint.tool_version for fingerprint in fingerprints.values()}
    parts = [
        f"run {summary.id}",
        summary.state,
        f"started {_minute(summary.started_at)} UTC" if summary.started_at else "",
        f"engine {summary.engine}",
        *(f"instruction-counts {tool}" for tool in sorted(tools)),
    ]
    yield " · ".join(part for part in parts if part)
    if summary.tags:
        yield f"tags: {', '.join(summary.tags)}"
    for name, fingerprint in fingerprints.items():
        facts = [
            f"torch {fingerprint.torch}",
            f"Python {fingerprint.python}",
            fingerprint.cpu,
            fingerprint.valgrind,
        ]
        yield f"{name}: {' · '.join(fact for fact in facts if fact)}"


def title(summary: RunSummary) -> str:
    """A run in some words, to tell it from others."""
    when = f", {_minute(summary.started_at)}" if summary.started_at else ""
    tags = f", {', '.join(summary.tags)}" if summary.tags else ""
    return f"run {summary.id} ({summary.cases} cases{when}{tags})"


def _minute(started_at: str) -> str:
    return started_at.replace("T", " ")[:16] or "–"


def _versions(builds: Mapping[str, str]) -> str:
    if list(builds) == [DEFAULT_NAME]:
        return builds[DEFAULT_NAME]
    return ", ".join(f"{name} {torch}" for name, torch in builds.items())
