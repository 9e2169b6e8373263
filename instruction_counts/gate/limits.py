"""Limits: how much worse cases may get, by patterns in a YAML file; and what exceeds them.

A hard limit is exceeded by a change that lies above it by more than the noise floor of the case;
between the two it is at the edge, which is reported and does not fail. A case that exceeded its
limit the last time exceeds it until its change is no longer above the limit itself.

Limits stand on top of the verdicts of a comparison, never instead of them.
"""

import enum
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path

import attrs

from instruction_counts.analysis.verdicts.beside import CyclesVerdict, TimeVerdict
from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import ON_COUNTS, Difference, Reason, Verdict
from instruction_counts.core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.effects import NEVER, Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import matches
from instruction_counts.reading.structure import (
    Mismatch,
    read_as,
    require_version,
    strict_converter,
)


@attrs.frozen
class Allowed:
    """By how much a case may get worse; None sets no limit."""

    soft: Effect | None = None
    """Beyond it, a change is reported."""
    hard: Effect | None = None
    """Beyond it by more than the noise of the case, a change fails."""

    def __attrs_post_init__(self) -> None:
        """Refuse limits that contradict each other."""
        soft, hard = self.soft, self.hard
        if (
            not (soft is None or hard is None or soft in {NEVER, hard})
            and soft.relative >= hard.relative
            and soft.absolute >= hard.absolute
        ):
            raise Mismatch(f"at most the hard limit, {hard}", str(soft), ("soft",))


@attrs.frozen
class Rule(Allowed):
    """Limits of the cases that a pattern matches; what is None is left to the default."""

    only: str = "*"
    language: Language | None = None
    runtime: RuntimeMode | None = None
    autograd: AutogradMode | None = None

    @property
    def modes(self) -> tuple[Language | None, RuntimeMode | None, AutogradMode | None]:
        """What it asks of language, runtime and autograd."""
        return self.language, self.runtime, self.autograd

    def applies(self, key: CaseKey) -> bool:
        """Whether a case is meant."""
        return matches(self.only, key.label) and all(
            wanted in {None, mode} for wanted, mode in zip(self.modes, key.modes, strict=True)
        )

    def __str__(self) -> str:
        return " · ".join([self.only, *(mode.value or "explicit" for mode in self.modes if mode)])


@attrs.frozen
class Limits:
    """All limits. The last rule that matches a case holds for it, and fills up from ``default``.

    A case without a hard limit fails by whatever got worse, so that no case is unguarded because
    nobody thought of it.
    """

    default: Allowed = Allowed()
    limits: tuple[Rule, ...] = ()
    fail_on_added: bool = False
    fail_on_missing: bool = False
    fail_on_output: bool = True

    def allowed(self, key: CaseKey) -> tuple[Effect | None, Effect | None]:
        """The soft and the hard limit of a case."""
        rule = next((rule for rule in reversed(self.limits) if rule.applies(key)), self.default)
        return rule.soft or self.default.soft, rule.hard or self.default.hard

    def unused(self, keys: Iterable[CaseKey]) -> tuple[Rule, ...]:
        """The rules that none of these cases matches: mostly typing mistakes."""
        known = tuple(keys)
        return tuple(rule for rule in self.limits if not any(map(rule.applies, known)))


def read_limits(path: Path) -> Limits:
    """The limits in a YAML file.

    Raises:
        DataError: the file is missing.
        ValidationError: it holds something else; all of it is named, with its place.
    """
    return read_as(path, Limits, _CONVERTER, _EXAMPLE)


_EXAMPLE = (
    "Expected, for example:\n"
    "    default: {soft: 0.1%, hard: 0.5%}\n"
    "    limits:\n"
    '      - {only: "Training/*", language: python, hard: 200}'
)


_CONVERTER = strict_converter()
_CONVERTER.register_structure_hook(Effect, lambda value, _: Effect.parse(str(value)))


