"""The end of a check: what it shows, what it writes, and what a script learns."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import attrs

from core.types import CaseKey
from instruction_counts.analysis.comparison import Comparison
from instruction_counts.analysis.verdicts import Verdict
from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.gating import Gating, show_gate
from instruction_counts.domain.errors import UsageError
from instruction_counts.gate.baseline import Baseline
from instruction_counts.gate.gate import Gate
from instruction_counts.report import comparison as comparison_report
from instruction_counts.report.formats.entry import CheckReport, causes_by_case
from instruction_counts.report.registry import Destination


@attrs.frozen
class Conclusion:
    """What the options and the last check say of the end of this one."""

    baseline: Baseline
    gating: Gating
    destinations: Sequence[Destination]
    limit: int
    """How many cases of a kind are shown; 0 shows all."""
    exceeded_before: AbstractSet[CaseKey] = frozenset()

    def of(self, comparison: Comparison) -> ExitCode:
        """Show the check, and only then write its files: what it says is never lost with them.

        Raises:
            UsageError: a file cannot be written, or no case was compared, and so nothing passed.
        """
        gate = self._shown(comparison)
        check = CheckReport(gate, causes_by_case(comparison.differences, self.baseline.causes))
        paths = [destination.write(check) for destination in self.destinations]
        for path in self.gating.write_junit(check, paths):
            console.line(f"Saved: {path}")
        is_told = gate.fails or gate.has_failed_cases  # by exit codes that say more
        if not gate.compares and not is_told:
            raise UsageError(
                "nothing was compared: no case was counted on both sides, with the same code",
                "Above it says why. Check a run that was counted, or accept one: baseline accept",
            )
        return self.gating.exit_code(gate)

    def of_interrupted(self, comparison: Comparison) -> ExitCode:
        """Show what was found until then; files stay those of the last check that ended.

        What was not measured is not missing: nobody knows.
        """
        known = tuple(one for one in comparison.differences if one.verdict is not Verdict.MISSING)
        self._shown(attrs.evolve(comparison, differences=known), interrupted=True)
        console.error("Interrupted: this is what was found until then, and no file was written.")
        return ExitCode.INTERRUPTED

    def _shown(self, comparison: Comparison, *, interrupted: bool = False) -> Gate:
        gate = self.gating.applied(comparison, self.exceeded_before)
        for text in comparison_report.head(comparison):
            console.render(text)
        show_gate(gate, self.baseline.causes, self.limit, interrupted=interrupted)
        return gate
