"""Operators: their list, what they do not cover, what they cost, and one over many sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from instruction_counts.analysis.operators import Fit, Metrics, fit, metrics_of
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.metrics import PEAK_BYTES
from instruction_counts.domain.outcomes import Instructions, Machine
from instruction_counts.domain.records import Record, Run
from instruction_counts.report import format as fmt
from instruction_counts.report import plots
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
from instruction_counts.session.operators import MeasuredSizes
from instruction_counts.sources.operators.catalogue import Coverage, PublicOperator
from instruction_counts.sources.operators.entries import VARIANTS, OperatorEntry

# ---------------------------------------------------------------------------------------------
# Which there are
# ---------------------------------------------------------------------------------------------


def listed(entries: Sequence[OperatorEntry]) -> Document:
    """The entries of a file."""
    columns = (
        Column("name", "operator"),
        Column("category", "category"),
        Column("inputs", "inputs"),
        Column("shapes", "shapes"),
        Column("without", "without"),
    )
    rows = tuple(
        _row(
            entry.name,
            entry.category,
            ", ".join(entry.inputs),
            "all" if entry.variants == VARIANTS else ", ".join(entry.variants),
            ", ".join(_missing(entry)),
        )
        for entry in entries
    )
    categories = len({entry.category for entry in entries})
    answer = f"{fmt.plural(len(entries), 'operator')} in "
    answer += fmt.plural(categories, "category", "categories")
    return Document(
        "operators",
        answer=(Line(answer),),
        sections=(Table("operators", "", columns, rows),),
    )


def _row(name: str, *values: Value) -> Row:
    return Row((Cell(name), *map(Cell, values)), name)


def _missing(entry: OperatorEntry) -> Iterator[str]:
    if entry.cpp is False:
        yield "C++"
    if not entry.torchscript:
        yield "TorchScript"
    if not entry.differentiates:
        yield "backward"


def coverage(found: Coverage, build: str, limit: int) -> Document:
    """The public operators of a build without an entry, and the shares of those that have one."""
    by_category: dict[str, list[PublicOperator]] = defaultdict(list)
    for operator in found.public:
        by_category[operator.category].append(operator)
    uncovered = set(found.uncovered)

    def unreached(name: str) -> int:
        return -sum(operator.uses for operator in by_category[name] if operator in uncovered)

    names = sorted(by_category, key=lambda name: (unreached(name), name))
    rows = [_covered(name, by_category[name], uncovered) for name in names]
    everything = _covered("all", found.public, uncovered)
    columns = (
        Column("category", "category"),
        Column("calls", "calls", Unit.COUNT),
        Column("public", "operators", Unit.COUNT),
        Column("covered", "covered", Unit.COUNT),
        Column("covered_calls", "by calls", Unit.SHARE),
    )
    missing = Table(
        "uncovered",
        "not covered",
        (
            Column("name", "operator"),
            Column("category", "category"),
            Column("native", "native name"),
            Column("calls", "calls", Unit.COUNT),
        ),
        tuple(
            _row(operator.entry_name, operator.category, operator.native or None, operator.uses)
            for operator in found.uncovered
        ),
        shown=limit or None,
        more="operators coverage --limit 0",
    )
    share = fmt.written(everything.cells[-1], Unit.SHARE)
    covered = len(found.named) + len(found.shared)
    return Document(
        "coverage",
        f"Operators without an entry: {build}",
        answer=(
            Line(
                f"Covered {covered:,} of {len(found.public):,} operators ({len(found.named):,} by "
                f"name, {len(found.shared):,} by function), {share} by calls"
            ),
        ),
        sections=(
            Table("categories", "", columns, tuple(rows), total=everything),
            missing,
        ),
        records=missing,
        notes=(
            Line(
                "calls: how often torch's own Python calls something of that name. Objects of any "
                "class may have such a method, so for methods it is an upper limit."
            ),
            Line(
                "covered: with an entry of that name, or of a function with the same native name, "
                "as torch.add covers Tensor.add."
            ),
        ),
    )


def _covered(name: str, operators: Sequence[PublicOperator], uncovered: set[PublicOperator]) -> Row:
    calls = sum(operator.uses for operator in operators)
    covered = [operator for operator in operators if operator not in uncovered]
    reached = sum(operator.uses for operator in covered)
    share = reached / calls if calls else None
    return _row(name, calls, len(operators), len(covered), share)


# ---------------------------------------------------------------------------------------------
# What they cost
# ---------------------------------------------------------------------------------------------

LEGEND = (
    "backward: forward and backward together, less forward; mem: most memory held at once; "
    "GB/s, GF/s: least bytes moved, and floating point operations, over the median time of forward"
)


def measured(run: Run) -> Table:
    """The operators of a run, a row for each language; without rows where there are none."""
    columns = (
        Column("operator", ""),
        Column("instructions", "instr", Unit.COUNT, "forward"),
        Column("median_s", "time", Unit.SECONDS, "forward"),
        Column("backward_instructions", "instr", Unit.COUNT, "backward"),
        Column("backward_s", "time", Unit.SECONDS, "backward"),
        Column("peak_bytes", "mem", Unit.BYTES),
        Column("gb_per_s", "GB/s", Unit.NUMBER),
        Column("gflops_per_s", "GF/s", Unit.NUMBER),
    )
    rows: list[Row] = []
    above: tuple[str, ...] = ()
    for metrics in metrics_of(run.cases):
        title = " / ".join(metrics.key.label)
        if metrics.key.label != above:
            rows.append(Row((Cell(title), *[Cell("")] * 7), title))
        mode = _mode(metrics, several=len(run.builds) > 1)
        rows.append(Row((Cell(mode), *_costs(metrics)), f"{title} · {mode}", indent=1))
        above = metrics.key.label
    return Table("operators", "Operators", columns, tuple(rows))


def _mode(metrics: Metrics, *, several: bool) -> str:
    """Language and runtime, with the build where there are ``several``, and threads."""
    parts = [metrics.build] if several else []
    parts.append("TS " * (metrics.key.runtime is RuntimeMode.JIT) + metrics.key.language.value)
    if metrics.key.num_threads > 1:
        parts.append(f"{metrics.key.num_threads} threads")
    return " ".join(parts)


def _costs(metrics: Metrics) -> Iterator[Cell]:
    counted, times = metrics.instructions, metrics.times
    yield _counted(counted)
    yield Cell(times.median_s if times else None)
    is_approximate = not metrics.backward_exact
    yield _or_nothing(metrics.backward_instructions, approximate=is_approximate)
    yield _or_nothing(metrics.backward_s)
    is_python = (
        metrics.key.language is Language.PYTHON and metrics.key.runtime is not RuntimeMode.JIT
    )
    yield _or_nothing(metrics.used.get(PEAK_BYTES.name) if is_python else None)
    for per_second in (metrics.bytes_per_s, metrics.flops_per_s):
        yield _or_nothing(per_second and per_second / 1e9)


def _counted(counted: Instructions | None) -> Cell:
    if counted is None:
        return Cell(None)
    return Cell(counted.per_run, approximate=not counted.exact)


def _or_nothing(value: float | None, *, approximate: bool = False) -> Cell:
    return Cell("") if value is None else Cell(value, approximate=approximate)


def machine_line(machine: Machine | None) -> str:
    """What one core can do; empty where it was not measured."""
    if machine is None:
        return ""
    copied, computed = machine.copy_bytes_per_s / 1e9, machine.matmul_flops_per_s / 1e9
    return f"one core of this machine: {copied:.3g} GB/s copied, {computed:.3g} GF/s in a matmul"


# ---------------------------------------------------------------------------------------------
# Over a range of sizes
# ---------------------------------------------------------------------------------------------

Mode = tuple[Language, RuntimeMode, AutogradMode, int]


def sizes(found: MeasuredSizes) -> Document:
    """The counts of an operator at each size, the complexity that fits them, and a plot of both."""
    modes: dict[Mode, dict[int, Record]] = defaultdict(dict)
    for record in found.run.cases:
        mode = (record.language, record.runtime, record.autograd, record.num_threads)
        modes[mode][found.size_of[record.label]] = record
    curves = [
        plots.Curve(_title(mode), counts, fit(counts))
        for mode, records in modes.items()
        if (counts := _counts(records))
    ]
    title = f"{found.entry.name}: instructions"
    plot = tuple(map(Line, plots.curves(title, "N", curves)))
    problems = (
        Line(f"{record.outcome.status.value}  {record.key.title}: {failure.summary}")
        for record in found.run.cases
        if (failure := record.outcome.failure) is not None
    )
    return Document(
        "sizes",
        f"{found.entry.name} over {fmt.plural(len(found.sizes), 'size')}",
        answer=tuple(Line(complexity(curve)) for curve in curves),
        sections=(
            _sizes_table(found.sizes, modes),
            Block("", plot, preformatted=True),
        ),
        notes=tuple(problems),
    )


def _counts(records: Mapping[int, Record]) -> dict[int, int]:
    return {
        size: record.outcome.instructions.per_run
        for size, record in sorted(records.items())
        if record.outcome.instructions is not None
    }


def _title(mode: Mode) -> str:
    """``C++ · Eager · Forward``, and the threads where there are several."""
    *modes, threads = mode
    texts = [kind.value for kind in modes]
    return " · ".join([*texts, *([f"{threads} threads"] if threads > 1 else [])])


def _sizes_table(sizes: Sequence[int], modes: Mapping[Mode, Mapping[int, Record]]) -> Table:
    """Sizes down, modes across."""
    has_times = any(
        record.outcome.times for records in modes.values() for record in records.values()
    )
    columns = [Column("n", "N", Unit.COUNT)]
    for title in map(_title, modes):
        columns.append(Column(f"{title} · instructions", "instr", Unit.COUNT, title))
        if has_times:
            columns.append(Column(f"{title} · median_s", "time", Unit.SECONDS, title))
    rows = []
    for size in sizes:
        cells = [Cell(size)]
        for records in modes.values():
            outcome = records[size].outcome if size in records else None
            counted, times = (outcome.instructions, outcome.times) if outcome else (None, None)
            cells.append(_counted(counted) if counted else Cell("failed", Role.BAD))
            cells += [Cell(times.median_s if times else None)] if has_times else []
        rows.append(Row(tuple(cells), f"N={size}"))
    return Table("sizes", "", tuple(columns), tuple(rows))


def complexity(curve: plots.Curve) -> str:
    """The fit in one sentence: where overhead ends and work begins."""
    return f"{curve.title}: {_fitted(curve.fit)}"


def _fitted(fit: Fit | None) -> str:
    if fit is None:
        return "too few sizes were counted for a fit; four are needed"
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
    return f"{what} (off by {100 * fit.error:.2g}%){begins}"