# What a comparison exceeds


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
        """Whether anything was compared; where nothing was, nothing passed."""
        return any(map(_is_judged, self.comparison.differences))

    @property
    def has_failed_cases(self) -> bool:
        """Whether cases could not be compared because they failed themselves."""
        return bool(self.comparison.tally[Verdict.FAILED])

    def require_comparison(
        self, remedy: str = "Check a counted run of the same cases, or accept one."
    ) -> None:
        """Refuse a comparison of nothing, which did not pass.

        Raises:
            UsageError: nothing was compared, no case failed, and none exceeds its limit.
        """
        if not (self.compares or self.fails or self.has_failed_cases):
            problem = "nothing was compared: no case has counts on both sides that can be compared"
            raise UsageError(problem, remedy)


def _is_judged(difference: Difference) -> bool:
    """Whether something is said by counts, outputs, cycles or times.

    Times that were not taken in turns have no verdict; they are enough where neither side was to be
    counted.
    """
    time, counts = difference.time, {difference.base_count, difference.new_count}
    not_asked = difference.reason is Reason.NOT_COUNTED and counts == {None}
    by_time = time is not None and (time.verdict is not None or not_asked)
    by_counts = difference.verdict in ON_COUNTS
    by_output = difference.reason is Reason.OUTPUT_DIFFERS
    return by_counts or by_output or by_time or difference.cycles is not None


def apply_limits(
    comparison: Comparison,
    limits: Limits | None = None,
    fail_on: FailOn = FailOn.REGRESSION,
    exceeded_before: AbstractSet[CaseKey] = frozenset(),
) -> Gate:
    """What ``comparison`` exceeds; without limits, whatever got worse.

    ``exceeded_before`` are the cases that failed by their limit in the last check.
    """
    findings, decided = [], set()
    for difference in comparison.differences:
        finding = _finding(difference, limits or Limits(), known=difference.key in exceeded_before)
        if finding.level is not Level.FAILS and (why := _why_it_fails_besides(difference, fail_on)):
            finding = Finding(difference, Level.FAILS, why)
        findings.append(finding)
        # Else it is not known whether a limit is exceeded; an ambiguous case may be either.
        if difference.verdict in {Verdict.SAME, Verdict.BETTER, Verdict.WORSE}:
            decided.add(difference.key)
    carried = frozenset(exceeded_before - decided)
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
    verdict, (soft, hard) = difference.verdict, limits.allowed(difference.key)
    # What may be noise does not pass what failed before: else it would fail now and then.
    is_open = verdict is Verdict.AMBIGUOUS or difference.reason is Reason.WITHIN_NOISE
    still_fails = known and is_open and (difference.change or 0) > _allowed(difference, hard)
    if verdict is Verdict.WORSE or still_fails:
        return _of_worse(difference, soft, hard, known=known)
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
    allowed, noise = _allowed(difference, hard), difference.noise
    if change > allowed + noise or (known and change > allowed):
        return Finding(difference, Level.FAILS, f"above the hard limit of {hard}")
    if change > allowed:
        why = f"above the hard limit of {hard}, but by no more than {noise:,} instructions"
        return Finding(difference, Level.EDGE, why)
    if soft is not None and change > soft.of(base):
        return Finding(difference, Level.SOFT, f"above the soft limit of {soft}")
    return Finding(difference, Level.WITHIN, f"hard limit {hard}")


def _allowed(difference: Difference, hard: Effect | None) -> float:
    return hard.of(difference.base_count or 0) if hard else 0


CHECK_VERSION = 1
"""Of the JSON of checks: 1, the first."""


def exceeded_in(path: Path) -> frozenset[CaseKey]:
    """What exceeded a hard limit when it was last compared, by the file that the last check wrote.

    Nothing where there is no such file, as before the first check.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return frozenset()
    remedy = "--previous expects a file written by `baseline check --output FILE.json`."
    found = read_as(path, _Check, _CHECKS, remedy, as_json=True)
    return frozenset(
        CaseKey(case.label, *case.modes, case.num_threads)
        for case in (*found.cases, *found.skipped_by_budget, *found.not_selected)
        if case.exceeded_before or (case.level is Level.FAILS and case.verdict in ON_COUNTS)
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
    not_selected: tuple[_Case, ...] = ()


_CHECKS = strict_converter(other_fields=True)
require_version(_CHECKS, _Check, "check_version", CHECK_VERSION)
