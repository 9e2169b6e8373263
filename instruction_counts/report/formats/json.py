"""JSON, with everything that is known. Amounts are those of one iteration.

Format history of comparisons: 1, the first. JSON knows no
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
from instruction_counts.gate.checks import (
    changed_files,
    difference_figures,
    to_check_json,
)
from instruction_counts.report.breakdown import Breakdown
from instruction_counts.report.causes import texts
from instruction_counts.report.explain import Report
from instruction_counts.report.formats.entry import (
    CheckReport,
    ComparisonReport,
    Format,
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


FORMAT = Format(
    "json",
    (".json", ".json.gz"),
    {
        Run: json_parts,
        ComparisonReport: comparison,
        CheckReport: check,
        Breakdown: breakdown,
        Report: explanation,
        StatementsReport: statements,
    },
    needs_details=True,
)
