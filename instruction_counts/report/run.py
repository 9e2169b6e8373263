"""What was measured: runs, statements beside each other, and a list of all runs.

Of a run, the label tree stands down and the languages across.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.operators import without_metrics
from instruction_counts.analysis.verdicts.comparison import MeasuredStatement
from instruction_counts.core.facts import subject_values
from instruction_counts.core.types import Label, Language
from instruction_counts.domain.build import DEFAULT_NAME
from instruction_counts.domain.metrics import (
    ALLOCATIONS,
    BYTECODES,
    CYCLES,
    FLOPS,
    LAUNCHES,
    LEFT_RUNNING,
    OF_HARDWARE,
    OPERATOR_CALLS,
    PEAK_BYTES,
    SYNCHRONISATIONS,
    Metric,
    metrics,
)
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.records import Record, Run, RunSummary
from instruction_counts.report import operators
from instruction_counts.report.cases import KEY_NAMES, about_cuda, key_cells, unusual_modes
from instruction_counts.report.causes import texts, why
from instruction_counts.report.comparison import case_values, change_cell, skipped_lines
from instruction_counts.report.document import (
    Cell,
    Chart,
    ChartKind,
    Column,
    Document,
    Line,
    Role,
    Row,
    Series,
    Table,
    Unit,
    Value,
    records_table,
    table_of,
    treemap,
)
from instruction_counts.report.format import count_cell, plural, relative, spread_cell, time_cell

_CHANGED = "* files of a build changed during the run (runs show RUN): measure it again"
_STATES = {"running": Role.WARNING, "interrupted": Role.WARNING, "killed": Role.BAD}
_FEWEST_DRAWN = 4
"""Fewer cases are read faster than looked at."""


def run_document(
    run: Run, *, with_tables: bool = True, summary: RunSummary | None = None
) -> Document:
    """Tables of what was measured, what has no result and why, and how many of each.

    ``summary`` is that of a stored run.
    """
    tables: list[Table] = []
    legends: list[str] = []
    if with_tables and any(record.outcome.status is Status.OK for record in run.cases):
        of_operators = operators.measured(run)
        if of_operators.rows:
            tables.append(of_operators)
            legends += filter(None, [operators.LEGEND, operators.machine_line(run.machine)])
        others = without_metrics(run.cases)
        if others:
            tables.append(results_table(attrs.evolve(run, cases=others)))
        legends.append(legend(run.cases))
    counts = Counter(record.outcome.status.value for record in run.cases)
    shares = " · ".join(f"{number:,} {status}" for status, number in counts.items())
    tally = f"{plural(len(run.cases), 'case')}: {shares}" if counts else "No case was measured."
    return Document(
        "run",
        answer=[*_head(run, summary), *about_cuda(run.cases)],
        sections=(*tables, *charts(run.cases)) if with_tables else (),
        notes=[*(Line(text, Role.DIM) for text in legends), *doubts(run), tally],
        records=_records(run.cases),
    )


def legend(records: Iterable[Record]) -> str:
    """What the figures of these cases are."""
    outcomes = [record.outcome for record in records]
    is_counted = any(outcome.instructions is not None for outcome in outcomes)
    is_timed = any(outcome.times is not None for outcome in outcomes)
    counts = "Instructions per iteration (~: inexact)" if is_counted else ""
    times = f"{'m' if counts else 'M'}edian time ± interquartile range" if is_timed else ""
    has_cycles = any(outcome.cycles is not None for outcome in outcomes)
    cycles = "median of estimated cycles ± half their range over layouts" if has_cycles else ""
    return ", ".join(filter(None, [counts, cycles, times]))


def _head(run: Run, summary: RunSummary | None) -> Iterator[str]:
    if summary is not None:
        parts = [
            f"run {summary.id}",
            summary.state,
            f"started {_minute(summary.started_at)} UTC" if summary.started_at else "",
            f"engine {summary.engine}",
            *sorted({f"instruction-counts {found.tool_version}" for found in run.builds.values()}),
        ]
        yield " · ".join(filter(None, parts))
        if summary.tags:
            yield f"tags: {', '.join(summary.tags)}"
    if run.shard is not None:
        yield f"shard {run.shard}: {len(run.shard.positions)} of {run.shard.cases} cases"
    for name, build in run.builds.items():
        facts = [f"torch {build.torch}", f"Python {build.python}", build.cpu, build.valgrind]
        known = " · ".join(filter(None, facts))
        yield known if list(run.builds) == [DEFAULT_NAME] else f"{name}: {known}"


def results_table(run: Run) -> Table:
    """All cases but those that a time budget skipped, with what is known of any of them.

    A row has a mode of a benchmark in all languages; those of a label stand below each other.
    """
    tried = [record for record in run.cases if not record.outcome.skipped_by_budget]
    by_mode: dict[tuple[Any, ...], dict[Language, Record]] = defaultdict(dict)
    for record in tried:
        modes = record.runtime, record.autograd, record.num_threads
        by_mode[record.build, record.label, *modes][record.language] = record
    is_counted = any(record.outcome.instructions for record in tried)
    in_place = set() if is_counted else {BYTECODES}  # of the instructions
    shown = [metric for metric in metrics() if metric.has_column or metric in in_place]
    languages = [lang for lang in Language if any(record.language is lang for record in tried)]
    columns = [
        column
        for lang in languages
        for column in figure_columns(shown, f"{lang.option}_", lang.value)
    ]
    rows = []
    above: Label = ()
    for records in by_mode.values():
        first = next(iter(records.values()))
        label, mode = first.label, _mode(run, first)
        if len(label) > 1 and label[:1] != above[:1]:
            rows.append(Row([label[0], *[""] * len(columns)], role=Role.STRONG))
        name = " / ".join(label[1:]) or label[0]
        text = ", ".join(filter(None, ["" if label == above else name, mode]))
        cells = (cell for lang in languages for cell in figure_cells(records.get(lang), shown))
        key = " · ".join(filter(None, [" / ".join(label), mode]))
        indent = (2 if len(label) > 1 else 0) + (2 if label == above else 0)
        rows.append(Row([text, *cells], key, indent=indent))
        above = label
    return Table("results", "", [Column("case", ""), *columns], rows).without_empty_columns()


def figure_columns(shown: Sequence[Metric], start: str = "", group: str = "") -> Iterator[Column]:
    """The columns of `figure_cells`; their keys begin with ``start``."""
    columns = (
        ("instructions", "instr", Unit.COUNT),
        *((metric.name, metric.heading or metric.title, Unit.COUNT) for metric in shown),
        ("cycles_range", "", Unit.RELATIVE_SPREAD),
        *(("median_s", "time", Unit.SECONDS), ("iqr", "", Unit.RELATIVE_SPREAD)),
    )
    for key, heading, unit in columns:
        yield Column(f"{start}{key}", heading, unit, group)


def figure_cells(record: Record | None, shown: Sequence[Metric]) -> Iterator[Cell]:
    """What a case costs: instructions, metrics that are shown, and times; or why there is none."""
    outcome = None if record is None else record.outcome
    if outcome is None or outcome.status is not Status.OK:
        what = Cell("") if outcome is None else Cell(outcome.status.value, _role_of(outcome))
        yield from [what, *[Cell("")] * (3 + len(shown))]
        return
    yield count_cell(outcome.instructions)
    yield from (Cell(outcome.metrics.get(metric.name, ""), Role.DIM) for metric in shown)
    cycles, times = outcome.cycles, outcome.times
    yield Cell(cycles.range / 2 / cycles.median if cycles and cycles.median else "", Role.DIM)
    yield time_cell(times)
    yield spread_cell(times)


def _mode(run: Run, record: Record) -> str:
    builds = [record.build] if len(run.builds) > 1 else []
    return ", ".join([*builds, *unusual_modes(record.key, with_language=False)])


def _role_of(outcome: Outcome) -> Role:
    return Role.WARNING if outcome.status is Status.SKIPPED else Role.BAD


def doubts(run: Run) -> Iterator[Line]:
    """A line for each case without a result, for each doubt, and for what a time budget skipped."""
    for record in run.cases:
        outcome = record.outcome
        if outcome.failure is not None and not outcome.skipped_by_budget:
            said = f"{_title(run, record)}: {outcome.failure.summary}"
            yield Line(f"{outcome.status.value}  {said}", _role_of(outcome))
    for name, files in run.changed_files.items():
        text = f'note  files of build "{name}" changed during the run: {files.summary}'
        yield Line(text, Role.WARNING)
    for record in run.cases:
        if left_running := record.outcome.metrics.get(LEFT_RUNNING.name):
            number = plural(int(left_running), "process", "processes")
            text = f"note  {_title(run, record)}: left running, and ended: {number}"
            yield Line(text, Role.WARNING)
    skipped = {_title(run, record): record.outcome.skipped_by_budget for record in run.cases}
    budgets = {title: budget for title, budget in skipped.items() if budget}
    yield from skipped_lines(budgets, len(run.cases) - len(budgets))


def _title(run: Run, record: Record) -> str:
    parts = [" / ".join(record.label), record.language.value, _mode(run, record)]
    return " · ".join(filter(None, parts))


def charts(records: Iterable[Record]) -> tuple[Chart, ...]:
    """Labels by what they cost, and counts against times."""
    counted = [(found, record) for record in records if (found := record.outcome.instructions)]
    if len(counted) < _FEWEST_DRAWN:
        return ()
    sizes = ((_path(record), found.per_run) for found, record in counted)
    labels = treemap("Instructions by label", sizes)
    timed: dict[str, list[tuple[Value, int, str]]] = defaultdict(list)
    for found, record in counted:
        if (times := record.outcome.times) is not None:
            point = times.median_s, found.per_run, record.key.title
            timed[record.language.value].append(point)
    series = (
        Series(name, times, counts, titles)
        for name, points in timed.items()
        for times, counts, titles in [zip(*points, strict=True)]
    )
    against = Chart(
        *("Instructions against time", ChartKind.POINTS, series),
        *("median time (s)", "instructions per iteration"),
        logarithmic=True,
        folded=True,
    )
    return (labels, against) if timed else (labels,)


def _path(record: Record) -> tuple[str, ...]:
    modes = record.key.title.removeprefix(" / ".join(record.label))
    return (*record.label, f"{record.build}{modes}")


def _records(records: Iterable[Record]) -> Table:
    known = [metric.name for metric in metrics()]
    figures = ("status", "instructions", "exact", "spread", "median_s", "iqr_s", "error")
    stated = ("metadata", "subject", "expected")
    names = (*KEY_NAMES, "build", "definition_hash", *figures, *known, *stated)
    return records_table(names, (_values(record, known) for record in records))


def _values(record: Record, known: Sequence[str]) -> Iterator[Any]:
    outcome = record.outcome
    counted, times = outcome.instructions, outcome.times
    yield from (*key_cells(record.key), record.build, record.definition_hash, outcome.status.value)
    yield from ((counted.per_run, counted.exact, counted.spread) if counted else (None, None, None))
    yield from (times.median_s, times.iqr_s) if times else (None, None)
    yield outcome.failure and outcome.failure.summary
    yield from (outcome.metrics.get(name) for name in known)
    expected = [attrs.asdict(tensor) for tensor in record.expected]
    stated = record.metadata, subject_values(record.subject), expected
    yield from (json.dumps(value) if value else "" for value in stated)


def runs_document(summaries: Sequence[RunSummary]) -> Document:
    """A line for each stored run."""
    is_changed = any(summary.changed_files for summary in summaries)
    return Document(
        "runs",
        sections=[table_of("runs", "", _RUNS, summaries, lambda run: str(run.id))],
        notes=[Line(_CHANGED, Role.WARNING)] if is_changed else (),
        data=list(summaries),
    )


def title(summary: RunSummary) -> str:
    """A stored run in some words, to tell it from others."""
    when = f", {_minute(summary.started_at)}" if summary.started_at else ""
    tags = f", {', '.join(summary.tags)}" if summary.tags else ""
    return f"run {summary.id} ({plural(summary.cases, 'case')}{when}{tags})"


def _minute(started_at: str) -> str:
    return started_at.replace("T", " ")[:16] or "–"


def _versions(builds: Mapping[str, str]) -> str:
    if list(builds) == [DEFAULT_NAME]:
        return builds[DEFAULT_NAME]
    return ", ".join(f"{name} {torch}" for name, torch in builds.items())


_RUNS = (
    Column("id", "run", Unit.COUNT, of=lambda run: str(run.id)),
    Column("started_at", "started (UTC)", of=lambda run: _minute(run.started_at)),
    Column("builds", "torch", of=lambda run: _versions(run.builds)),
    Column("cases", "cases", Unit.COUNT, of=lambda run: run.cases),
    Column(
        "failed", "failed", Unit.COUNT, of=lambda run: Cell(run.failed, Role.of_change(run.failed))
    ),
    Column(
        *("state", "state"),
        of=lambda run: Cell(
            f"{run.state}{' *' if run.changed_files else ''}", _STATES.get(run.state, Role.PLAIN)
        ),
    ),
    Column("tags", "tags", of=lambda run: ", ".join(run.tags)),
)


FORMAT_VERSION = 1
"""Of the JSON of statements."""

_METRICS = (
    *(ALLOCATIONS, BYTECODES, OPERATOR_CALLS, LAUNCHES, SYNCHRONISATIONS),
    *(PEAK_BYTES, FLOPS, *OF_HARDWARE, CYCLES),
)
"""What is shown beside instructions and times, where it is known."""
_LONGEST_NAME = 48


def statements_document(statements: Sequence[MeasuredStatement], run: Run) -> Document:
    """A line for each statement, and what it costs more than the first; ``run`` has all."""
    (build,) = run.builds.values()
    is_any_ok = any(found.record.outcome.status is Status.OK for found in statements)
    sections = [_statements_table(statements)] if is_any_ok else []
    if len(statements) == 1 and statements[0].places:
        sections.append(_places(statements[0]))
    return Document(
        "statements",
        answer=[
            Line(f"torch {build.torch} · Python {build.python} · {run.engine}", Role.DIM),
            *about_cuda(run.cases),
        ],
        sections=sections,
        notes=[*([Line(legend(run.cases), Role.DIM)] if sections else []), *doubts(run)],
        data={
            "time_version": FORMAT_VERSION,
            "tool_version": run.tool_version,
            "engine": run.engine,
            "builds": {
                name: {"fingerprint": build, "changed_files": run.changed_files.get(name)}
                for name, build in run.builds.items()
            },
            "statements": list(map(_statement, statements)),
        },
        records=_records(found.record for found in statements),
    )


def _statements_table(statements: Sequence[MeasuredStatement]) -> Table:
    instructions, *others = figure_columns(_METRICS)
    columns = [
        *(Column("statement", ""), instructions),
        *(Column("change", "change", Unit.CHANGE), Column("relative", "%", Unit.RELATIVE)),
        *others,
    ]
    names = _names([found.record for found in statements])
    return Table("statements", "", columns, map(_row, names, statements)).without_empty_columns()


def _row(name: str, found: MeasuredStatement) -> Row:
    difference = found.difference
    count, *others = figure_cells(found.record, _METRICS)
    changes = (getattr(difference, of, None) for of in ("change", "relative"))
    change = [change_cell(amount, difference) for amount in changes]
    said = [*texts(difference.causes)] if difference else []
    if difference and (time := difference.time) and time.significant:
        said.append(f"time {relative(time.relative)}")
    return Row([Cell(name), count, *change, *others], below=why(said))


def _places(found: MeasuredStatement) -> Table:
    counted = found.record.outcome.instructions
    total = counted.per_run if counted else 0
    columns = [
        Column("function", "", of=lambda place: short(place.key.name, _LONGEST_NAME)),
        Column("instructions", "instructions", Unit.COUNT, of=lambda place: round(place.delta)),
        Column(
            *("share", "share", Unit.SHARE),
            # Torch's Timer takes its loop from the count alone: a part can be more than the whole.
            of=lambda place: float(place.delta / total) if 0 < place.delta <= total else None,
        ),
        Column("layer", "", of=lambda place: Cell(place.key.layer.value, Role.DIM)),
    ]
    return table_of("most_in", "most in", columns, found.places, indent=2)


def _names(records: Sequence[Record]) -> list[str]:
    """What the statements are called, with the modes in which they differ."""
    modes = [
        [*(mode.value for mode in record.key.modes), plural(record.num_threads, "thread")]
        for record in records
    ]
    varying = [place for place, values in enumerate(zip(*modes, strict=True)) if len({*values}) > 1]
    return [
        " · ".join([" / ".join(record.label), *(mine[place] for place in varying)])
        for record, mine in zip(records, modes, strict=True)
    ]


def _statement(found: MeasuredStatement) -> dict[str, Any]:
    record, outcome = found.record, found.record.outcome
    counted, times = outcome.instructions, outcome.times
    return {
        **record.key.as_values,
        **{name: getattr(record, name) for name in ("stmt", "setup", "global_setup")},
        "status": outcome.status,
        "failure": outcome.failure,
        "instructions": counted and counted.per_run,
        "exact": counted and counted.exact,
        "spread": counted and counted.spread,
        "times": times and attrs.asdict(times, filter=lambda field, _: field.name != "values_s"),
        "metrics": outcome.metrics,
        "most_in": [
            {"function": key.name, "library": key.library, "layer": key.layer, "instructions": cost}
            for key, cost in ((place.key, place.delta) for place in found.places)
        ],
        "difference": found.difference and case_values(found.difference),
    }
