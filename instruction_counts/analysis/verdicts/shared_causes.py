"""The few causes that explain most of a comparison.

The rule:

- Cases take part that are reported as changed: better, worse, ambiguous, with another output, or
  with another amount of a judged metric.
- A cause is the same in two cases if its kind, its normalised name and its file or library are, and
  if it goes the same way; a Python function may go either way, as its new code does.
- A cause explains of a case the instructions that it costs more or less itself: a native function
  those of its own code, a Python function its part of the interpreter's. Instructions that it moves
  against the change of the case count against it.
- What at least two cases share is chosen by how much it explains, the most first, unless so few
  cases changed that each can say it itself. Causes of nearly the same cases (four of five on either
  side) that go the same way stand together, and the largest share is told first.
- The share of a cause is what it explains of all changes, whichever way they go, added up. No
  instruction is counted twice. Of operators, and without the costs of native functions, it is not
  known.
"""

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

import attrs

from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.causes import Cause, CauseIdentity, CauseKind

_MOST = 5
"""So many causes are leading."""
_FEW = 3
"""So many changed cases need no causes in common."""

_TOGETHER = Fraction(4, 5)
_CHANGED = frozenset({Verdict.WORSE, Verdict.BETTER, Verdict.AMBIGUOUS})


@attrs.frozen
class SharedCause:
    """A cause, as it is in each of its cases, and how much of them it explains."""

    causes: Mapping[CaseKey, Cause]
    """The case with the largest change comes first."""
    explained: Fraction
    """Instructions; negative where it goes against the changes of its cases."""

    @property
    def first(self) -> Cause:
        """The cause in the case that changed most."""
        return next(iter(self.causes.values()))

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """The least and the largest change, in the unit of its kind."""
        changes = [cause.change for cause in self.causes.values()]
        return min(changes), max(changes)


@attrs.frozen
class LeadingCause:
    """Causes that nearly the same cases share, told as one."""

    members: tuple[SharedCause, ...]
    """Python functions, then operators, then native functions."""
    share: float | None
    """Of all changes of the comparison; negative where it goes against them, None where that is not
    known."""

    @functools.cached_property
    def keys(self) -> frozenset[CaseKey]:
        """The cases of any of them."""
        return frozenset(key for member in self.members for key in member.causes)

    def has(self, key: CaseKey, cause: Cause) -> bool:
        """Whether it is one of its causes in that case."""
        mine = (member for member in self.members if key in member.causes)
        return any(member.first.identity == cause.identity for member in mine)


@attrs.frozen
class SharedCauses:
    """What the changed cases of a comparison have in common."""

    leading: tuple[LeadingCause, ...] = ()
    others: int = 0
    """How many further causes several cases share."""
    every: tuple[SharedCause, ...] = ()
    """All of them, the leading ones included."""


def shared_causes(differences: Iterable[Difference]) -> SharedCauses:
    """What was compared, by the rule above."""
    changed = sorted(filter(is_changed, differences), key=lambda case: -abs(case.change or 0))
    changes = {case.key: case.change or 0 for case in changed}
    whole = sum(map(abs, changes.values()))
    found: dict[CauseIdentity, dict[CaseKey, Cause]] = defaultdict(dict)
    for case in changed:
        for cause in case.causes:
            found[cause.identity].setdefault(case.key, cause)
    every = []
    for causes in (causes for causes in found.values() if len(causes) > 1):
        signs = {key: 1 if changes[key] > 0 else -1 for key in causes}
        parts = (cause.instructions * signs[key] for key, cause in causes.items())
        every.append(SharedCause(causes, sum(parts, Fraction())))
    every.sort(key=lambda cause: (-abs(cause.explained), -len(cause.causes), cause.first.name))
    left = list(every)
    leading: list[LeadingCause] = []
    while left and len(leading) < _MOST and len(changed) > _FEW:
        members = [cause for cause in left if _go_together(left[0], cause)]
        left = [cause for cause in left if not _go_together(left[0], cause)]
        explained = sum((member.explained for member in members), Fraction())
        members.sort(key=lambda cause: _KINDS.index(cause.first.kind))
        share = float(explained / whole) if explained and whole else None
        leading.append(LeadingCause(tuple(members), share))
    leading.sort(key=lambda cause: -abs(cause.share or 0))
    return SharedCauses(tuple(leading), len(left), tuple(every))


_KINDS = tuple(CauseKind)


def _go_together(first: SharedCause, other: SharedCause) -> bool:
    both = len(first.causes.keys() & other.causes.keys())
    is_alike = both >= _TOGETHER * max(len(first.causes), len(other.causes))
    return is_alike and first.explained * other.explained >= 0


def is_changed(difference: Difference) -> bool:
    """Whether a case is reported as changed."""
    is_other = difference.reason is Reason.OUTPUT_DIFFERS or bool(difference.metrics)
    return difference.change is not None and (difference.verdict in _CHANGED or is_other)
