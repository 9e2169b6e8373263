"""Measuring suspects again: in several memory layouts of each build."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Self, TypeVar

import attrs

from instruction_counts.core.types import Case, CaseKey
from instruction_counts.domain.outcomes import FunctionCosts, Outcome, Output
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Finished
from instruction_counts.execution.scheduler import execute, refused
from instruction_counts.session.builds import BuildRunner

_Known = TypeVar("_Known")

LAYOUTS_OF_A_SERVER = 3
"""In how many layouts a server that is there counts a suspect, unless more are asked for."""
FRESH_SERVERS = 2
"""How many servers of a build then have to agree, each with all of its memory in another layout."""


@attrs.frozen
class Recounted:
    """What cases cost in further layouts: for each build, one mapping for each layout."""

    counts: list[list[dict[CaseKey, int]]]
    functions: list[list[dict[CaseKey, FunctionCosts]]]
    """What their functions cost, where that is known."""

    @classmethod
    def empty(cls, builds: int, layouts: int) -> Self:
        """Nothing yet."""
        return cls(
            [[{} for _ in range(layouts)] for _ in range(builds)],
            [[{} for _ in range(layouts)] for _ in range(builds)],
        )

    def add(self, build: int, layout: int, key: CaseKey, outcome: Outcome) -> None:
        """Take in what a case cost in a layout, if it was counted there."""
        if outcome.instructions is not None:
            self.counts[build][layout][key] = outcome.instructions.per_run
            if outcome.functions is not None:
                self.functions[build][layout][key] = outcome.functions

    def followed_by(self, other: Recounted) -> Recounted:
        """These layouts, then those of ``other``; only cases that it has, too."""
        keys = {key for counts in other.counts for layout in counts for key in layout}

        def joined(
            first: Sequence[Sequence[Mapping[CaseKey, _Known]]],
            second: Sequence[Sequence[Mapping[CaseKey, _Known]]],
        ) -> list[list[dict[CaseKey, _Known]]]:
            return [
                [{key: layout[key] for key in keys & {*layout}} for layout in (*before, *after)]
                for before, after in zip(first, second, strict=True)
            ]

        return Recounted(joined(self.counts, other.counts), joined(self.functions, other.functions))


@attrs.frozen
class Verification:
    """Measures cases on builds again."""

    runner: BuildRunner

    def count(self, cases: Sequence[Case], layouts: int | None) -> Recounted:
        """The counts of ``cases``, for each build.

        Builds count a case one after the other on the same lane. A case that fails in a layout has
        no count there. Each of ``layouts`` has servers of its own: types, names and libraries lie
        elsewhere in it, too. None asks for a few layouts of the servers that are there, in which
        what a case allocates lies elsewhere.
        """
        rounds = (
            [range(1, LAYOUTS_OF_A_SERVER + 1)]
            if layouts is None
            else [range(layout, layout + 1) for layout in range(1, layouts + 1)]
        )
        total, names = rounds[-1][-1], self.runner.names
        found = Recounted.empty(len(names), total)
        places = {name: place for place, name in enumerate(names)}
        for shared in rounds:
            self.runner.observer.note(_announcement(len(cases), shared, total))
            with closing(self._measure(cases, shared, times=False)) as measured:
                for order, outcome in measured:
                    place = places[order.build.name], order.layout - 1, order.case.key
                    found.add(*place, outcome)
        return found

    def outputs(self, cases: Sequence[Case]) -> list[dict[CaseKey, Output]]:
        """What ``cases`` compute on each build, as far as that is known."""
        self.runner.observer.note(f"Comparing what {len(cases)} C++ cases compute")
        options = {"counts": False, "times": False, "output": True, "cpp_output": True}
        found: dict[str, dict[CaseKey, Output]] = {name: {} for name in self.runner.names}
        with closing(self._measure(cases, range(1), **options)) as measured:
            for order, outcome in measured:
                if outcome.output is not None:
                    found[order.build.name][order.case.key] = outcome.output
        return list(found.values())

    def _measure(
        self, cases: Iterable[Case], layouts: range, **options: bool
    ) -> Generator[tuple[WorkOrder, Outcome]]:
        """Each case in each layout on each build; a single one is that of the servers, too."""
        runner, settings = self.runner, self.runner.settings
        orders = [
            settings.order(case, facts.build, layout=layout, **options)
            for case in cases
            for layout in layouts
            for facts in runner.facts
        ]
        with ExitStack() as stack:
            layout = layouts[0] if len(layouts) == 1 else 0
            lanes = stack.enter_context(runner.lanes(layout=layout))
            possible = [order for order in orders if refused(order, lanes) is None]
            events = stack.enter_context(closing(execute(possible, lanes)))
            progress = stack.enter_context(runner.observer.progress(len(possible)))
            for event in events:
                progress.show(event)
                if isinstance(event, Finished):
                    yield event.order, event.outcome


def _announcement(cases: int, layouts: range, total: int) -> str:
    which = (
        f"layout {layouts[0]} of {total} by fresh servers"
        if len(layouts) == 1
        else f"layouts {layouts[0]} to {layouts[-1]}"
    )
    return f"Verifying {cases} case{'' if cases == 1 else 's'} in memory {which}"
