"""Measuring suspects again: in several memory layouts of each build."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TypeVar

import attrs

from instruction_counts.core.types import Case, CaseKey
from instruction_counts.domain.outcomes import FunctionCosts, Outcome, Output
from instruction_counts.execution.events import Finished
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.measuring import carried_out

_Known = TypeVar("_Known")

LAYOUTS_OF_A_SERVER = 3
"""In how many layouts a server that is there counts a suspect, unless more are asked for."""
FRESH_SERVERS = 2
"""How many servers of a build then have to agree, each with all of its memory in another layout."""


@attrs.frozen
class Recounted:
    """What was counted of cases in further layouts: for each build, one mapping for each layout."""

    outcomes: Sequence[Sequence[Mapping[CaseKey, Outcome]]]

    @property
    def counts(self) -> list[list[dict[CaseKey, int]]]:
        """What the cases cost; one that failed in a layout is not in it."""
        return self._each(lambda of: None if of.instructions is None else of.instructions.per_run)

    @property
    def functions(self) -> list[list[dict[CaseKey, FunctionCosts]]]:
        """What their functions cost, where that is known."""
        return self._each(lambda of: of.functions)

    def _each(self, of: Callable[[Outcome], _Known | None]) -> list[list[dict[CaseKey, _Known]]]:
        return [
            [
                {key: known for key, found in layout.items() if (known := of(found)) is not None}
                for layout in layouts
            ]
            for layouts in self.outcomes
        ]

    def followed_by(self, other: "Recounted") -> "Recounted":
        """These layouts, then those of ``other``; only cases that it has, too."""
        keys = {key for layouts in other.outcomes for of in layouts for key in of}
        return Recounted(
            [
                [{key: of[key] for key in keys & {*of}} for of in (*before, *after)]
                for before, after in zip(self.outcomes, other.outcomes, strict=True)
            ]
        )


def recount(runner: BuildRunner, cases: Sequence[Case], layouts: int | None) -> Recounted:
    """Count ``cases`` in other layouts, on each build of ``runner``.

    Builds count a case one after the other on the same lane. A case that fails in a layout has
    no count there. Each of ``layouts`` has servers of its own: types, names and libraries lie
    elsewhere in it, too. None asks for a few layouts of the servers that are there, in which
    what a case allocates lies elsewhere.
    """
    if layouts is None:
        rounds = [range(1, LAYOUTS_OF_A_SERVER + 1)]
    else:
        rounds = [range(layout, layout + 1) for layout in range(1, layouts + 1)]
    total = rounds[-1][-1]
    found: dict[str, list[dict[CaseKey, Outcome]]] = {
        name: [{} for _ in range(total)] for name in runner.names
    }
    for shared in rounds:
        which = f"layout {shared[0]} of {total} by fresh servers"
        if len(shared) > 1:
            which = f"layouts {shared[0]} to {shared[-1]}"
        plural = "" if len(cases) == 1 else "s"
        runner.observer.note(f"Verifying {len(cases)} case{plural} in memory {which}")
        for done in _measure(runner, cases, shared, times=False):
            order = done.order
            if done.outcome.instructions is not None:
                found[order.build.name][order.layout - 1][order.case.key] = done.outcome
    return Recounted([*found.values()])


def outputs_of(runner: BuildRunner, cases: Sequence[Case]) -> list[dict[CaseKey, Output]]:
    """What C++ ``cases`` compute on each build, as far as that is known."""
    runner.observer.note(f"Comparing what {len(cases)} C++ cases compute")
    found: dict[str, dict[CaseKey, Output]] = {name: {} for name in runner.names}
    for done in _measure(runner, cases, range(1), counts=False, times=False, output=True):
        if done.outcome.output is not None:
            found[done.order.build.name][done.order.case.key] = done.outcome.output
    return list(found.values())


def _measure(
    runner: BuildRunner, cases: Iterable[Case], layouts: range, **options: bool
) -> Iterator[Finished]:
    """Each case in each layout on each build; a single one is that of the servers, too."""
    orders = [
        runner.settings.order(case, facts.build, layout=layout, **options)
        for case in cases
        for layout in layouts
        for facts in runner.facts
    ]
    with (
        runner.lanes(layout=layouts[0] if len(layouts) == 1 else 0) as lanes,
        closing(carried_out(orders, lanes, runner.observer)) as found,
    ):
        yield from found
