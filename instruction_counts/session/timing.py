"""Timing one-line statements: each is counted, timed and compared with the first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs

from instruction_counts.analysis.verdicts.comparison import MeasuredStatement, beside
from instruction_counts.core.api import GroupedBenchmark
from instruction_counts.core.types import Label
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Run
from instruction_counts.domain.work import Statements
from instruction_counts.session.builds import BuildRunner
from instruction_counts.sources.appending import append, check_appendable
from instruction_counts.sources.statements import cases_of, groups_of

_NO_SCALAR = "only for scalar outputs"
"""Of what torch says where a backward pass has nothing to start from."""


@attrs.frozen
class Saving:
    """Where statements are saved: a definition file, and the label of the one, or above several."""

    path: Path
    label: Label

    @classmethod
    def at(cls, path: Path, label: str) -> Saving:
        """At a label as it is typed: ``Mine/add``.

        Raises:
            UsageError: it names nothing.
        """
        parts = tuple(part.strip() for part in label.split("/"))
        if not all(parts):
            raise UsageError(f'--save: "{label}" is no label', "Name one: --save Mine/add")
        return cls(path, parts)


@attrs.frozen
class Timed:
    """Statements that were measured, in the order in which they were asked for."""

    statements: tuple[MeasuredStatement, ...]
    run: Run
    has_failed_cases: bool = False
    is_sound: bool = True
    """Whether the build was the same to the end."""
    saved: tuple[Label, ...] = ()
    """The labels under which the statements were saved."""

    @property
    def advice(self) -> str:
        """What to type instead, where torch says only what is wrong; mostly empty."""
        failures = (found.record.outcome.failure for found in self.statements)
        if any(failure is not None and _NO_SCALAR in failure.message for failure in failures):
            return (
                "The output is not a scalar: end the statement in one (x.sum()), or name a "
                "variable of the setup that has its shape: --gradient NAME."
            )
        return ""


def time_statements(
    asked: Statements, made: Callable[[], BuildRunner], saving: Saving | None = None
) -> Timed:
    """Measure statements on a build, and save them where that is asked for and all succeeded.

    The runner is ``made`` once the statements are known to be sound: probing a build takes seconds.

    Raises:
        UsageError, DefinitionError: a statement cannot be measured, or could not be saved.
        BuildError: the build cannot be measured.
        KeyboardInterrupt: it was interrupted; nothing is saved.
    """
    groups = groups_of(asked)
    cases = cases_of(asked, groups)
    labelled: dict[Label, GroupedBenchmark] = {}
    if saving is not None:
        label = saving.label  # of several, each has its own below that
        labelled = {label if len(groups) == 1 else (*label, *own): groups[own] for own in groups}
        check_appendable(saving.path, tuple(labelled))
    runner = made()
    measured = runner.run(runner.orders(cases)).finished()
    succeeded = all(record.outcome.status is Status.OK for record in measured.ordered)
    if saving is not None and succeeded:
        append(saving.path, labelled)
    return Timed(
        *(beside(measured.ordered), measured.run, measured.has_failed_cases, measured.is_sound),
        saved=tuple(labelled) if succeeded else (),
    )
