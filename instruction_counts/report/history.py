"""Counts over time as documents: a history of cases, the steps of a watch, a bisection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.verdicts.difference import Difference, Verdict
from instruction_counts.domain.build import DEFAULT_NAME
from instruction_counts.domain.causes import Cause
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.records import StoredCount
from instruction_counts.gate.gate import verdict_figures
from instruction_counts.history.series import Segment, Series, count_of, surroundings
from instruction_counts.history.steps import Step
from instruction_counts.history.watching import FoundStep
from instruction_counts.report import charts, plots
from instruction_counts.report.causes import of_case, texts
from instruction_counts.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Line,
    Role,
    Row,
    Table,
    Unit,
    Value,
)
from instruction_counts.session.bisecting import Found, FoundChange

FORMAT_VERSION = 1
"""Of the JSON of histories and bisections: 1, the first."""

WIDTH = 80
MOST_PLOTS = 8
"""So many cases are plotted; of more, each has a line."""
_CHANGED = "files of the build changed during the run"

StepCauses: TypeAlias = Mapping[tuple[StoredCount, StoredCount], Sequence[Cause]]
"""What caused the steps of a history, by the counts before and after each."""


def history(series: Sequence[Series], causes: StepCauses) -> Document:
    """Each case with its counts and steps."""
    plotted = tuple(_plot(case, causes) for case in series[:MOST_PLOTS])
    drawn = filter(None, map(charts.of_history, series))
    shown = plotted if len(series) <= MOST_PLOTS else (_overview(series),)
    return Document(
        "history",
        sections=(*shown, *drawn),
        data={
            "format_version": FORMAT_VERSION,
            "cases": [_series_data(case, causes) for case in series],
        },
        records=_records(series),
    )


def title_of_point(point: StoredCount) -> str:
    """``run 12`` with its build, torch and commit."""
    build = "" if point.build == DEFAULT_NAME else f", {point.build}"
    doubt = f", {_CHANGED}" if point.has_changed_files else ""
    return f"run {point.run_id}{build}, {_torch(point.fingerprint)}{doubt}"


def _torch(fingerprint: Fingerprint) -> str:
    commit = f" ({fingerprint.torch_git[:10]})" if fingerprint.torch_git else ""
    return f"torch {fingerprint.torch}{commit}"


def _change(base: int, new: int) -> str:
    """``9,185 → 10,168  +983, +10.70%``."""
    relative = f", {(new - base) / base:+.2%}" if base else ""
    return f"{base:,} → {new:,}  {new - base:+,}{relative}"


def _role(change: int) -> Role:
    return Role.BAD if change > 0 else Role.GOOD


# The plot


def _plot(series: Series, causes: StepCauses) -> Block:
    return Block(series.key.title, tuple(_plot_lines(series, causes)), preformatted=True)


def _plot_lines(series: Series, causes: StepCauses) -> Iterator[Line]:
    """For each segment a plot and its steps, then what was not counted."""
    total = len(series.segments)
    for number, segment in enumerate(series.segments, 1):
        if segment.apart:
            why = f"segment {number} of {total}, not comparable: {' · '.join(segment.apart)}"
            yield Line(why, Role.WARNING)
        yield from _drawing(segment)
        yield from _steps(segment, causes)
    if not series.segments:
        yield Line("never counted", indent=2)
    for point in (point for segment in series.segments for point in segment.points):
        if point.has_changed_files:
            yield Line(f"doubtful: {title_of_point(point)}", Role.WARNING, 2)
    for point in series.uncounted:
        why = point.failure or point.status.value
        yield Line(f"no count in {title_of_point(point)}: {why}", Role.BAD, 2)


def _drawing(segment: Segment) -> Iterator[Line]:
    """Counts as dots, outliers as crosses, levels as lines; the scale is at the left."""
    points = segment.points
    counts = [count_of(point).per_run for point in points]
    lines = [plots.Line(level.start, level.end - 1, level.count) for level in segment.levels]
    yield from map(Line, plots.levels(counts, segment.outliers, lines, WIDTH))
    first_day, last_day = (points[place].started_at[:10] or "–" for place in (0, -1))
    total = f"{len(points)} count{'' if len(points) == 1 else 's'}"
    margin = plots.levels_margin(counts, segment.outliers)
    yield Line(f"{total}, {first_day} to {last_day}", Role.DIM, margin)


def _steps(segment: Segment, causes: StepCauses) -> Iterator[Line]:
    for step in segment.steps:
        base, new = segment.points[step.before], segment.points[step.after]
        sure = "" if step.confirmed else "  one count only"
        yield Line(f"{_change(step.base, step.new)}{sure}", _role(step.change), 2)
        yield Line(f"before  {title_of_point(base)}", indent=4)
        yield Line(f"after   {title_of_point(new)}", indent=4)
        between = step.after - step.before - 1
        if between:
            yield Line(f"with {between} outliers in between", indent=4)
        for other in surroundings(base, new):
            yield Line(f"differs too: {other.text}", Role.WARNING, 4)
        for cause in texts(causes.get((base, new), ())):
            yield Line(cause, indent=4)
    if not segment.steps:
        yield Line("no step", indent=2)


# Tables


def _overview(series: Sequence[Series]) -> Table:
    """A row for each case, with its last step."""
    columns = (
        Column("case", ""),
        Column("counts", "counts", Unit.COUNT),
        Column("latest", "latest", Unit.COUNT),
        Column("steps", "steps", Unit.COUNT),
        Column("last_step", "last step"),
    )
    return Table("cases", "", columns, tuple(map(_case_row, series)))


def _case_row(series: Series) -> Row:
    points = [point for segment in series.segments for point in segment.points]
    steps = [(segment, step) for segment in series.segments for step in segment.steps]
    latest = count_of(max(points, key=lambda point: point.run_id)).per_run if points else None
    last = Cell("")
    if steps:
        segment, step = max(steps, key=lambda pair: pair[0].points[pair[1].after].run_id)
        text = f"{_change(step.base, step.new)} in {title_of_point(segment.points[step.after])}"
        last = Cell(text, _role(step.change))
    title = series.key.title
    cells = (Cell(title), Cell(len(points)), Cell(latest), Cell(len(steps)), last)
    return Row(cells, title)


_CASE = ("label", "language", "runtime", "autograd", "num_threads")
_RECORD = ("segment", "started_at", "run", "build", "torch", "torch_git")
_FIGURES = ("count", "spread", "level", "remark")


def _records(series: Sequence[Series]) -> Table:
    """A record for each count of all cases, and for each time that one was not counted."""
    columns = tuple(Column(name, name) for name in (*_CASE, *_RECORD, *_FIGURES))
    rows = tuple(Row(tuple(map(Cell, record))) for case in series for record in _of_case(case))
    return Table("counts", "", columns, rows)


def _of_case(series: Series) -> Iterator[tuple[Value, ...]]:
    values = {**series.key.as_values, "label": series.key.path}
    key = tuple(values[name] for name in _CASE)
    for number, segment in enumerate(series.segments, 1):
        for place, point in enumerate(segment.points):
            counted, level = count_of(point), segment.level_at(place).count
            remark = " · ".join(_remarks(segment, place))
            yield (*key, number, *_run(point), counted.per_run, counted.spread, level, remark)
    for point in series.uncounted:
        yield (*key, 0, *_run(point), None, None, None, point.failure or point.status.value)


def _run(point: StoredCount) -> tuple[Value, ...]:
    torch = point.fingerprint
    return point.started_at, point.run_id, point.build, torch.torch, torch.torch_git


def _remarks(segment: Segment, place: int) -> Iterator[str]:
    if not place:
        yield from (f"not comparable: {reason}" for reason in segment.apart)
    if place in segment.outliers:
        yield "outlier"
    if segment.points[place].has_changed_files:
        yield _CHANGED
    for step in segment.steps:
        if step.after == place:
            yield f"{step.change:+,} {step.relative:+.2%}"


# JSON


def _series_data(series: Series, causes: StepCauses) -> dict[str, Any]:
    return {
        **series.key.as_values,
        "segments": [_segment_data(segment, causes) for segment in series.segments],
        "uncounted": [_point_data(point) for point in series.uncounted],
    }


def _segment_data(segment: Segment, causes: StepCauses) -> dict[str, Any]:
    return {
        "apart": list(segment.apart),
        "points": [
            {**_point_data(point), "outlier": place in segment.outliers}
            for place, point in enumerate(segment.points)
        ],
        "levels": [
            {"start": level.start, "end": level.end, "count": level.count}
            for level in segment.levels
        ],
        "steps": [_step_data(step, segment, causes) for step in segment.steps],
    }


def _step_data(step: Step, segment: Segment, causes: StepCauses) -> dict[str, Any]:
    base, new = segment.points[step.before], segment.points[step.after]
    return {
        **attrs.asdict(step),
        "change": step.change,
        "relative": step.relative,
        "differs": [surrounding.name for surrounding in surroundings(base, new)],
        "causes": texts(causes.get((base, new), ())),
    }


def _point_data(point: StoredCount) -> dict[str, Any]:
    counted = point.instructions
    return {
        "run": point.run_id,
        "started_at": point.started_at,
        "tags": point.tags,
        "build": point.build,
        "torch": point.fingerprint.torch,
        "torch_git": point.fingerprint.torch_git,
        "engine": point.engine,
        "definition_hash": point.definition_hash,
        "status": point.status.value,
        "failure": point.failure,
        "has_changed_files": point.has_changed_files,
        "count": None if counted is None else counted.per_run,
        "exact": None if counted is None else counted.exact,
        "spread": None if counted is None else counted.spread,
    }


# Watch and bisection


def step_text(step: FoundStep) -> str:
    """A step that a watch found, in one line; chats show what is called text."""
    counts = "" if step.change is None else f" {step.base_count:,} → {step.new_count:,}"
    sure = "" if step.verified else ", not verified"
    causes = f": {' · '.join(step.causes)}" if step.causes else ""
    return (
        f"{step.verdict}: {step.case}{counts} between {step.base} and {step.new} "
        f"({step.reason}{sure}){causes}"
    )


def bisection(found: Found) -> Document:
    """Each change with its neighbours and causes, then what it took to find them."""
    names = found.builds
    effort = (
        f"{len(names)} builds · {len(found.measured)} measured · {len(found.broken)} broken · "
        f"{found.measurements} measurements · {found.reused} taken from the store"
    )
    broken = (
        Line(f"broken: {names[place]}: {why}", Role.WARNING) for place, why in found.broken.items()
    )
    return Document(
        "bisection",
        found.key.title,
        () if found.changes else (Line("no change"),),
        sections=tuple(_found_change(change, found) for change in found.changes),
        notes=(*broken, Line(effort)),
        data={
            "format_version": FORMAT_VERSION,
            "case": found.key.title,
            "builds": names,
            "changes": [_change_data(change, names) for change in found.changes],
            "broken": {names[place]: why for place, why in found.broken.items()},
            "measured": [names[place] for place in found.measured],
            "measurements": found.measurements,
            "reused": found.reused,
        },
    )


def _found_change(found: FoundChange, bisected: Found) -> Block:
    change, difference = found.place, found.difference
    names, output = bisected.builds, difference.output
    lines = [
        *(
            f"{role}  {names[place]}, {_torch(bisected.measured[place])}"
            for role, place in (("before", change.before), ("after ", change.after))
        ),
        *(["in small steps: no two neighbours differ by enough"] if change.gradual else []),
        *(f"or {names[place]}, which cannot be measured" for place in change.broken),
        *([f"output: {output.text}"] if output is not None and output.differs else []),
        *of_case(difference),
    ]
    role = Role.BAD if difference.is_regression else Role.GOOD
    return Block(_headline(difference), tuple(Line(text, indent=2) for text in lines), role)


def _headline(difference: Difference) -> str:
    base, new = difference.base_count, difference.new_count
    assert base is not None, "a change is between two counts"
    assert new is not None, "a change is between two counts"
    what = "verified" if difference.verified else "not verified"
    if difference.is_regression and difference.verdict is not Verdict.WORSE:
        what = "output differs"
    return f"{_change(base, new)}  {what}"


def _change_data(found: FoundChange, names: Sequence[str]) -> dict[str, Any]:
    change = found.place
    return {
        "before": names[change.before],
        "after": names[change.after],
        "broken": [names[place] for place in change.broken],
        "gradual": change.gradual,
        **verdict_figures(found.difference),
        "causes": of_case(found.difference),
    }
