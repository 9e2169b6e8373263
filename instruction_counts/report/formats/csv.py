"""CSV: one line for each case, or for each count of a history."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from instruction_counts.report import history as history_report
from instruction_counts.report.formats.entry import Format, HistoryReport

_CASE = ("label", "language", "runtime", "autograd", "num_threads")
_HISTORY = (
    *_CASE,
    "segment",
    "started_at",
    "run",
    "build",
    "torch",
    "torch_git",
    "count",
    "spread",
    "level",
    "remark",
)


class _Lines:
    """The lines that a writer writes, which end in a line feed.

    The writer itself ends them in CRLF, for before Python 3.13 it quotes a cell with a carriage
    return only if lines end in one.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def write(self, line: str) -> None:
        self._lines.append(line.removesuffix("\r\n"))

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


def _text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    lines = _Lines()
    writer = csv.DictWriter(lines, columns, lineterminator="\r\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "label": "/".join(row["label"])})
    return str(lines)


def history(report: HistoryReport) -> str:
    """One line for each count."""
    rows = []
    for series in report.series:
        for row in history_report.rows(series):
            point, counted = row.point, row.point.instructions
            rows.append(
                {
                    **series.key.as_values,
                    "segment": row.segment,
                    "started_at": point.started_at,
                    "run": point.run_id,
                    "build": point.build,
                    "torch": point.fingerprint.torch,
                    "torch_git": point.fingerprint.torch_git,
                    "count": counted and counted.per_run,
                    "spread": counted and counted.spread,
                    "level": row.level,
                    "remark": row.remark,
                }
            )
    return _text(_HISTORY, rows)


FORMAT = Format("csv", (".csv",), {HistoryReport: history})
