"""Cases that changed for one cause, grouped: the cause once, with all of its cases.

The rule:

- Cases take part that are reported as changed: better, worse, ambiguous, with another output, or
  with another amount of a judged metric.
- A cause is the same in two cases if its kind, its normalised name and its file or library are, and
  if it goes the same way; a Python function may go either way, as its new code does.
- Of a case, all Python functions and operators that changed take part, and the leading of its
  largest native functions (or libraries, or layers): those that changed by at least a tenth of what
  the largest of them changed by.
- What at least two cases share is grouped. Causes that exactly the same cases share are one group.
- A case can be in several groups. What it shares with no other case stays with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

import attrs

from core.types import CaseKey
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.domain.causes import Cause, CauseIdentity, CauseKind

_LEADING = Fraction(1, 10)
_EXECUTED = (CauseKind.PYTHON, CauseKind.OPERATOR)
_CHANGED = frozenset({Verdict.WORSE, Verdict.BETTER, Verdict.AMBIGUOUS})


@attrs.frozen
class SharedCause:
    """A cause, as it is in each of the cases of its group, in their order."""

    causes: tuple[Cause, ...]
    least: Fraction
    """The least change, in the unit of its kind."""
    most: Fraction

    @classmethod
    def of(cls, causes: Iterable[Cause]) -> SharedCause:
        """The cause that all of ``causes``, of which there is at least one, are."""
        found = tuple(causes)
        changes = [cause.change for cause in found]
        return cls(found, min(changes), max(changes))


@attrs.frozen
class CauseGroup:
    """Cases, and the causes that they and no others share."""

    differences: tuple[Difference, ...]
    """At least two, the largest change first."""
    causes: tuple[SharedCause, ...]
    """Python functions, then operators, then the rest."""

    @property
    def least(self) -> int:
        """The least change of a case, in instructions."""
        return min(difference.change or 0 for difference in self.differences)

    @property
    def most(self) -> int:
        """The largest change of a case."""
        return max(difference.change or 0 for difference in self.differences)

    @property
    def total(self) -> int:
        """The instructions by which its cases changed, whichever way."""
        return sum(abs(difference.change or 0) for difference in self.differences)


@attrs.frozen
class SharedCauses:
    """What the cases of a comparison changed for in common."""

    groups: tuple[CauseGroup, ...] = ()
    """Those whose cases changed most come first."""
    places: Mapping[CaseKey, tuple[int, ...]] = attrs.field(factory=dict)
    """Which of the groups a case is in: 0 is the first. Cases that changed alone are absent."""

    def has(self, key: CaseKey, cause: Cause) -> bool:
        """Whether a group of the case has that cause."""
        groups = (self.groups[place] for place in self.places.get(key, ()))
        return any(
            shared.causes[0].identity == cause.identity
            for group in groups
            for shared in group.causes
        )


def shared_causes(differences: Iterable[Difference]) -> SharedCauses:
    """The groups of what was compared, by the rule above."""
    changed = sorted(filter(is_changed, differences), key=_size)
    found: dict[CauseIdentity, dict[CaseKey, Cause]] = defaultdict(dict)
    for difference in changed:
        for cause in leading_causes(difference):
            found[cause.identity].setdefault(difference.key, cause)
    together: dict[tuple[CaseKey, ...], list[SharedCause]] = defaultdict(list)
    for causes in found.values():
        if len(causes) > 1:
            together[tuple(causes)].append(SharedCause.of(causes.values()))
    by_key = {difference.key: difference for difference in changed}
    groups = [
        CauseGroup(tuple(by_key[key] for key in keys), tuple(causes))
        for keys, causes in together.items()
    ]
    groups.sort(key=_rank)
    places: dict[CaseKey, tuple[int, ...]] = {}
    for place, group in enumerate(groups):
        for difference in group.differences:
            places[difference.key] = (*places.get(difference.key, ()), place)
    return SharedCauses(tuple(groups), places)


def _size(difference: Difference) -> int:
    return -abs(difference.change or 0)


def _rank(group: CauseGroup) -> tuple[int, int]:
    return -group.total, list(CauseKind).index(group.causes[0].causes[0].kind)


def is_changed(difference: Difference) -> bool:
    """Whether a case is reported as changed."""
    if difference.change is None:
        return False
    is_other = difference.reason is Reason.OUTPUT_DIFFERS or bool(difference.metrics)
    return difference.verdict in _CHANGED or is_other


def leading_causes(difference: Difference) -> tuple[Cause, ...]:
    """The causes of a case that can be shared, in its order."""
    others = [abs(cause.change) for cause in difference.causes if cause.kind not in _EXECUTED]
    least = max(others, default=Fraction()) * _LEADING
    return tuple(
        cause
        for cause in difference.causes
        if cause.kind in _EXECUTED or abs(cause.change) >= least
    )
