"""Problems of a baseline and its limits, found before they are relied on."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence

import attrs

from instruction_counts.core.types import CaseKey
from instruction_counts.domain.effects import MIN_EFFECT
from instruction_counts.gate.baseline import Baseline, BaselineCase, sorted_keys
from instruction_counts.gate.limits import Limits, Rule

WIDEST = 10
"""From so many times the noise on, a limit lets pass what could be seen."""


class Doubt(enum.Enum):
    """What can be wrong, with what to do about it."""

    NO_MATCH = "a pattern matches no case", "Correct or remove it."
    SHADOWED = (
        "a pattern matches only cases that later patterns match, too",
        "The last match applies: move the pattern down.",
    )
    NARROW = (
        "hard limits below the noise",
        "Changes that small are never reported: raise the limits.",
    )
    WIDE = (
        f"hard limits above {WIDEST} times the noise",
        "Lower the limits, or write `hard: never`.",
    )
    NO_LIMIT = "cases without a hard limit", "Every regression fails: set a default."
    NO_LAYOUTS = (
        "cases counted in one memory layout only",
        "Their noise is an estimate: accept a run of `selftest --layouts 4 --only '*'`.",
    )

    def __init__(self, what: str, remedy: str) -> None:
        self.what, self.remedy = what, remedy


@attrs.frozen
class Remark:
    """A doubt, with what it is about."""

    doubt: Doubt
    about: tuple[CaseKey | Rule, ...]


def lint(baseline: Baseline, limits: Limits | None = None) -> tuple[Remark, ...]:
    """All problems; those of limits only if there are limits."""
    found: dict[Doubt, list[CaseKey | Rule]] = {doubt: [] for doubt in Doubt}
    if limits is not None:
        for position, rule in enumerate(limits.limits, 1):
            doubt = _doubt_of_rule(rule, limits.limits[position:], baseline)
            if doubt is not None:
                found[doubt].append(rule)
    for key in sorted_keys(baseline.cases):
        for doubt in _doubts_of_case(baseline.cases[key], limits):
            found[doubt].append(key)
    return tuple(Remark(doubt, tuple(about)) for doubt, about in found.items() if about)


def _doubt_of_rule(rule: Rule, later: Sequence[Rule], baseline: Baseline) -> Doubt | None:
    matched = [key for key in baseline.cases if rule.applies(key)]
    if not matched:
        return Doubt.NO_MATCH
    if all(any(rule.applies(key) for rule in later) for key in matched):
        return Doubt.SHADOWED
    return None


def _doubts_of_case(case: BaselineCase, limits: Limits | None) -> Iterator[Doubt]:
    if not case.layouts:
        yield Doubt.NO_LAYOUTS
    if limits is None:
        return
    hard = limits.rule_for(case.key).hard
    if hard is None:
        yield Doubt.NO_LIMIT
        return
    least = MIN_EFFECT
    allowed = hard.of(case.instructions)
    seen = max(case.noise_floor, least.absolute, least.relative * case.instructions)
    if allowed < case.noise_floor:
        yield Doubt.NARROW
    elif seen * WIDEST < allowed < math.inf:
        yield Doubt.WIDE
