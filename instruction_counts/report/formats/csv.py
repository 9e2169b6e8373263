"""CSV: one line for each case."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.facts import expected_values, subject_values
from instruction_counts.domain.metrics import metrics
from instruction_counts.domain.records import Record, Run
from instruction_counts.report.formats.entry import ComparisonReport, Format
from instruction_counts.report.formats.json import difference_fields

_CASE = ("label", "language", "runtime", "autograd", "num_threads")
_RUN = (
    *_CASE,
    "build",
    "definition_hash",
    "status",
    "instructions",
    "exact",
    "spread",
    "median_s",
    "iqr_s",
    "error",
)
_STATED = ("metadata", "subject", "expected")
"""What the definition says of a case, as JSON."""
_COMPARISON = (
    *_CASE,
    "verdict",
    "reason",
    "verified",
    "base",
    "new",
    "change",
    "relative",
    "noise",
    "noise_origin",
    "base_s",
    "new_s",
    "causes",
)
_SIDES = ("base", "new")


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


def run(shown: Run) -> str:
    """One line for each case."""
    columns = (*_RUN, *(metric.name for metric in metrics()), *_STATED)
    return _text(columns, map(_record, shown.cases))


def _record(record: Record) -> dict[str, Any]:
    outcome = record.outcome
    counted, times, failure = outcome.instructions, outcome.times, outcome.failure
    return {
        **record.key.as_values,
        "build": record.build,
        "definition_hash": record.definition_hash,
        "status": outcome.status.value,
        "instructions": counted and counted.per_run,
        "exact": counted and counted.exact,
        "spread": counted and counted.spread,
        "median_s": times and times.median_s,
        "iqr_s": times and times.iqr_s,
        "error": failure and failure.summary,
        **outcome.metrics,
        **{name: json.dumps(value) if value else "" for name, value in _stated(record).items()},
    }


def _stated(record: Record) -> dict[str, Any]:
    values = record.metadata, subject_values(record.subject), expected_values(record.expected)
    return dict(zip(_STATED, values, strict=True))


def comparison(report: ComparisonReport) -> str:
    """One line for each case."""
    rows = []
    for difference in report.comparison.differences:
        fields = difference_fields(difference)
        time = fields["time"] or {}
        seconds = {name: time.get(name) for name in ("base_s", "new_s")}
        amounts = {
            f"{side}_{name}": change[side]
            for name, change in fields["metrics"].items()
            for side in _SIDES
        }
        causes = " · ".join(fields["causes"])
        rows.append({**fields, **seconds, **amounts, "causes": causes})
    judged = (metric.name for metric in metrics() if metric.judged)
    return _text(
        (*_COMPARISON, *(f"{side}_{metric}" for metric in judged for side in _SIDES)), rows
    )


FORMAT = Format("csv", (".csv",), {Run: run, ComparisonReport: comparison})
