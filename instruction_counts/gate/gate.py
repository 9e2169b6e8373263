"""What a comparison exceeds: limits on top of its verdicts, never instead of them.

A hard limit is exceeded by a change that lies above it by more than the noise floor of the case;
between the two it is at the edge, which is reported and does not fail. A case that exceeded its
limit the last time exceeds it until its change is no longer above the limit itself.
"""

from __future__ import annotations

import enum
from collections.abc import Set as AbstractSet
from pathlib import Path

import attrs

from instruction_counts.analysis.verdicts.beside import CyclesVerdict, TimeVerdict
from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import ON_COUNTS, Difference, Reason, Verdict
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.effects import Effect
from instruction_counts.gate.limits import Limits
from instruction_counts.reading.structure import (
    read_as,
    require_version,
    strict_converter,
)


class FailOn(enum.Enum):
    """What makes a check fail."""

    REGRESSION = "regression"
    """What exceeds a hard limit, and what the limits say besides."""
    NEVER = "never"
    ANY = "any"
    """Also each case that got worse, whatever its limits."""
    SLOWER = "slower"
    """Also each case that is slower by times in turns, whatever it costs in instructions."""
    CYCLES = "cycles"
    """Also each case that costs more estimated cycles, whatever it costs in instructions."""


class Level(enum.Enum):
    """What the limits make of a case, the worst first."""

    FAILS = "fails"
    EDGE = "at the edge"
    SOFT = "above its soft limit"
    UNGUARDED = "not guarded"
    WITHIN = "within its limits"
    FINE = "fine"


@attrs.frozen
class Finding:
    """A case, and what the limits make of it."""

    difference: Difference
    level: Level
    why: str = ""
    """With the limit; empty where all is fine."""

    @property
    def key(self) -> CaseKey:
        """The case."""
        return self.difference.key


@attrs.frozen
class Gate:
    """A comparison with a finding for each of its cases, in the same order."""

    comparison: Comparison
    findings: tuple[Finding, ...]
    enforced: bool = True
    """Whether what fails decides the exit code."""
    carried: frozenset[CaseKey] = frozenset()
    """What exceeded its limit when it was last compared, and of which this check says nothing."""

    def at(self, level: Level) -> tuple[Finding, ...]:
        """The findings of one level."""
        return tuple(finding for finding in self.findings if finding.level is level)

    @property
    def fails(self) -> bool:
        """Whether a case fails, and that is enforced."""
        return self.enforced and bool(self.at(Level.FAILS))

    @property
    def compares(self) -> bool:
        """Whether any two counts were compared; where none were, nothing passed."""
        return any(difference.verdict in ON_COUNTS for difference in self.comparison.differences)

    @property
    def has_failed_cases(self) -> bool:
        """Whether cases could not be compared because they failed themselves."""
        return bool(self.comparison.tally[Verdict.FAILED])


def apply_limits(
    comparison: Comparison,
    limits: Limits | None = None,
    fail_on: FailOn = FailOn.REGRESSION,
    exceeded_before: AbstractSet[CaseKey] = frozenset(),
) -> Gate:
    """What ``comparison`` exceeds; without limits, whatever got worse.

    ``exceeded_before`` are the cases that failed by their limit in the last check.
    """
    findings, silent = [], set(comparison.skipped_by_budget)
    for difference in comparison.differences:
        finding = _finding(difference, limits or Limits(), known=difference.key in exceeded_before)
        if finding.level is not Level.FAILS and (why := _why_it_fails_besides(difference, fail_on)):
            finding = Finding(difference, Level.FAILS, why)
        findings.append(finding)
        # Whether a limit is exceeded is not known then; an ambiguous case may be either.
        if difference.verdict not in {Verdict.SAME, Verdict.BETTER, Verdict.WORSE}:
            silent.add(difference.key)
    carried = frozenset(exceeded_before & silent)
    return Gate(comparison, tuple(findings), fail_on is not FailOn.NEVER, carried)


