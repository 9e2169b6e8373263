"""JSON, with everything that is known. Amounts are those of one iteration.

Format history of comparisons, histories and bisections: 1, the first. JSON knows no
infinite numbers: what has no bound is null.
"""

from __future__ import annotations

import json
import math
from typing import Any

import attrs

from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.shared_causes import shared_causes
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.records import Run
from instruction_counts.domain.stored import StoredCount
from instruction_counts.gate.checks import (
    changed_files,
    difference_figures,
    to_check_json,
    verdict_figures,
)
from instruction_counts.history.bisection import Change
from instruction_counts.history.series import Segment, Series, surroundings
from instruction_counts.history.steps import Step
from instruction_counts.report.breakdown import Breakdown
from instruction_counts.report.causes import of_case, texts
from instruction_counts.report.comparison import title_of
from instruction_counts.report.explain import Report
from instruction_counts.report.formats.entry import (
    BisectionReport,
    CheckReport,
    ComparisonReport,
    Format,
    HistoryReport,
    StepCauses,
)
from instruction_counts.report.formats.explained import breakdown, explanation
from instruction_counts.report.formats.statements import statements
from instruction_counts.report.shared_causes import as_json
from instruction_counts.report.statements import StatementsReport
from instruction_counts.storage.json_files import json_parts

FORMAT_VERSION = 1


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


# Comparisons


def comparison(report: ComparisonReport) -> str:
    """All that the terminal shows, and the raw figures behind it."""
    found = report.comparison
    document = {
        "format_version": FORMAT_VERSION,
        "base": _side(found.base),
        "new": _side(found.new),
        "disagreements": [attrs.asdict(disagreement) for disagreement in found.disagreements],
        "min_effect": attrs.asdict(found.min_effect),
        "layouts": found.layouts,
        "tally": {verdict.value: number for verdict, number in found.tally.items()},
        "cases": [difference_fields(difference) for difference in found.differences],
        "causes": as_json(shared_causes(found.differences)),
        "skipped_by_budget": [
            {**key.as_values, "time_budget": budget}
            for key, budget in found.skipped_by_budget.items()
        ],
    }
    return _text(_bounded(document))


def _bounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _side(side: Side) -> dict[str, Any]:
    return {
        "title": side.title,
        "engine": side.engine,
        "fingerprint": attrs.asdict(side.fingerprint),
        "changed_files": changed_files(side),
    }


def difference_fields(difference: Difference) -> dict[str, Any]:
    """A compared case by names."""
    time = difference.time
    return {
        **difference_figures(difference, texts(difference.causes)),
        "layouts": None if difference.layouts is None else attrs.asdict(difference.layouts),
        "time": None if time is None else attrs.asdict(time),
        "output": None if difference.output is None else attrs.asdict(difference.output),
        "metrics": {
            change.metric.name: {
                "base": change.base,
                "new": change.new,
                "verdict": change.verdict,
            }
            for change in difference.metrics
        },
    }


def check(report: CheckReport) -> str:
    """Everything that the terminal shows, case by case; the next check reads it."""
    differences = report.gate.comparison.differences
    by_case = {difference.key: texts(difference.causes) for difference in differences}
    return to_check_json(report.gate, by_case, as_json(shared_causes(differences)))


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
        "case": title_of(found.key),
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


FORMAT = Format(
    "json",
    (".json", ".json.gz"),
    {
        Run: json_parts,
        ComparisonReport: comparison,
        CheckReport: check,
        Breakdown: breakdown,
        Report: explanation,
        HistoryReport: history,
        BisectionReport: bisection,
        StatementsReport: statements,
    },
    needs_details=True,
)
