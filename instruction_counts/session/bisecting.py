"""Finding the builds between which a case changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import attrs

from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.core.types import Case, CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.selection import Selection, only_key
from instruction_counts.execution.events import Observer
from instruction_counts.history.bisection import Bisection, Candidates, Change, bisect
from instruction_counts.session.build_series import StoreBuildMeasurer
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.sources.definitions import Definitions, load_cases
from instruction_counts.storage.store import Store


@attrs.frozen
class FoundChange:
    """Where the case changed, and how."""

    place: Change
    difference: Difference


@attrs.frozen
class Found:
    """What a bisection found."""

    key: CaseKey
    builds: tuple[str, ...]
    """Their names, in their order; all else tells builds by their positions."""
    changes: tuple[FoundChange, ...]
    measured: Mapping[int, Fingerprint]
    broken: Mapping[int, str]
    """The builds that were tried and cannot be measured, with the reason."""
    measurements: int
    """How often a build was measured; each of a pair counts."""
    reused: int
    """How many builds were known before."""
    is_sound: bool = True
    """Whether all that was measured is stored, and no build changed meanwhile."""

    @property
    def is_conclusive(self) -> bool:
        """Whether at least two builds could be measured."""
        return len(self.measured) > 1

    @property
    def is_regression(self) -> bool:
        """Whether the case got worse somewhere, or computes something else."""
        return any(change.difference.is_regression for change in self.changes)

    @classmethod
    def of(
        cls,
        builds: Iterable[str],
        candidates: Candidates,
        result: Bisection,
        *,
        is_sound: bool = True,
    ) -> Found:
        """The result of a search among ``candidates``."""
        changes = (
            FoundChange(change, candidates.difference(change.before, change.after))
            for change in result.changes
        )
        measured = {place: candidates.sides[place].fingerprint for place in result.measured}
        effort = candidates.measurements, candidates.reused
        found = candidates.key, tuple(builds), tuple(changes), measured, result.broken
        return cls(*found, *effort, is_sound)


def find_changes(
    makers: Mapping[str, Callable[[], Build]],
    request: ComparisonRequest,
    store: Store,
    observer: Observer,
) -> Found:
    """Search builds, the oldest first, for the changes of the one case that is selected.

    ``makers`` make each build when it is needed, by its name.

    Raises:
        UsageError: the selection leaves no case, or several.
        KeyboardInterrupt: it was interrupted; what was measured is stored.
    """
    case = only_case(request.definitions, request.selection)
    # Times decide nothing, and take longer than counts.
    request = attrs.evolve(request, settings=attrs.evolve(request.settings, times=False))
    measurer = StoreBuildMeasurer(request, store, observer, case)
    candidates = Candidates(
        list(makers.values()), case.key, measurer, request.min_effect, complete=store.completed
    )
    result = bisect(len(makers), candidates)
    return Found.of(makers, candidates, result, is_sound=measurer.is_sound)


def only_case(definitions: Definitions, selection: Selection) -> Case:
    """The one case that is selected.

    Raises:
        UsageError: it is none, or several.
    """
    cases = load_cases(definitions, selection)
    only_key([case.key for case in cases], selection)
    return cases[0]
