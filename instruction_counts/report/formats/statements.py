"""Statements as JSON, with everything that is known of them. Amounts are those of one iteration.

Format history: 1, the first.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import attrs

from instruction_counts.analysis.attribution.function_changes import FunctionChange
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.statements import MeasuredStatement
from instruction_counts.domain.outcomes import Failure, Times
from instruction_counts.report.causes import texts
from instruction_counts.report.statements import StatementsReport

FORMAT_VERSION = 1


def statements(report: StatementsReport) -> str:
    """Each statement, with its difference to the first."""
    run = report.run
    document = {
        "time_version": FORMAT_VERSION,
        "tool_version": run.tool_version,
        "engine": run.engine,
        "builds": {
            name: {
                "fingerprint": attrs.asdict(build),
                "changed_files": (changed := run.changed_files.get(name)) and attrs.asdict(changed),
            }
            for name, build in run.builds.items()
        },
        "statements": [_statement(found) for found in report.statements],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _statement(found: MeasuredStatement) -> dict[str, Any]:
    record, outcome = found.record, found.record.outcome
    counted = outcome.instructions
    return {
        **record.key.as_values,
        "stmt": record.stmt,
        "setup": record.setup,
        "global_setup": record.global_setup,
        "status": outcome.status.value,
        "failure": outcome.failure and _failure(outcome.failure),
        "instructions": counted and counted.per_run,
        "exact": counted and counted.exact,
        "spread": counted and counted.spread,
        "times": outcome.times and _times(outcome.times),
        "metrics": dict(outcome.metrics),
        "most_in": [_place(place) for place in found.places],
        "difference": found.difference and _difference(found.difference),
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {**attrs.asdict(failure), "kind": failure.kind.value}


def _times(times: Times) -> dict[str, Any]:
    return attrs.asdict(times, filter=lambda field, _: field.name != "values_s")


def _place(place: FunctionChange) -> dict[str, Any]:
    return {
        "function": place.key.name,
        "library": place.key.library,
        "layer": place.key.layer.value,
        "instructions": _number(place.new or Fraction()),
    }


def _difference(difference: Difference) -> dict[str, Any]:
    """To the first statement."""
    time = difference.time
    return {
        "change": difference.change,
        "relative": difference.relative,
        "reason": difference.reason.value,
        "noise": difference.noise,
        "time_ratio": time and time.ratio,
        "time_is_significant": time and time.significant,
        "causes": list(texts(difference.causes)),
    }


def _number(amount: Fraction) -> int | float:
    return amount.numerator if amount.denominator == 1 else float(amount)
