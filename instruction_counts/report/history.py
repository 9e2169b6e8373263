"""Counts over time for people: plots, steps, a table, and what a bisection found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from rich.table import Table
from rich.text import Text

from instruction_counts.analysis.verdicts.difference import Difference, Verdict
from instruction_counts.domain.build import DEFAULT_NAME
from instruction_counts.domain.stored import StoredCount
from instruction_counts.history.bisection import Bisection
from instruction_counts.history.candidates import Candidates, is_regression
from instruction_counts.history.series import Segment, Series, count_of, surroundings
from instruction_counts.history.steps import Step
from instruction_counts.history.watching import FoundStep
from instruction_counts.report import format as fmt
from instruction_counts.report import plots as plotting
from instruction_counts.report.causes import of_case, texts
from instruction_counts.report.formats.entry import BisectionReport, StepCauses

WIDTH = 80
_INDENT = "  "
_CHANGED = "files of the build changed during the run"


def plots(series: Series, causes: StepCauses, width: int = WIDTH) -> Iterator[Text]:
    """A case: for each segment a plot and its steps, then what was not counted."""
    yield Text(series.key.title, style="bold")
    total = len(series.segments)
    for number, segment in enumerate(series.segments, 1):
        if segment.apart:
            why = f"segment {number} of {total}, not comparable: {' · '.join(segment.apart)}"
            yield Text(why, style="yellow")
        yield from _plot(segment, width)
        yield from _steps(segment, causes)
    if not series.segments:
        yield Text(f"{_INDENT}never counted")
    for point in (point for segment in series.segments for point in segment.points):
        if point.has_changed_files:
            yield Text(f"{_INDENT}doubtful: {title_of_point(point)}", style="yellow")
    for point in series.uncounted:
        why = point.failure or point.status.value
        yield Text(f"{_INDENT}no count in {title_of_point(point)}: {why}", style="red")


def table(series: Sequence[Series]) -> Table:
    """A line for each count; those of a case one below the other."""
    result = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    result.add_column("started (UTC)", no_wrap=True)
    result.add_column("run", justify="right", no_wrap=True)
    result.add_column("torch", overflow="fold")
    result.add_column("commit", no_wrap=True)
    result.add_column("count", justify="right", no_wrap=True)
    result.add_column("", overflow="fold")
    for case in series:
        result.add_section()
        result.add_row(Text(case.key.title, style="bold"))
        for row in rows(case):
            print_ = row.point.fingerprint
            result.add_row(
                _minute(row.point),
                str(row.point.run_id),
                Text(print_.torch),
                Text(print_.torch_git[:10]),
                fmt.count(row.point.instructions),
                Text(row.remark, style=_style(row)),
            )
    return result


def title_of_point(point: StoredCount) -> str:
    """``run 12`` with its build, torch and commit."""
    print_ = point.fingerprint
    build = "" if point.build == DEFAULT_NAME else f", {point.build}"
    commit = f" ({print_.torch_git[:10]})" if print_.torch_git else ""
    doubt = f", {_CHANGED}" if point.has_changed_files else ""
    return f"run {point.run_id}{build}, torch {print_.torch}{commit}{doubt}"


def change(base: int, new: int) -> str:
    """``9,185 → 10,168  +983, +10.70%``."""
    relative = f", {(new - base) / base:+.2%}" if base else ""
    return f"{base:,} → {new:,}  {new - base:+,}{relative}"


# The plot


def _plot(segment: Segment, width: int) -> Iterator[Text]:
    """Counts as dots, outliers as crosses, levels as lines; the scale is at the left."""
    points = segment.points
    counts = [count_of(point).per_run for point in points]
    lines = [plotting.Line(level.start, level.end - 1, level.count) for level in segment.levels]
    for line in plotting.levels(counts, segment.outliers, lines, width):
        yield Text(line)
    first_day, last_day = (points[place].started_at[:10] or "–" for place in (0, -1))
    total = f"{len(points)} count{'' if len(points) == 1 else 's'}"
    margin = " " * plotting.levels_margin(counts, segment.outliers)
    yield Text(f"{margin}{total}, {first_day} to {last_day}", style="dim")


def _steps(segment: Segment, causes: StepCauses) -> Iterator[Text]:
    for step in segment.steps:
        base, new = segment.points[step.before], segment.points[step.after]
        style = "red" if step.change > 0 else "green"
        sure = "" if step.confirmed else "  one count only"
        yield Text(f"{_INDENT}{change(step.base, step.new)}{sure}", style=style)
        yield Text(f"{_INDENT}  before  {title_of_point(base)}")
        yield Text(f"{_INDENT}  after   {title_of_point(new)}")
        between = step.after - step.before - 1
        if between:
            yield Text(f"{_INDENT}  with {between} outliers in between")
        for other in surroundings(base, new):
            yield Text(f"{_INDENT}  differs too: {other.text}", style="yellow")
        for cause in texts(causes.get((base, new), ())):
            yield Text(f"{_INDENT}  {cause}")
    if not segment.steps:
        yield Text(f"{_INDENT}no step")


# Rows


@attrs.frozen
class CountRow:
    """A point, as tables show it."""

    point: StoredCount
    segment: int
    level: int | None = None
    remark: str = ""
    step: Step | None = None


def rows(series: Series) -> Iterator[CountRow]:
    """A row for each count, and one for each time that the case was not counted."""
    for number, segment in enumerate(series.segments, 1):
        steps = {step.after: step for step in segment.steps}
        for place, point in enumerate(segment.points):
            remarks = [f"not comparable: {reason}" for reason in segment.apart] if not place else []
            if place in segment.outliers:
                remarks.append("outlier")
            if point.has_changed_files:
                remarks.append(_CHANGED)
            step = steps.get(place)
            if step is not None:
                remarks.append(f"{step.change:+,} {step.relative:+.2%}")
            level = segment.level_at(place).count
            yield CountRow(point, number, level, " · ".join(remarks), step)
    for point in series.uncounted:
        yield CountRow(point, 0, None, point.failure or point.status.value)


def _style(row: CountRow) -> str:
    if row.step is not None:
        return "red" if row.step.change > 0 else "green"
    return "yellow" if row.remark else ""


def _minute(point: StoredCount) -> Text:
    return Text(point.started_at.replace("T", " ")[:16] or "–")


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


def bisection(report: BisectionReport) -> Iterator[Text]:
    """What a bisection found: each change with its neighbours and causes, then what it took."""
    result, names, found = report.result, report.names, report.candidates
    yield Text(found.key.title, style="bold")
    for found_change in result.changes:
        difference = found.difference(found_change.before, found_change.after)
        style = "red" if is_regression(difference) else "green"
        yield Text(f"{_INDENT}{_headline(difference)}", style=style)
        for role, place in (("before", found_change.before), ("after ", found_change.after)):
            yield Text(f"{_INDENT}  {role}  {_build(place, names, found)}")
        if found_change.gradual:
            yield Text(f"{_INDENT}  in small steps: no two neighbours differ by enough")
        for place in found_change.broken:
            yield Text(f"{_INDENT}  or {names[place]}, which cannot be measured")
        if difference.output is not None and difference.output.differs:
            yield Text(f"{_INDENT}  output: {difference.output.text}")
        for cause in of_case(difference):
            yield Text(f"{_INDENT}  {cause}")
    if not result.changes:
        yield Text(f"{_INDENT}no change")
    for place, why in result.broken.items():
        yield Text(f"{_INDENT}broken: {names[place]}: {why}", style="yellow")
    yield Text(_effort(result, len(names), found))


def _headline(difference: Difference) -> str:
    base, new = difference.base_count, difference.new_count
    assert base is not None, "a change is between two counts"
    assert new is not None, "a change is between two counts"
    sure = "verified" if difference.verified else "not verified"
    what = "output differs" if is_regression(difference) and not _is_worse(difference) else sure
    return f"{change(base, new)}  {what}"


def _is_worse(difference: Difference) -> bool:
    return difference.verdict is Verdict.WORSE


def _build(place: int, names: Sequence[str], found: Candidates) -> str:
    print_ = found.sides[place].fingerprint
    commit = f" ({print_.torch_git[:10]})" if print_.torch_git else ""
    return f"{names[place]}, torch {print_.torch}{commit}"


def _effort(result: Bisection, builds: int, found: Candidates) -> str:
    parts = [
        f"{builds} builds",
        f"{len(result.measured)} measured",
        f"{len(result.broken)} broken",
        f"{found.measurements} measurements",
        f"{found.reused} taken from the store",
    ]
    return " · ".join(parts)
