"""Limits: the allowed increase per case, by patterns over labels, from a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import cattrs

from core.labels import Mode, by_option
from core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.effects import EXPECTED, NEVER, Effect
from instruction_counts.domain.selection import matches
from instruction_counts.reading.nodes import one_of
from instruction_counts.reading.structure import Mismatch, read_as, strict_converter


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

    def applies(self, key: CaseKey) -> bool:
        """Whether a case is meant."""
        asked = (self.language, self.runtime, self.autograd)
        return matches(self.only, key.label) and all(
            wanted in {None, mode} for wanted, mode in zip(asked, key.modes, strict=True)
        )

    def __str__(self) -> str:
        modes = (self.language, self.runtime, self.autograd)
        return " · ".join([self.only, *(mode.value or "explicit" for mode in modes if mode)])


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


def _effect(value: Any, _: type) -> Effect:
    if not isinstance(value, str) and type(value) is not int:
        raise Mismatch(EXPECTED)
    try:
        return Effect.parse(str(value))
    except ValueError as error:
        raise Mismatch(EXPECTED) from error


def _mode(value: Any, kind: type[Mode]) -> Mode:
    names = by_option(kind)
    found = names.get(value.lower()) if isinstance(value, str) else None
    if found is None:
        raise Mismatch(one_of(names, value))
    return found


def _possible(rule: Rule) -> Rule:
    """The rule, unless its limits contradict each other, or its band lets everything pass."""
    soft, hard = rule.soft, rule.hard
    if rule.band == NEVER:
        raise Mismatch("a size; to enforce nothing, write `hard: never`", "never", ("band",))
    if (
        not (soft is None or hard is None or soft in {NEVER, hard})
        and soft.relative >= hard.relative
        and soft.absolute >= hard.absolute
    ):
        raise Mismatch(f"at most the hard limit, {hard}", str(soft), ("soft",))
    return rule


def _make_converter() -> cattrs.Converter:
    converter = strict_converter()
    converter.register_structure_hook(Effect, _effect)
    converter.register_structure_hook(Language, _mode)
    converter.register_structure_hook(RuntimeMode, _mode)
    converter.register_structure_hook(AutogradMode, _mode)
    plain_rule = converter.get_structure_hook(Rule)
    converter.register_structure_hook(Rule, lambda value, kind: _possible(plain_rule(value, kind)))
    plain = converter.get_structure_hook(Limits)

    def limits(value: Any, kind: Any) -> Any:
        found = plain(value, kind)
        default = found.default
        if any((default.language, default.runtime, default.autograd)) or default.only != "*":
            expected = "only soft, hard and band; move patterns to `limits:`"
            raise Mismatch(expected, "a pattern", ("default",))
        return found

    converter.register_structure_hook(Limits, limits)
    return converter


_CONVERTER = _make_converter()
