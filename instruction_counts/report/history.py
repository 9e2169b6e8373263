"""Counts over time as documents: a history of cases, the steps of a watch, a bisection."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.verdicts.difference import Difference, Reason
from instruction_counts.domain.build import DEFAULT_NAME
from instruction_counts.domain.causes import Cause
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import StoredCount
from instruction_counts.history.series import Segment, Series, count_of, surroundings
from instruction_counts.history.steps import Step
from instruction_counts.report import plots
from instruction_counts.report.cases import KEY_NAMES, key_cells
from instruction_counts.report.causes import of_case, texts
from instruction_counts.report.comparison import torch_of, verdict_figures
from instruction_counts.report.document import (
    Block,
    Cell,
    Chart,
    ChartKind,
    Column,
    Document,
    Line,
    Role,
    Row,
    Table,
    Unit,
    records_table,
)
from instruction_counts.report.document import Series as Drawn
from instruction_counts.report.format import plural, relative
from instruction_counts.session.bisecting import Found, FoundChange
from instruction_counts.session.watching import Step as WatchStep

FORMAT_VERSION = 1
"""Of the JSON of histories and bisections: 1, the first."""

MOST_PLOTS = 8
"""So many cases are plotted; of more, each has a line."""
_NAMED = 3
"""So many outliers are named."""
_CHANGED = "files of the build changed during the run"

StepCauses: TypeAlias = Mapping[tuple[StoredCount, StoredCount], Sequence[Cause]]
"""What caused the steps of a history, by the counts before and after each."""
StepTexts: TypeAlias = Mapping[tuple[StoredCount, StoredCount], Sequence[str]]
"""The same in words."""


def history(series: Sequence[Series], causes: StepCauses) -> Document:
    """Each case with its counts and steps."""
    said = {pair: texts(found) for pair, found in causes.items()}
    plotted = (
        Block(case.key.title, _plot_lines(case, said), preformatted=True)
        for case in series[:MOST_PLOTS]
    )
    counts = (Column(name, name, Unit.COUNT) for name in ("counts", "latest", "steps"))
    columns = (Column("case", ""), *counts, Column("last_step", "last step"))
    overview = Table("cases", "", columns, map(_case_row, series))
    data = [series_data(case, said) for case in series]
    # A record for each count, and for each time that a case was not counted: segment 0.
    records = (
        (*key_cells(case.key), number, *(point[name] for name in _RECORD))
        for case, values in zip(series, data, strict=True)
        for number, segment in (*enumerate(values["segments"], 1), (0, None))
        for point in (segment["points"] if segment else values["uncounted"])
    )
    return Document(
        "history",
        sections=[
            *(plotted if len(series) <= MOST_PLOTS else [overview]),
            *filter(None, map(chart_of, series)),
        ],
        data={"format_version": FORMAT_VERSION, "cases": data},
        records=records_table((*KEY_NAMES, "segment", *_RECORD), records),
    )


def _run_of(point: StoredCount) -> str:
    return f"run {point.run_id}{'' if point.build == DEFAULT_NAME else f', {point.build}'}"


def _title_of_point(point: StoredCount) -> str:
    doubt = f", {_CHANGED}" if point.has_changed_files else ""
    return f"{_run_of(point)}, torch {torch_of(point.fingerprint)}{doubt}"


def _change(base: int, new: int) -> str:
    """``9,185 → 10,168  +983, +10.70%``."""
    share = f", {(new - base) / base:+.2%}" if base else ""
    return f"{base:,} → {new:,}  {new - base:+,}{share}"


def _plot_lines(series: Series, said: StepTexts) -> Iterator[Line]:
    """For each segment a plot and its steps, then what was not counted."""
    total = len(series.segments)
    for number, segment in enumerate(series.segments, 1):
        if segment.apart:
            why = f"segment {number} of {total}, not comparable: {' · '.join(segment.apart)}"
            yield Line(why, Role.WARNING)
        points = segment.points
        counts = [count_of(point).per_run for point in points]
        yield from map(Line, plots.levels(counts, segment.outliers, segment.levels))
        first_day, last_day = (points[place].started_at[:10] or "–" for place in (0, -1))
        days = f"{plural(len(points), 'count')}, {first_day} to {last_day}"
        yield Line(days, Role.DIM, plots.levels_margin(counts, segment.outliers))
        yield from _steps(segment, said)
        outliers = [(points[place], counts[place]) for place in sorted(segment.outliers)]
        if outliers:
            named = (f"{_run_of(point)} ({count:,})" for point, count in outliers[:_NAMED])
            more = f" and {len(outliers) - _NAMED} more" if len(outliers) > _NAMED else ""
            yield Line(f"outliers: {'; '.join(named)}{more}", Role.DIM, 2)
    if not series.segments:
        yield Line("never counted", indent=2)
    for point in _counted(series):
        if point.has_changed_files:
            yield Line(f"doubtful: {_title_of_point(point)}", Role.WARNING, 2)
    for point in series.uncounted:
        why = _why_uncounted(point)
        yield Line(f"no count in {_title_of_point(point)}: {why}", Role.BAD, 2)


def _why_uncounted(point: StoredCount) -> str:
    if point.status is Status.OK:
        return "only times were measured"
    return point.failure or point.status.value


def _counted(series: Series) -> list[StoredCount]:
    return [point for segment in series.segments for point in segment.points]


def _steps(segment: Segment, said: StepTexts) -> Iterator[Line]:
    for step in segment.steps:
        base, new = segment.points[step.before], segment.points[step.after]
        sure = "" if step.confirmed else "  one count only"
        yield Line(f"{_change(step.base, step.new)}{sure}", Role.of_change(step.change), 2)
        yield Line(f"before  {_title_of_point(base)}", indent=4)
        yield Line(f"after   {_title_of_point(new)}", indent=4)
        between = step.after - step.before - 1
        if between:
            yield Line(f"with {plural(between, 'outlier')} in between", indent=4)
        for other in surroundings(base, new):
            yield Line(f"also differs: {other.text}", Role.WARNING, 4)
        for cause in said.get((base, new), ()):
            yield Line(cause, indent=4)
    if not segment.steps:
        yield Line("no step", indent=2)


def chart_of(series: Series) -> Chart | None:
    """The counts of a case in the order of its runs, and its levels; None without any."""
    lines: list[Drawn] = []
    for number, segment in enumerate(series.segments, 1):
        several = f" {number}" if len(series.segments) > 1 else ""
        runs = tuple(map(_run_of, segment.points))
        titles = tuple(map(_title_of_point, segment.points))
        counts = tuple(count_of(point).per_run for point in segment.points)
        lines.append(Drawn(f"counts{several}", runs, counts, titles))
        for level in segment.levels:
            within = slice(level.start, level.end)
            height = (level.count,) * (level.end - level.start)
            lines.append(Drawn("level", runs[within], height, titles[within], level=True))
    axes = ("", "instructions per iteration")
    return Chart(f"{series.key.title}: counts", ChartKind.LINES, lines, *axes) if lines else None


def _case_row(series: Series) -> Row:
    points, title = _counted(series), series.key.title
    latest = max(reversed(points), key=_moment, default=None)  # of a run, the last build
    steps = [(part.points[step.after], step) for part in series.segments for step in part.steps]
    last = Cell("")
    if steps:
        point, step = max(reversed(steps), key=lambda pair: _moment(pair[0]))
        text = f"{_change(step.base, step.new)} in {_title_of_point(point)}"
        last = Cell(text, Role.of_change(step.change))
    count = None if latest is None else count_of(latest).per_run
    return Row([title, len(points), count, len(steps), last], title)


def _moment(point: StoredCount) -> tuple[str, int]:
    return point.started_at, point.run_id


_RECORD = (
    *("started_at", "run", "build", "torch", "torch_git"),
    *("count", "spread", "level", "remark"),
)


def _remarks(segment: Segment, place: int) -> Iterator[str]:
    if not place:
        yield from (f"not comparable: {reason}" for reason in segment.apart)
    if place in segment.outliers:
        yield "outlier"
    if segment.points[place].has_changed_files:
        yield _CHANGED
    for step in segment.steps:
        if step.after == place:
            yield f"{step.change:+,} {relative(step.relative)}"


def series_data(series: Series, said: StepTexts) -> dict[str, Any]:
    """A case with its counts and steps, for programs."""
    return {
        **series.key.as_values,
        "segments": [
            {
                "apart": segment.apart,
                "points": [
                    {
                        **_point_data(point),
                        "outlier": place in segment.outliers,
                        "level": segment.level_at(place).count,
                        "remark": " · ".join(_remarks(segment, place)),
                    }
                    for place, point in enumerate(segment.points)
                ],
                "steps": [_step_data(step, segment, said) for step in segment.steps],
            }
            for segment in series.segments
        ],
        "uncounted": list(map(_point_data, series.uncounted)),
    }


def _step_data(step: Step, segment: Segment, said: StepTexts) -> dict[str, Any]:
    base, new = segment.points[step.before], segment.points[step.after]
    return {
        **attrs.asdict(step),
        "change": step.change,
        "relative": step.relative,
        "differs": [surrounding.name for surrounding in surroundings(base, new)],
        "causes": said.get((base, new), ()),
    }


def _point_data(point: StoredCount) -> dict[str, Any]:
    counted, others = point.instructions, {"case", "run_id", "fingerprint", "instructions", "noise"}
    return {
        **attrs.asdict(point, recurse=False, filter=lambda field, _: field.name not in others),
        "run": point.run_id,
        "torch": point.fingerprint.torch,
        "torch_git": point.fingerprint.torch_git,
        "count": counted and counted.per_run,
        "exact": counted and counted.exact,
        "spread": counted and counted.spread,
        "level": None,
        "remark": _why_uncounted(point),
    }


def found_step(difference: Difference, base: str, new: str, run: str) -> WatchStep:
    """A step between two builds that a watch found, for programs; ``run`` is where it was measured.

    Its ``id`` is the same for the same step, however often it is reported.
    """
    case = difference.key.title
    return {
        "id": hashlib.sha256(json.dumps([case, base, new]).encode()).hexdigest()[:16],
        "case": case,
        "base": base,
        "new": new,
        "run": run,
        "verdict": difference.verdict.value,
        "reason": difference.reason.value,
        "verified": difference.verified,
        "base_count": difference.base_count,
        "new_count": difference.new_count,
        "change": difference.change,
        "causes": list(of_case(difference)),
    }


def step_text(step: WatchStep) -> str:
    """The same in one line; chats show what is called text."""
    counts = ""
    if step["change"] is not None:
        counts = f" {step['base_count']:,} → {step['new_count']:,}"
    sure = "" if step["verified"] else ", not verified"
    causes = f": {' · '.join(step['causes'])}" if step["causes"] else ""
    return (
        f"{step['verdict']}: {step['case']}{counts} between {step['base']} and {step['new']} "
        f"({step['reason']}{sure}){causes}"
    )


_CHANGE = (
    *("before", "after", "gradual", "verdict", "reason", "verified"),
    *("base", "new", "change", "relative"),
)


def bisection(found: Found) -> Document:
    """Each change with its neighbours and causes, then what it took to find them."""
    names = found.builds
    broken = {names[place]: why for place, why in found.broken.items()}
    changes = [_change_data(change, names) for change in found.changes]
    effort = (
        f"{len(names)} builds · {len(found.measured)} measured · {len(found.broken)} broken · "
        f"{found.measurements} measurements · {found.reused} taken from the store"
    )
    no_change = []
    if found.is_conclusive and not found.changes:
        ends = (
            f"{names[place]} ({found.counts[place]:,})"
            for place in [*found.counts][:: len(found.counts) - 1]
        )
        no_change = [f"no change between {' and '.join(ends)}"]
    doubts = (Line(f"broken: {name}: {why}", Role.WARNING) for name, why in broken.items())
    return Document(
        "bisection",
        found.key.title,
        no_change,
        sections=(_found_change(change, found) for change in found.changes),
        notes=[*doubts, effort],
        data={
            "format_version": FORMAT_VERSION,
            "case": found.key.title,
            "builds": names,
            "changes": changes,
            "broken": broken,
            "measured": [names[place] for place in found.measured],
            "counts": {names[place]: count for place, count in found.counts.items()},
            "measurements": found.measurements,
            "reused": found.reused,
        },
        records=records_table(_CHANGE, ([change[name] for name in _CHANGE] for change in changes)),
    )


def _found_change(change: FoundChange, bisected: Found) -> Block:
    difference, names = change.difference, bisected.builds
    base, new = difference.base_count or 0, difference.new_count or 0
    sure = "verified" if difference.verified else "not verified"
    if difference.reason is Reason.OUTPUT_DIFFERS:
        sure = "output differs"
    lines = [
        f"{role}  {names[place]}, torch {torch_of(bisected.measured[place])}"
        for role, place in (("before", change.before), ("after ", change.after))
    ]
    if change.gradual:
        lines.append("in small steps: no two neighbours differ by enough")
    lines += [f"or {names[place]}, which cannot be measured" for place in change.broken]
    if difference.output is not None and difference.output.differs:
        lines.append(f"output: {difference.output.text}")
    lines += of_case(difference)
    role = Role.BAD if difference.is_regression else Role.GOOD
    return Block(f"{_change(base, new)}  {sure}", (Line(text, indent=2) for text in lines), role)


def _change_data(change: FoundChange, names: Sequence[str]) -> dict[str, Any]:
    return {
        "before": names[change.before],
        "after": names[change.after],
        "broken": [names[place] for place in change.broken],
        "gradual": change.gradual,
        **verdict_figures(change.difference),
        "causes": of_case(change.difference),
    }
