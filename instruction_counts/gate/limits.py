"""Limits: the allowed increase per case, by patterns over labels, from a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from instruction_counts.core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.effects import EXPECTED, NEVER, Effect
from instruction_counts.domain.selection import matches
from instruction_counts.reading.structure import Mismatch, Parsed, read_as, strict_converter


@attrs.frozen
class Rule:
    """Limits of the cases that a pattern matches; what is None is left to the default."""

    only: str = "*"
    language: Language | None = None
    runtime: RuntimeMode | None = None
    autograd: AutogradMode | None = None
    soft: Effect | None = None
    """Beyond it, a change is reported."""
    hard: Effect | None = None
    """Beyond it, a change fails."""
    band: Effect | None = None
    """How far beyond the hard limit a change has to lie; None is the noise floor of the case."""

    def __attrs_post_init__(self) -> None:
        """Refuse limits that contradict each other, and a band that lets everything pass."""
        soft, hard = self.soft, self.hard
        if self.band == NEVER:
            expected = "a size; to enforce nothing, write `hard: never`"
            raise Mismatch(expected, "never", ("band",))
        if (
            not (soft is None or hard is None or soft in {NEVER, hard})
            and soft.relative >= hard.relative
            and soft.absolute >= hard.absolute
        ):
            raise Mismatch(f"at most the hard limit, {hard}", str(soft), ("soft",))

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

    default: Rule = Rule()
    limits: tuple[Rule, ...] = ()
    fail_on_new: bool = False
    fail_on_missing: bool = False
    fail_on_output: bool = True

    def __attrs_post_init__(self) -> None:
        """Let the default hold for all cases."""
        if any(self.default.modes) or self.default.only != "*":
            expected = "only soft, hard and band; move patterns to `limits:`"
            raise Mismatch(expected, "a pattern", ("default",))

    def rule_for(self, key: CaseKey) -> Rule:
        """What holds for a case."""
        rule = next((limit for limit in reversed(self.limits) if limit.applies(key)), None)
        if rule is None:
            return self.default
        rest = {
            name: getattr(self.default, name)
            for name in ("soft", "hard", "band")
            if getattr(rule, name) is None
        }
        return attrs.evolve(rule, **rest)


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


def _effect(value: Any) -> Effect:
    if not isinstance(value, str) and type(value) is not int:
        raise ValueError(EXPECTED)
    return Effect.parse(str(value))


_CONVERTER = strict_converter()
_CONVERTER.register_structure_hook(Effect, Parsed(_effect, EXPECTED))
