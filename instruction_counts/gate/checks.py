"""A check as JSON: what it found of each case, and what the next one has to know of it.

Format history: 1, the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.verdicts.difference import Difference, Verdict
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import CaseKey
from instruction_counts.gate.gate import Gate, Level
from instruction_counts.reading.structure import (
    Inline,
    ignore_other_fields,
    read_as,
    require_version,
    strict_converter,
)

FORMAT_VERSION = 1

Causes: TypeAlias = Mapping[CaseKey, Sequence[str]]


def check_values(
    gate: Gate, causes: Causes, shared_causes: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The JSON of a check: everything that is known, case by case, and what cases share."""
    return {
        "check_version": FORMAT_VERSION,
        "fails": gate.fails,
        "compares": gate.compares,
        "layouts": gate.comparison.layouts,
        "changed_files": changed_files(gate.comparison.new),
        "cases": [
            {
                **difference_figures(finding.difference, causes.get(finding.key, ())),
                "level": finding.level.value,
                "why": finding.why,
                "exceeded_before": finding.key in gate.carried,
            }
            for finding in gate.findings
        ],
        "causes": list(shared_causes),
        "skipped_by_budget": [
            {**key.as_values, "time_budget": budget, "exceeded_before": key in gate.carried}
            for key, budget in gate.comparison.skipped_by_budget.items()
        ],
    }


def changed_files(side: Side) -> dict[str, Any] | None:
    """What of a side's build changed while it was measured, as all JSON has it."""
    return None if side.changed_files is None else attrs.asdict(side.changed_files)


def difference_figures(difference: Difference, causes: Sequence[str]) -> dict[str, Any]:
    """A compared case by names, as all JSON has it."""
    return {
        **difference.key.as_values,
        **verdict_figures(difference),
        "noise": difference.noise,
        "noise_origin": None if difference.noise_origin is None else difference.noise_origin.value,
        "causes": list(causes),
    }


def verdict_figures(difference: Difference) -> dict[str, Any]:
    """The verdict and the counts that it is about."""
    return {
        "verdict": difference.verdict.value,
        "reason": difference.reason.value,
        "verified": difference.verified,
        "base": difference.base_count,
        "new": difference.new_count,
        "change": difference.change,
        "relative": difference.relative,
    }


@attrs.frozen
class Previous:
    """What a check has to know of the last one."""

    exceeded: frozenset[CaseKey] = frozenset()
    """What exceeded a hard limit when it was last compared; it does until it is within again."""


def read_previous(path: Path) -> Previous:
    """What the last check wrote; nothing where there is no such file, as before the first check.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    if not path.exists():
        return Previous()
    remedy = "--previous expects a file written by `baseline check --output FILE.json`."
    found = read_as(path, _Check, _CONVERTER, remedy, as_json=True)
    exceeded = frozenset(
        case.key
        for case in (*found.cases, *found.skipped_by_budget)
        if case.exceeded_before or (case.level is Level.FAILS and case.verdict is Verdict.WORSE)
    )
    return Previous(exceeded)


@attrs.frozen
class _Case:
    key: Inline[CaseKey]
    exceeded_before: bool
    """Whether it exceeded its limit when it was last compared, and was not this time."""
    level: Level | None = None
    """As its verdict, None where a time budget skipped it."""
    verdict: Verdict | None = None


@attrs.frozen
class _Check:
    cases: tuple[_Case, ...]
    skipped_by_budget: tuple[_Case, ...]


_CONVERTER = strict_converter()
ignore_other_fields(_CONVERTER, _Case)
ignore_other_fields(_CONVERTER, _Check)
require_version(_CONVERTER, _Check, "check_version", FORMAT_VERSION)
