"""The pages that a site has beside comparisons, as documents: the overview, and one for each case.

They are made of what their JSON holds, and a cell that names another page of the site links to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.report.causes import why
from instruction_counts.report.document import (
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Line,
    Role,
    Row,
    Table,
    Unit,
    table_of,
)
from instruction_counts.report.format import plural, relative

FORMAT_VERSION = 1
"""Of the JSON of a site."""
_NEWEST = 20
"""So many builds and steps are shown at once; the others unfold."""
_MOST_STEPS = 1000
"""So many steps are on the overview; the others are on the pages of their cases."""

Values: TypeAlias = dict[str, Any]


def _build_cell(item: Values) -> Cell:
    return Cell(item["build"], link=item["build_page"] or "")


def _case_cell(item: Values) -> Cell:
    return Cell(item["case"], link=item["page"])


def _verdict(verdict: Verdict, role: Role) -> Any:
    return lambda item: Cell(item["tally"].get(verdict.value) or "", role)


def _change(name: str) -> Any:
    return lambda item: Cell(item[name], Role.of_change(item["change"]))


_DAY = Column("day", "date", of=lambda item: item["started_at"][:10])
_BUILDS = (
    Column("build", "build", of=_build_cell),
    Column("worse", "worse", Unit.COUNT, of=_verdict(Verdict.WORSE, Role.BAD)),
    Column("better", "better", Unit.COUNT, of=_verdict(Verdict.BETTER, Role.GOOD)),
    Column("failed", "failed", Unit.COUNT, of=lambda item: item["failed"] or ""),
    Column(
        *("mean_change", "in all", Unit.RELATIVE),
        of=lambda item: Cell(item["mean_change"] or "", Role.of_change(item["mean_change"])),
    ),
    _DAY,
    Column("torch", "torch", of=lambda item: item["torch"]),
    Column("cases", "cases", Unit.COUNT, of=lambda item: item["cases"]),
)
_STEP = (  # a phone shows the first columns
    Column("change", "change", Unit.CHANGE, of=_change("change")),
    Column("relative", "%", Unit.RELATIVE, of=_change("relative")),
    Column("base", "before", Unit.COUNT, of=lambda item: item["base"]),
    Column("new", "after", Unit.COUNT, of=lambda item: item["new"]),
)
_STEPS = (
    Column("case", "case", of=_case_cell),
    *(*_STEP, Column("build", "in", of=_build_cell), _DAY),
)
_STEPS_OF_CASE = (
    *(Column("build", "in", of=_build_cell), *_STEP, _DAY),
    Column("remark", "", of=lambda item: item["remark"]),
)
_CASES = (
    Column("case", "case", of=_case_cell),
    Column("latest", "latest", Unit.COUNT, of=lambda item: item["latest"]),
    Column("counts", "counts", Unit.COUNT, of=lambda item: item["counts"]),
    Column("steps", "steps", Unit.COUNT, of=lambda item: item["steps"] or ""),
    Column("last_step", "last step", of=lambda item: item["last_step"][:10]),
)
_COUNTS = (
    Column("build", "build", of=_build_cell),
    Column(
        *("count", "count", Unit.COUNT),
        of=lambda item: Cell(item["count"], approximate=item["exact"] is False),
    ),
    *(_DAY, Column("torch", "torch", of=lambda item: item["torch"])),
    Column("remark", "", of=lambda item: item["remark"]),
)


def overview(
    builds: Sequence[Values], steps: Sequence[Values], cases: Sequence[Values]
) -> Document:
    """What is new: the builds, the steps, the newest first, and then each case."""
    newest = builds[0]
    numbers = (plural(len(cases), "case"), plural(len(builds), "build"), plural(len(steps), "step"))
    answer = [
        " · ".join(numbers),
        f"newest: {newest['build']}, torch {newest['torch']}, {newest['started_at'][:10]}",
    ]
    shown = steps[:_MOST_STEPS]
    sections = [
        *_newest("builds", "Newest builds", "Earlier builds", _BUILDS, builds),
        *_newest("steps", "Newest steps", "Earlier steps", _STEPS, shown),
        table_of("cases", "Cases", _CASES, cases, folded=True),
    ]
    left_out = len(steps) - len(shown)
    notes = [f"{left_out:,} earlier steps are on the pages of their cases."] if left_out else []
    return Document(
        "overview",
        "Instruction counts",
        answer,
        sections=sections,
        notes=[*notes, Line("Instructions per iteration.", Role.DIM)],
        data={"format_version": FORMAT_VERSION, "builds": builds, "steps": steps, "cases": cases},
    )


def _newest(
    name: str, newest: str, earlier: str, columns: Sequence[Column], items: Sequence[Values]
) -> Iterable[Table]:
    if items:
        yield _with_causes(name, newest, columns, items[:_NEWEST])
    if len(items) > _NEWEST:
        yield _with_causes(f"earlier_{name}", earlier, columns, items[_NEWEST:], folded=True)


def _with_causes(
    name: str, title: str, columns: Sequence[Column], items: Iterable[Values], **more: Any
) -> Table:
    rows = (
        Row([column.of(item) for column in columns], below=why(item["causes"])) for item in items
    )
    return Table(name, title, columns, rows, **more).without_empty_columns()


def case_document(
    case: Values,
    chart: Chart | None,
    steps: Sequence[Values],
    counts: Sequence[Values],
    command: str,
) -> Document:
    """The history of a case; ``steps`` and ``counts`` are the newest first."""
    changes = plural(len(steps), "step")
    latest = "never counted" if case["latest"] is None else f"latest: {case['latest']:,}"
    last = f", the last {relative(steps[0]['relative'])} in {steps[0]['build']}" if steps else ""
    no_steps = Block("Steps", ["No step: all counts are the same but for noise."])
    return Document(
        "case",
        case["case"],
        [f"{latest} · {changes}{last}"],
        sections=[
            *([] if chart is None else [attrs.evolve(chart, title="Counts over time")]),
            _with_causes("steps", "Steps", _STEPS_OF_CASE, steps) if steps else no_steps,
            table_of("counts", "Counts", _COUNTS, counts).without_empty_columns(),
        ],
        notes=[Line("Instructions per iteration.", Role.DIM)],
        next_command=command,
    )
