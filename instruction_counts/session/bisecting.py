"""Finding the builds between which a case changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import attrs

from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.core.types import Case, CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.selection import Selection
from instruction_counts.execution.events import Observer
from instruction_counts.history.bisection import Bisection, Candidates, Change, bisect
from instruction_counts.session.build_measurer import StoreBuildMeasurer
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import Definitions, load_cases
from instruction_counts.storage.store import Store

_NAMED = 12


@attrs.frozen
class BisectionRequest:
    """Which case is looked for, and how."""

    definitions: Definitions
    selection: Selection
    settings: MeasurementSettings
    min_effect: Effect
    layouts: int | None
    """As in `ComparisonRequest`; 0 only measures once more."""
    fresh: bool = False
    """Do not use stored counts."""


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
        return cls(
            candidates.key,
            tuple(builds),
            tuple(
                FoundChange(change, candidates.difference(change.before, change.after))
                for change in result.changes
            ),
            {place: candidates.sides[place].fingerprint for place in result.measured},
            result.broken,
            candidates.measurements,
            candidates.reused,
            is_sound,
        )


def find_changes(
    makers: Mapping[str, Callable[[], Build]],
    request: BisectionRequest,
    store: Store,
    observer: Observer,
) -> Found:
    """Search builds, the oldest first, for the changes of one case.

    ``makers`` make each build when it is needed, by its name.

    Raises:
        UsageError: the selection leaves no case, or several.
        KeyboardInterrupt: it was interrupted; what was measured is stored.
    """
    case = only_case(request.definitions, request.selection)
    # Times decide nothing, and take longer than counts.
    settings = attrs.evolve(request.settings, times=False)
    measurer = StoreBuildMeasurer(
        *(request.definitions, request.selection, settings, store, request.layouts, observer),
        case=None if request.fresh else case,
    )
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
    if len(cases) == 1:
        return cases[0]
    found = [f"  {case.key.title}" for case in cases]
    listed = "\n".join([*found[:_NAMED], *(["  …"] if len(found) > _NAMED else [])])
    raise UsageError(
        f"{len(cases)} cases match '{selection.only[0]}':\n{listed}",
        "Narrow it: a longer LABEL, --language, --runtime, --autograd or --num-threads.",
    )
