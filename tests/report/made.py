"""Runs to report."""

from __future__ import annotations

from typing import Any

from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import (
    FailureKind,
    Instructions,
    Outcome,
    Status,
    Times,
    Window,
)
from instruction_counts.domain.records import Record, Run
from instruction_counts.report.document import Document, Table
from tests.fakes import OK, failed, make_record, make_run

LONG = ("Metadata and views", "as_strided of a tensor with many dimensions", "x" * 70, "last one")


def measured(per_run: int, median_s: float, *, exact: bool = True) -> Outcome:
    """An outcome with realistic numbers."""
    instructions = Instructions(per_run, exact, (Window(100, 100 * per_run),))
    times = Times.of([median_s, median_s * 1.4, median_s * 2], 10)
    return Outcome(
        Status.OK, instructions, times, metrics=Amounts({"allocations": 123, "peak_bytes": 9999})
    )


def both(*label: str, outcome: Outcome = OK, **modes: Any) -> list[Record]:
    """The records of a benchmark in both languages."""
    return [
        make_record(*label, outcome=outcome, language=language, **modes) for language in Language
    ]


def realistic() -> Run:
    """A run with everything that a table can meet."""
    return make_run(
        *both("Pointwise", "Math", "add"),
        *both("Pointwise", "Math", "add", runtime=RuntimeMode.JIT),
        *both("Pointwise", "Math", "add", autograd=AutogradMode.FORWARD_BACKWARD),
        *both("Training", "a transformer block", num_threads=2, runtime=RuntimeMode.JIT),
        *both(*LONG, outcome=measured(1_234_567_890, 0.123456, exact=False)),
        *both(*LONG, outcome=measured(12_345_678, 123.456e-6), num_threads=64),
        make_record("MatMul", outcome=failed()),
        make_record("Indexing", "x[0, 1:[red]]", outcome=failed(FailureKind.TIMEOUT)),
        make_record("InferenceMode", outcome=measured(0, 1e-10)),
        make_record("Dispatcher", language=Language.CPP, outcome=Outcome(Status.SKIPPED)),
    )


def table_of(document: Document, name: str) -> Table:
    """The table of that name."""
    return next(table for table in document.tables if table.name == name)