def _why_it_fails_besides(difference: Difference, fail_on: FailOn) -> str:
    """Why a case fails whatever its limits; empty where it does not."""
    time, cycles = difference.time, difference.cycles
    if fail_on is FailOn.ANY and difference.is_regression:
        return "every regression fails (--fail-on any)"
    if fail_on is FailOn.SLOWER and time and time.verdict is TimeVerdict.SLOWER:
        return "it is slower (--fail-on slower)"
    if fail_on is FailOn.CYCLES and cycles and cycles.verdict is CyclesVerdict.MORE:
        return "it costs more estimated cycles (--fail-on cycles)"
    return ""


def _finding(difference: Difference, limits: Limits, *, known: bool) -> Finding:
    verdict = difference.verdict
    if verdict is Verdict.WORSE:
        return _of_worse(difference, *limits.allowed(difference.key), known=known)
    if verdict in ON_COUNTS:
        return Finding(difference, Level.FINE)
    if difference.reason is Reason.OUTPUT_DIFFERS:
        level = Level.FAILS if limits.fail_on_output else Level.SOFT
        return Finding(difference, level, "its output differs")
    # With other code a case has no baseline, and without a count it was not measured; one that
    # failed has an exit code of its own.
    is_added = verdict is Verdict.ADDED or difference.reason is Reason.DEFINITION_CHANGED
    has_no_count = difference.new is not None and difference.new_count is None
    is_missing = verdict is Verdict.MISSING or (has_no_count and verdict is not Verdict.FAILED)
    fails = (is_added and limits.fail_on_added) or (is_missing and limits.fail_on_missing)
    why = _ABSENT.get(verdict, difference.reason.value)
    return Finding(difference, Level.FAILS if fails else Level.UNGUARDED, why)


_ABSENT = {Verdict.ADDED: "it has no baseline", Verdict.MISSING: "it was not measured"}


def _of_worse(
    difference: Difference, soft: Effect | None, hard: Effect | None, *, known: bool
) -> Finding:
    change, base = difference.effect, difference.base_count
    assert change is not None, "a worse case was counted on both sides"
    assert base is not None, "a worse case was counted on both sides"
    if hard is None:
        return Finding(difference, Level.FAILS, "it has no hard limit, so every regression fails")
    allowed, noise = hard.of(base), difference.noise
    if change > allowed + noise or (known and change > allowed):
        return Finding(difference, Level.FAILS, f"above the hard limit of {hard}")
    if change > allowed:
        why = f"above the hard limit of {hard}, but by no more than {noise:,} instructions"
        return Finding(difference, Level.EDGE, why)
    if soft is not None and change > soft.of(base):
        return Finding(difference, Level.SOFT, f"above the soft limit of {soft}")
    return Finding(difference, Level.WITHIN, f"hard limit {hard}")


CHECK_VERSION = 1
"""Of the JSON of checks: 1, the first."""


def exceeded_in(path: Path) -> frozenset[CaseKey]:
    """What exceeded a hard limit when it was last compared, by the file that the last check wrote.

    Nothing where there is no such file, as before the first check.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    if not path.exists():
        return frozenset()
    remedy = "--previous expects a file written by `baseline check --output FILE.json`."
    found = read_as(path, _Check, _CONVERTER, remedy, as_json=True)
    return frozenset(
        CaseKey(case.label, *case.modes, case.num_threads)
        for case in (*found.cases, *found.skipped_by_budget)
        if case.exceeded_before or (case.level is Level.FAILS and case.verdict is Verdict.WORSE)
    )


@attrs.frozen
class _Case(CaseKey):
    exceeded_before: bool
    """Whether it exceeded its limit when it was last compared, and was not this time."""
    level: Level | None = None
    """As its verdict, None where a time budget skipped it."""
    verdict: Verdict | None = None


@attrs.frozen
class _Check:
    cases: tuple[_Case, ...]
    skipped_by_budget: tuple[_Case, ...]


_CONVERTER = strict_converter(other_fields=True)
require_version(_CONVERTER, _Check, "check_version", CHECK_VERSION)
