"""Timing one-line statements: each is counted, timed and compared with the first."""

from collections.abc import Callable

import attrs

from instruction_counts.analysis.verdicts.comparison import MeasuredStatement, beside
from instruction_counts.core.types import Case
from instruction_counts.domain.records import Run
from instruction_counts.domain.work import Statements
from instruction_counts.session.builds import BuildRunner
from instruction_counts.sources.statements import cases_of

_NO_SCALAR = "only for scalar outputs"
"""Of what torch says where a backward pass has nothing to start from."""


@attrs.frozen
class Timed:
    """Statements that were measured, in the order in which they were asked for."""

    statements: tuple[MeasuredStatement, ...]
    run: Run
    cases: tuple[Case, ...]
    has_failed_cases: bool = False

    @property
    def advice(self) -> str:
        """What to type instead, where torch says only what is wrong; mostly empty."""
        failures = (found.record.outcome.failure for found in self.statements)
        if any(failure is not None and _NO_SCALAR in failure.message for failure in failures):
            return "The output is not a scalar: end the statement in one, such as x.sum()."
        return ""


def time_statements(asked: Statements, made: Callable[[], BuildRunner]) -> Timed:
    """Measure statements on a build.

    The runner is ``made`` once the statements are known to be sound: probing a build takes seconds.

    Raises:
        UsageError, DefinitionError: a statement cannot be measured.
        BuildError: the build cannot be measured.
        KeyboardInterrupt: it was interrupted.
    """
    cases = cases_of(asked)
    runner = made()
    measured = runner.run(runner.orders(cases)).finished()
    return Timed(beside(measured.ordered), measured.run, cases, measured.has_failed_cases)
