"""Limits: the allowed increase per case, by patterns over labels in a YAML file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import attrs

from instruction_counts.core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.effects import NEVER, Effect
from instruction_counts.domain.selection import matches
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
    '      - {only: "Autograd/*", language: python, hard: 200}'
)


_CONVERTER = strict_converter()
_CONVERTER.register_structure_hook(Effect, lambda value, _: Effect.parse(str(value)))
