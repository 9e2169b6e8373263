"""JSON, with everything that is known. Amounts are those of one iteration.

Format history of comparisons, histories and bisections: 1, the first. JSON knows no
infinite numbers: what has no bound is null.
"""

from __future__ import annotations

import json
from typing import Any

import attrs

from instruction_counts.domain.stored import StoredCount
from instruction_counts.gate.checks import (
    verdict_figures,
)
from instruction_counts.history.bisection import Change
from instruction_counts.history.series import Segment, Series, surroundings
from instruction_counts.history.steps import Step
from instruction_counts.report import coverage as coverage_report
from instruction_counts.report.causes import of_case, texts
from instruction_counts.report.formats.entry import (
    BisectionReport,
    CoverageReport,
    Format,
    HistoryReport,
    StepCauses,
)

FORMAT_VERSION = 1


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


# Histories


def history(report: HistoryReport) -> str:
    """Everything: the points of each segment, its levels and its steps with their causes."""
    document = {
        "format_version": FORMAT_VERSION,
        "cases": [_series(series, report.causes) for series in report.series],
    }
    return _text(document)


def _series(series: Series, causes: StepCauses) -> dict[str, Any]:
    return {
        **series.key.as_values,
        "segments": [_segment(segment, causes) for segment in series.segments],
        "uncounted": [_point(point) for point in series.uncounted],
    }


def _segment(segment: Segment, causes: StepCauses) -> dict[str, Any]:
    return {
        "apart": list(segment.apart),
        "points": [
            {**_point(point), "outlier": place in segment.outliers}
            for place, point in enumerate(segment.points)
        ],
        "levels": [
            {"start": level.start, "end": level.end, "count": level.count}
            for level in segment.levels
        ],
        "steps": [_step(step, segment, causes) for step in segment.steps],
    }


def _step(step: Step, segment: Segment, causes: StepCauses) -> dict[str, Any]:
    base, new = segment.points[step.before], segment.points[step.after]
    return {
        **attrs.asdict(step),
        "change": step.change,
        "relative": step.relative if step.base else None,
        "differs": [surrounding.name for surrounding in surroundings(base, new)],
        "causes": list(texts(causes.get((base, new), ()))),
    }


def _point(point: StoredCount) -> dict[str, Any]:
    counted = point.instructions
    return {
        "run": point.run_id,
        "started_at": point.started_at,
        "tags": list(point.tags),
        "build": point.build,
        "torch": point.fingerprint.torch,
        "torch_git": point.fingerprint.torch_git,
        "engine": point.engine,
        "definition_hash": point.definition_hash,
        "status": point.status.value,
        "failure": point.failure,
        "has_changed_files": point.has_changed_files,
        "count": None if counted is None else counted.per_run,
        "exact": None if counted is None else counted.exact,
        "spread": None if counted is None else counted.spread,
    }


# Bisections


def bisection(report: BisectionReport) -> str:
    """Each change with its verdict, counts and causes, and what it took to find them."""
    names, found = report.names, report.candidates
    document = {
        "format_version": FORMAT_VERSION,
        "case": found.key.title,
        "builds": list(names),
        "changes": [_change(change, report) for change in report.result.changes],
        "broken": {names[place]: why for place, why in report.result.broken.items()},
        "measured": [names[place] for place in report.result.measured],
        "measurements": found.measurements,
        "reused": found.reused,
    }
    return _text(document)


def _change(change: Change, report: BisectionReport) -> dict[str, Any]:
    names = report.names
    difference = report.candidates.difference(change.before, change.after)
    return {
        "before": names[change.before],
        "after": names[change.after],
        "broken": [names[place] for place in change.broken],
        "gradual": change.gradual,
        **verdict_figures(difference),
        "causes": list(of_case(difference)),
    }


# Coverage


def coverage(report: CoverageReport) -> str:
    """Every operator without an entry, by category."""
    return _text(coverage_report.as_json(report.categories, report.build))


FORMAT = Format(
    "json",
    (".json", ".json.gz"),
    {HistoryReport: history, BisectionReport: bisection, CoverageReport: coverage},
)
