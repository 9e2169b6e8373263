"""Limits: the allowed increase per case, by patterns over labels in a YAML file; their problems."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import attrs

from instruction_counts.core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.effects import MIN_EFFECT, NEVER, Effect
from instruction_counts.domain.selection import matches
from instruction_counts.gate.baseline import Baseline, BaselineCase, sorted_keys
from instruction_counts.reading.structure import Mismatch, read_as, strict_converter


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
    fail_on_new: bool = False
    fail_on_missing: bool = False
    fail_on_output: bool = True

    def allowed(self, key: CaseKey) -> tuple[Effect | None, Effect | None]:
        """The soft and the hard limit of a case."""
        rule = next((rule for rule in reversed(self.limits) if rule.applies(key)), self.default)
        return rule.soft or self.default.soft, rule.hard or self.default.hard


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
    '      - {only: "Autograd/*", language: python, hard: 200}'
)


_CONVERTER = strict_converter()
_CONVERTER.register_structure_hook(Effect, lambda value, _: Effect.parse(str(value)))


# -------------------------------------------------------------------------------- problems

WIDEST = 10
"""From so many times the noise on, a limit lets pass what could be seen."""


class Doubt(enum.Enum):
    """What can be wrong, with what to do about it."""

    NO_MATCH = "a pattern matches no case", "Correct or remove it."
    NARROW = (
        "hard limits below the noise",
        "Changes that small are never reported: raise the limits.",
    )
    WIDE = (
        f"hard limits above {WIDEST} times the noise floor",
        "Lower the limits, or write `hard: never`.",
    )
    NO_LIMIT = "cases without a hard limit", "Every regression fails: set a default."
    NO_LAYOUTS = (
        "cases counted in one memory layout only",
        "Their noise is an estimate: accept a run of `selftest --layouts 4 --only '*'`.",
    )

    def __init__(self, what: str, remedy: str) -> None:
        self.what, self.remedy = what, remedy


Problems: TypeAlias = Mapping[Doubt, Sequence[CaseKey | Rule]]
"""What is doubtful, with what it is about."""


def problems(baseline: Baseline, limits: Limits | None = None) -> Problems:
    """All problems; those of limits only if there are limits."""
    found: dict[Doubt, list[CaseKey | Rule]] = {doubt: [] for doubt in Doubt}
    for rule in () if limits is None else limits.limits:
        if not any(map(rule.applies, baseline.cases)):
            found[Doubt.NO_MATCH].append(rule)
    for key in sorted_keys(baseline.cases):
        for doubt in _doubts_of_case(baseline.cases[key], limits):
            found[doubt].append(key)
    return {doubt: about for doubt, about in found.items() if about}


def _doubts_of_case(case: BaselineCase, limits: Limits | None) -> Iterator[Doubt]:
    if not case.layouts:
        yield Doubt.NO_LAYOUTS
    if limits is None:
        return
    _, hard = limits.allowed(case.key)
    if hard is None:
        yield Doubt.NO_LIMIT
        return
    allowed = hard.of(case.instructions)
    seen = max(case.noise_floor, MIN_EFFECT.of(case.instructions))
    if allowed < case.noise_floor:
        yield Doubt.NARROW
    elif seen * WIDEST < allowed < math.inf:
        yield Doubt.WIDE
