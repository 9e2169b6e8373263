"""Which public operators of a torch the entries cover, and how much of what is called that is."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import attrs

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators.catalogue import PublicOperator
from instruction_counts.sources.operators.cpp_code import native_name
from instruction_counts.sources.operators.entries import OperatorEntry

ALL = "all"


@attrs.frozen
class Coverage:
    """The operators of a category, those called most first."""

    category: str
    named: tuple[PublicOperator, ...] = ()
    """With an entry of their own."""
    shared: tuple[PublicOperator, ...] = ()
    """With the entry of a function that has their native name."""
    uncovered: tuple[PublicOperator, ...] = ()

    @property
    def covered(self) -> int:
        """How many have an entry, of their own or shared."""
        return len(self.named) + len(self.shared)

    @property
    def public(self) -> int:
        """How many there are."""
        return self.covered + len(self.uncovered)

    @property
    def covered_calls(self) -> int:
        """How often those that are covered are called."""
        return _calls(self.named) + _calls(self.shared)

    @property
    def calls(self) -> int:
        """How often all of them are called."""
        return self.covered_calls + _calls(self.uncovered)


def coverage(
    public: Iterable[PublicOperator], entries: Sequence[OperatorEntry]
) -> tuple[Coverage, ...]:
    """The coverage of each category; first where most calls are not covered.

    An entry covers the operator of its name. The entry of a function also covers what has the same
    native name: ``torch.add`` covers ``Tensor.add``, as both call aten::add.
    """
    operators = sorted(public, key=lambda operator: (-operator.uses, operator.entry_name))
    natives = {operator.entry_name: operator.native for operator in operators}
    names = {entry.name for entry in entries}
    functions = {
        natives.get(entry.name) or native_name(entry.name)
        for entry in entries
        if not entry.is_method
    }
    groups: dict[str, dict[str, list[PublicOperator]]] = defaultdict(lambda: defaultdict(list))
    for operator in operators:
        is_shared = operator.native in functions
        kind = "named" if operator.entry_name in names else "shared" if is_shared else "uncovered"
        groups[operator.category][kind].append(operator)
    found = [
        Coverage(category, **{kind: tuple(below) for kind, below in group.items()})
        for category, group in groups.items()
    ]
    return tuple(sorted(found, key=lambda group: (-_calls(group.uncovered), group.category)))


def total(categories: Sequence[Coverage]) -> Coverage:
    """All categories as one."""

    def merged(groups: Iterable[tuple[PublicOperator, ...]]) -> tuple[PublicOperator, ...]:
        operators = (operator for group in groups for operator in group)
        return tuple(sorted(operators, key=lambda operator: (-operator.uses, operator.entry_name)))

    return Coverage(
        ALL,
        merged(category.named for category in categories),
        merged(category.shared for category in categories),
        merged(category.uncovered for category in categories),
    )


def in_categories(
    public: Sequence[PublicOperator], patterns: Sequence[str]
) -> tuple[PublicOperator, ...]:
    """The operators whose category matches a pattern, as a whole or in a part; all without any.

    Raises:
        UsageError: a pattern matches no category; the error names what is near.
    """
    spellings = {operator.category: _spellings(operator.category) for operator in public}
    for pattern in patterns:
        if not any(_matches(pattern, texts) for texts in spellings.values()):
            known = sorted({text for texts in spellings.values() for text in texts})
            near = ", ".join(difflib.get_close_matches(pattern.lower(), known, n=3))
            raise UsageError(
                f"--category '{pattern}' matches no category.{f' Near: {near}.' if near else ''}",
                "For example: torch.linalg, pointwise or 'torch.Tensor*'",
            )
    return tuple(
        operator
        for operator in public
        if not patterns
        or any(_matches(pattern, spellings[operator.category]) for pattern in patterns)
    )


def _spellings(category: str) -> tuple[str, ...]:
    """The category, and its parts: where an operator stands, and what it does."""
    lower = category.lower()
    return (lower, *lower.split(", "))


def _matches(pattern: str, texts: Iterable[str]) -> bool:
    return any(fnmatchcase(text, pattern.lower()) for text in texts)


def _calls(operators: Iterable[PublicOperator]) -> int:
    return sum(operator.uses for operator in operators)
