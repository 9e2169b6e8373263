"""What heads every table with cases on CUDA."""

from __future__ import annotations

from collections.abc import Iterable

from instruction_counts.domain.metrics import LAUNCHES
from instruction_counts.domain.records import Record
from instruction_counts.report.document import Line, Role

ON_CUDA = (
    "cuda: what the CPU executes and asks for, up to CUDA's libraries, which are stand-ins. "
    "No kernel runs, and nothing here says how long one takes."
)


def about_cuda(records: Iterable[Record | None]) -> tuple[Line, ...]:
    """A line where one of these is on CUDA."""
    is_there = any(record and LAUNCHES.name in record.outcome.metrics for record in records)
    return (Line(ON_CUDA, Role.DIM),) if is_there else ()
