"""Measuring suspects again: in fresh servers, in several memory layouts, on each build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing

import attrs

from core.types import Case, CaseKey
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.outcomes import Outcome, Output
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Engine
from instruction_counts.execution.cores import CorePool
from instruction_counts.execution.events import Finished
from instruction_counts.execution.lanes import execute, refused
from instruction_counts.session.observer import Observer

Outcomes = Mapping[str, Mapping[CaseKey, Outcome]]
"""By the name of the build, then by case."""


@attrs.frozen
class Verification:
    """Builds, and how to measure cases on them again.

    ``make_engine`` makes an engine for a build and a memory layout (0 is the usual one).
    """

    builds: tuple[BuildFacts, ...]
    make_engine: Callable[[BuildFacts, int], Engine]
    pool: CorePool
    lanes: int
    observer: Observer
    template: Callable[..., WorkOrder] = WorkOrder

    def count(self, cases: Sequence[Case], layouts: int) -> list[list[dict[CaseKey, int]]]:
        """The counts of ``cases``: for each build, one mapping for each layout.

        Each layout has servers of its own on each build; builds count a case one after
        the other on the same lane. A case that fails in a layout has no count there.
        """
        found: list[list[dict[CaseKey, int]]] = [[] for _ in self.builds]
        for layout in range(1, layouts + 1):
            self.observer.note(
                f"Verifying {len(cases)} cases in memory layout {layout} of {layouts}"
            )
            outcomes = self._measure(cases, layout, times=False)
            for counts, facts in zip(found, self.builds, strict=True):
                counts.append(
                    {
                        key: outcome.instructions.per_run
                        for key, outcome in outcomes[facts.build.name].items()
                        if outcome.instructions is not None
                    }
                )
        return found

    def outputs(self, cases: Sequence[Case]) -> list[dict[CaseKey, Output]]:
        """What ``cases`` compute on each build, as far as that is known."""
        self.observer.note(f"Comparing what {len(cases)} C++ cases compute")
        options = {"counts": False, "times": False, "output": True, "cpp_output": True}
        outcomes = self._measure(cases, 0, **options)
        return [
            {
                key: outcome.output
                for key, outcome in outcomes[facts.build.name].items()
                if outcome.output is not None
            }
            for facts in self.builds
        ]

    def _measure(self, cases: Iterable[Case], layout: int, **options: bool) -> Outcomes:
        orders = [
            self.template(case, facts.build, **options) for case in cases for facts in self.builds
        ]
        possible = [order for order in orders if refused(order, self.pool) is None]
        outcomes: dict[str, dict[CaseKey, Outcome]] = {
            facts.build.name: {} for facts in self.builds
        }
        with ExitStack() as stack:
            engines = {
                facts.build.name: stack.enter_context(closing(self.make_engine(facts, layout)))
                for facts in self.builds
            }
            events = stack.enter_context(closing(execute(possible, engines, self.pool, self.lanes)))
            progress = stack.enter_context(self.observer.progress(len(possible)))
            for event in events:
                progress.show(event)
                if isinstance(event, Finished):
                    key = event.order.case.key
                    outcomes[event.order.build.name][key] = event.outcome
        return outcomes
