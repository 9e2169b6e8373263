"""Operators: a table for a terminal, and one with everything for a file."""

from __future__ import annotations

from collections.abc import Iterator

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from core.types import Language, RuntimeMode
from instruction_counts.analysis.operators.metrics import Metrics, metrics_of
from instruction_counts.domain.metrics import PEAK_BYTES, TENSOR_BYTES
from instruction_counts.domain.outcomes import Machine
from instruction_counts.domain.records import Run
from instruction_counts.report import format as fmt
from instruction_counts.report.document import Cell, Column, Row, Unit
from instruction_counts.report.document import Table as DocumentTable

LEGEND = (
    "backward: forward and backward together, less forward; mem: most memory held at once;\n"
    "GB/s, GF/s: least bytes moved, and floating point operations, over the median time of forward"
)
_BINARY = ("B", "KiB", "MiB", "GiB")


def has_operators(run: Run) -> bool:
    """Whether there is anything to show."""
    return any(True for _ in metrics_of(run.cases))


def operators_table(run: Run) -> Table:
    """A line for each operator and language; made for 80 columns."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", overflow="fold", ratio=1)
    for heading in ("forward\ninstr", "\ntime", "backward\ninstr", "\ntime"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("\nmem", "\nGB/s", "\nGF/s"):
        table.add_column(heading, justify="right", no_wrap=True, style="dim")
    above: tuple[str, ...] = ()
    several = len(run.builds) > 1
    for metrics in metrics_of(run.cases):
        if metrics.label[:1] != above[:1]:
            table.add_row(Text(metrics.label[0], style="bold"))
        if metrics.label != above:
            table.add_row(Padding(Text(" ".join(metrics.label[1:])), (0, 0, 0, 2)))
        table.add_row(Text(f"    {mode(metrics, several=several)}"), *_cells(metrics))
        above = metrics.label
    return table


def mode(metrics: Metrics, *, several: bool) -> str:
    """Language and runtime, with the build where there are ``several``, and threads."""
    parts = [metrics.build] if several else []
    parts.append("TS " * (metrics.runtime is RuntimeMode.JIT) + metrics.language.value)
    if metrics.num_threads > 1:
        parts.append(f"{metrics.num_threads} threads")
    return " ".join(parts)


def _cells(metrics: Metrics) -> Iterator[str]:
    yield fmt.count(metrics.instructions)
    yield fmt.median(metrics.times)
    if metrics.backward_instructions is None:
        yield ""
    else:
        yield f"{'' if metrics.backward_exact else '~'}{metrics.backward_instructions:,}"
    yield "" if metrics.backward_s is None else _difference(metrics.backward_s)
    is_python = metrics.language is Language.PYTHON and metrics.runtime is not RuntimeMode.JIT
    yield size(metrics.used.get(PEAK_BYTES.name)) if is_python else ""
    yield _giga(metrics.bytes_per_s)
    yield _giga(metrics.flops_per_s)


def _difference(seconds: float) -> str:
    return f"{'-' if seconds < 0 else ''}{fmt.duration(abs(seconds))}"


def _giga(per_second: float | None) -> str:
    return "" if per_second is None else f"{per_second / 1e9:.3g}"


def size(number: float | None) -> str:
    """``64 KiB``; three digits."""
    if number is None:
        return ""
    value, power = float(number), 0
    while value >= 999.5 and power < len(_BINARY) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.3g} {_BINARY[power]}"


def machine_line(machine: Machine | None) -> str:
    """What one core can do; empty where it was not measured."""
    if machine is None:
        return ""
    copied, computed = machine.copy_bytes_per_s / 1e9, machine.matmul_flops_per_s / 1e9
    return f"one core of this machine: {copied:.3g} GB/s copied, {computed:.3g} GF/s in a matmul"


HEADINGS = (
    "forward instr",
    "backward instr",
    "mean",
    "p50",
    "p90",
    "p99",
    "min",
    "max",
    "backward p50",
    "allocated",
    "peak",
    "GB/s",
    "GF/s",
)


def all_cells(metrics: Metrics) -> Iterator[str]:
    """A cell for each of `HEADINGS`."""
    forward, _, backward, backward_time, peak, bandwidth, computed = _cells(metrics)
    yield from (forward, backward)
    for name in ("mean", "median", "p90", "p99", "min", "max"):
        yield "" if metrics.times is None else fmt.duration(getattr(metrics.times, f"{name}_s"))
    allocated = metrics.used.get(TENSOR_BYTES.name) if peak else None
    yield from (backward_time, size(allocated), peak, bandwidth, computed)


def measured(run: Run) -> DocumentTable:
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
        title = " / ".join(metrics.label)
        if metrics.label != above:
            rows.append(Row((Cell(title), *[Cell("")] * 7), title))
        name = mode(metrics, several=len(run.builds) > 1)
        rows.append(Row((Cell(name), *map(Cell, _cells(metrics))), f"{title} · {name}", indent=1))
        above = metrics.label
    return DocumentTable("operators", "Operators", columns, tuple(rows))
