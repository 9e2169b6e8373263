"""A comparison as JSON or CSV.

JSON format history: 1, the first. All that the table shows is in it, and the raw figures behind it.
JSON knows no infinite numbers: what has no bound is null.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from core.types import CaseKey
from instruction_counts.analysis.comparison import Comparison
from instruction_counts.analysis.sides import Side
from instruction_counts.analysis.verdicts import Difference

FORMAT_VERSION = 1

Causes = Callable[[Difference], Iterable[str]]


def to_json(comparison: Comparison, causes: Causes) -> str:
    """Everything, with the text of the causes that ``causes`` gives."""
    document = {
        "format_version": FORMAT_VERSION,
        "base": _side(comparison.base),
        "new": _side(comparison.new),
        "disagreements": [attrs.asdict(one) for one in comparison.disagreements],
        "min_effect": attrs.asdict(comparison.min_effect),
        "layouts": comparison.layouts,
        "tally": {verdict.value: number for verdict, number in comparison.tally.items()},
        "cases": [_case(one, causes) for one in comparison.differences],
        "left_out": [_left_out(key, budget) for key, budget in comparison.left_out.items()],
    }
    return json.dumps(_bounded(document), indent=1, allow_nan=False) + "\n"


def to_csv(comparison: Comparison, causes: Causes) -> str:
    """One line for each case."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for one in comparison.differences:
        case = _case(one, causes)
        time = case.pop("time") or {}
        joined = {"label": "/".join(case["label"]), "causes": " · ".join(case["causes"])}
        writer.writerow(
            {**case, **joined, "base_s": time.get("base_s"), "new_s": time.get("new_s")}
        )
    return stream.getvalue()


_COLUMNS = (
    "label",
    "language",
    "runtime",
    "autograd",
    "num_threads",
    "verdict",
    "reason",
    "verified",
    "base",
    "new",
    "change",
    "relative",
    "noise",
    "base_s",
    "new_s",
    "causes",
)


def _bounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_bounded(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _side(side: Side) -> dict[str, Any]:
    return {
        "title": side.title,
        "engine": side.engine,
        "fingerprint": attrs.asdict(side.fingerprint),
    }


def _left_out(key: CaseKey, budget: str) -> dict[str, Any]:
    return {**key.as_values, "time_budget": budget}


def _case(one: Difference, causes: Causes) -> dict[str, Any]:
    time = one.time
    return {
        **one.key.as_values,
        "verdict": one.verdict.value,
        "reason": one.reason.value,
        "verified": one.verified,
        "base": one.base_count,
        "new": one.new_count,
        "change": one.change,
        "relative": one.relative,
        "noise": one.noise,
        "layouts": None if one.layouts is None else attrs.asdict(one.layouts),
        "time": None if time is None else attrs.asdict(time),
        "output": None if one.output is None else attrs.asdict(one.output),
        "causes": list(causes(one)) if one.change else [],
    }
