"""Operators: their list, what they do not cover, what they cost, and one over many sizes."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from instruction_counts.analysis.operators import Metrics, fit, metrics_of
from instruction_counts.core.types import Language, RuntimeMode
from instruction_counts.domain.metrics import FLOPS, MOVED_BYTES, PEAK_BYTES
from instruction_counts.domain.outcomes import Machine, Outcome
from instruction_counts.domain.records import Run
from instruction_counts.report import format as fmt
from instruction_counts.report import plots
from instruction_counts.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Role,
    Row,
    Table,
    Unit,
    Value,
    table_of,
)
from instruction_counts.session.operators import MeasuredSizes
from instruction_counts.sources.operators.catalogue import Coverage, PublicOperator
from instruction_counts.sources.operators.entries import VARIANTS, OperatorEntry


def listed(entries: Sequence[OperatorEntry], without_cpp: Mapping[str, str]) -> Document:
    """The entries of a file, and why some of them are without C++ that do not say so."""

    def missing(entry: OperatorEntry) -> Iterator[str]:
        if entry.cpp is False or entry.name in without_cpp:
            yield "C++"
        if not entry.torchscript:
            yield "TorchScript"
        if not entry.differentiates:
            yield "backward"

    columns = [
        Column("name", "operator", of=lambda entry: entry.name),
        Column("category", "category", of=lambda entry: entry.category),
        Column("inputs", "inputs", of=lambda entry: ", ".join(entry.inputs)),
        Column(
            *("shapes", "shapes"),
            of=lambda entry: "all" if entry.variants == VARIANTS else ", ".join(entry.variants),
        ),
        Column("without", "without", of=lambda entry: ", ".join(missing(entry))),
    ]
    categories = fmt.plural(len({entry.category for entry in entries}), "category", "categories")
    return Document(
        "operators",
        answer=[f"{fmt.plural(len(entries), 'operator')} in {categories}"],
        sections=[table_of("operators", "", columns, entries, lambda entry: entry.name)],
        notes=[f"{name} without C++: {reason}" for name, reason in without_cpp.items()],
    )


_UNCOVERED = (
    Column("name", "operator", of=lambda operator: operator.entry_name),
    Column("category", "category", of=lambda operator: operator.namespace),
    Column("native", "native name", of=lambda operator: operator.native),
    Column("calls", "calls", Unit.COUNT, of=lambda operator: operator.uses),
)
_CALLS_NOTE = (
    "calls: how often torch's own Python calls something of that name. Objects of any class may "
    "have such a method, so for methods it is an upper limit."
)
_CATEGORIES = (
    Column("category", "category"),
    Column("public", "operators", Unit.COUNT),
    Column("covered", "covered", Unit.COUNT),
    Column("covered_calls", "by calls", Unit.SHARE),
)


def coverage(found: Coverage, build: str, limit: int) -> Document:
    """The public operators of a build without an entry, and the shares of those that have one."""
    uncovered = set(found.uncovered)

    def row(name: str, operators: Sequence[PublicOperator]) -> Row:
        covered = [operator for operator in operators if operator not in uncovered]
        calls, of = (sum(each.uses for each in several) for several in (covered, operators))
        return Row([name, len(operators), len(covered), calls / of if of else None], name)

    by_name: dict[str, list[PublicOperator]] = defaultdict(list)
    for operator in sorted(found.public, key=lambda each: each.namespace):
        by_name[operator.namespace].append(operator)
    everything = row("all", found.public)
    missing = table_of(
        *("uncovered", "not covered", _UNCOVERED, found.uncovered),
        lambda operator: operator.entry_name,
        shown=limit or None,
    )
    covered = len(found.public) - len(uncovered)
    share = fmt.written(everything.cells[-1], Unit.SHARE)
    rows = itertools.starmap(row, by_name.items())
    return Document(
        "coverage",
        f"Operators without an entry: {build}",
        answer=[f"Covered {covered:,} of {len(found.public):,} operators, {share} by calls"],
        sections=[Table("categories", "", _CATEGORIES, rows, total=everything), missing],
        records=missing,
        notes=[_CALLS_NOTE],
    )


_COSTS = (
    Column("operator", ""),
    Column("instructions", "instr", Unit.COUNT, "forward"),
    Column("median_s", "time", Unit.SECONDS, "forward"),
    Column("backward_instructions", "instr", Unit.COUNT, "backward"),
    Column("backward_s", "time", Unit.SECONDS, "backward"),
    Column("peak_bytes", "mem", Unit.BYTES),
    Column("gb_per_s", "GB/s", Unit.NUMBER),
    Column("gflops_per_s", "GF/s", Unit.NUMBER),
)
LEGEND = (
    "backward: forward and backward together, less forward; mem: most memory held at once; "
    "GB/s, GF/s: least bytes moved, and floating point operations, over the median time of forward"
)


_RUNTIMES = {RuntimeMode.EAGER: "", RuntimeMode.EXPLICIT: "", RuntimeMode.JIT: "TS "}
"""What a row begins with; the name of the runtime, of others."""


def measured(run: Run) -> Table:
    """The operators of a run, a row for each language; without rows where there are none."""
    rows: list[Row] = []
    for label, members in itertools.groupby(metrics_of(run.cases), lambda each: each.forward.label):
        title = " / ".join(label)
        rows.append(Row([title, *[""] * (len(_COSTS) - 1)], role=Role.STRONG))
        for metrics in members:
            record = metrics.forward
            parts = [record.build] if len(run.builds) > 1 else []
            parts.append(_RUNTIMES.get(record.runtime, f"{record.runtime.value} "))
            parts[-1] += record.language.value
            parts += [f"{record.num_threads} threads"] * (record.num_threads > 1)
            mode = " ".join(parts)
            rows.append(Row([mode, *_costs(metrics)], f"{title} · {mode}", indent=1))
    return Table("operators", "Operators", _COSTS, rows)


def _costs(metrics: Metrics) -> Iterator[Cell]:
    record = metrics.forward
    yield fmt.count_cell(record.outcome.instructions)
    yield fmt.time_cell(record.outcome.times)
    yield fmt.count_cell(metrics.backward) if metrics.backward else Cell("")
    yield Cell(_known(metrics.backward_s))
    is_python = record.language is Language.PYTHON and record.runtime is not RuntimeMode.JIT
    yield Cell(_known(metrics.used.get(PEAK_BYTES.name) if is_python else None))
    for metric in (MOVED_BYTES, FLOPS):
        per_second = metrics.per_second(metric)
        yield Cell(_known(per_second and per_second / 1e9))


def _known(value: float | None) -> Value:
    return "" if value is None else value


def machine_line(machine: Machine | None) -> str:
    """What one core can do; empty where it was not measured."""
    if machine is None:
        return ""
    copied, computed = machine.copy_bytes_per_s / 1e9, machine.matmul_flops_per_s / 1e9
    return f"one core of this machine: {copied:.3g} GB/s copied, {computed:.3g} GF/s in a matmul"


def sizes(found: MeasuredSizes) -> Document:
    """The counts of an operator at each size, the complexity that fits them, and a plot of both."""
    modes: dict[str, dict[int, Outcome]] = defaultdict(dict)
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    for record in sorted(found.run.cases, key=lambda record: found.size_of[record.label]):
        title = record.key.title.removeprefix(f"{' / '.join(record.label)} · ")
        size = found.size_of[record.label]
        modes[title][size] = record.outcome
        if (counted := record.outcome.instructions) is not None:
            counts[title][size] = counted.per_run
    curves = [plots.Curve(title, mine, fit(mine)) for title, mine in counts.items()]
    plot = plots.curves(f"{found.entry.name}: instructions", curves)
    return Document(
        "sizes",
        f"{found.entry.name} over {fmt.plural(len(found.sizes), 'size')}",
        answer=map(complexity, curves),
        sections=[_sizes_table(found.sizes, modes), Block("", plot, preformatted=True)],
        notes=(
            f"{record.outcome.status.value}  {record.key.title}: {failure.summary}"
            for record in found.run.cases
            if (failure := record.outcome.failure) is not None
        ),
    )


def _sizes_table(sizes: Sequence[int], modes: Mapping[str, Mapping[int, Outcome]]) -> Table:
    columns = [Column("n", "N", Unit.COUNT)]
    for title in modes:
        columns.append(Column(f"{title} · instructions", "instr", Unit.COUNT, title))
        columns.append(Column(f"{title} · median_s", "time", Unit.SECONDS, title))
    rows = []
    for size in sizes:
        cells: list[Cell] = []
        for outcomes in modes.values():
            outcome = outcomes.get(size)
            counted = outcome.instructions if outcome else None
            cells.append(fmt.count_cell(counted) if counted else Cell("failed", Role.BAD))
            cells.append(fmt.time_cell(outcome.times if outcome else None))
        rows.append(Row([size, *cells], f"N={size}"))
    return Table("sizes", "", columns, rows).without_empty_columns()


def complexity(curve: plots.Curve) -> str:
    """The fit in one sentence: where overhead ends and work begins."""
    fit = curve.fit
    if fit is None:
        return f"{curve.title}: too few sizes were counted for a fit; four are needed"
    if fit.complexity.name == "1" or not fit.per_unit:
        what = f"{fit.overhead:,.0f} instructions whatever the size"
    else:
        work = f"{fit.per_unit:,.4g}·{fit.complexity.name}"
        what = f"{fit.overhead:,.0f} + {work} instructions" if fit.overhead else work
    begins = (
        f"; work outweighs overhead from N = {fit.work_begins:,.0f}"
        if fit.work_begins and fit.work_begins > 1
        else ""
    )
    return f"{curve.title}: {what} (off by {100 * fit.error:.2g}%){begins}"
