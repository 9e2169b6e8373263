"""What limits make of a comparison, for people: what fails first, with its limit and its causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs
from rich.table import Table
from rich.text import Text

from core.types import CaseKey
from instruction_counts.analysis.verdicts.difference import Difference, Verdict
from instruction_counts.analysis.verdicts.shared_causes import SharedCauses
from instruction_counts.domain.metrics import ALLOCATIONS
from instruction_counts.gate.accept import Acceptance
from instruction_counts.gate.baseline import Baseline, BaselineCase
from instruction_counts.gate.gate import Finding, Gate, Level
from instruction_counts.gate.lint import Remark
from instruction_counts.report import causes
from instruction_counts.report import comparison as report

_SHOWN_BY_A_REMARK = 5


@attrs.frozen
class FindingSection:
    """Cases that are shown together."""

    title: str
    style: str
    findings: tuple[Finding, ...]
    folded: bool = True


_STYLES = {
    Level.FAILS: "bold red",
    Level.EDGE: "yellow",
    Level.SOFT: "yellow",
    Level.UNGUARDED: "magenta",
    Level.WITHIN: "cyan",
}


def sections(gate: Gate) -> Iterator[FindingSection]:
    """The findings to show, the worst first; in each the largest relative change first."""
    for level, style in _STYLES.items():
        findings = gate.at(level)
        if findings:
            folded = level is not Level.FAILS
            yield FindingSection(level.value.upper(), style, _largest_first(findings), folded)
    better = [finding for finding in gate.findings if finding.difference.verdict is Verdict.BETTER]
    if better:
        yield FindingSection("BETTER", "green", _largest_first(better))
    ambiguous = [
        finding for finding in gate.findings if finding.difference.verdict is Verdict.AMBIGUOUS
    ]
    if ambiguous:
        yield FindingSection("AMBIGUOUS", "yellow", _largest_first(ambiguous))


def _largest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: -abs(finding.difference.relative or 0)))


def lines(finding: Finding, shared: SharedCauses = causes.NOTHING_SHARED) -> Iterator[Text]:
    """A case: its counts, the limit, and what caused the change."""
    difference = finding.difference
    yield from report.figures_lines(difference)
    if finding.why and finding.why != difference.reason.value:
        yield Text(f"     {finding.why}")
    yield from report.cause_lines(difference, shared)


def brief(gate: Gate) -> Iterator[Text]:
    """What is held against limits, a line for each case, for a comparison that was shown."""
    for level in (Level.FAILS, Level.EDGE, Level.SOFT):
        for finding in _largest_first(gate.at(level)):
            text = f"{report.title_of(finding.key)}: {finding.why}"
            yield Text(f"{level.value}: {text}", style=_STYLES[level])
    yield Text(verdict(gate), style="bold red" if gate.fails else "bold")


def verdict(gate: Gate, *, interrupted: bool = False) -> str:
    """The whole in one line: ``FAILS: 2 cases of 300; 1 at the edge``."""
    failing, edge, soft, bare = (
        len(gate.at(level)) for level in (Level.FAILS, Level.EDGE, Level.SOFT, Level.UNGUARDED)
    )
    total = len(gate.findings)
    said = _said(gate, interrupted=interrupted)
    parts = [f"{said}: {failing:,} of {_cases(total)} fail the limits"]
    if not gate.fails:
        parts = [f"{said}: {_cases(total)}"]
        if failing:
            parts.append(f"{failing:,} over the limit (not enforced)")
    if edge:
        parts.append(f"{edge:,} at the edge of a hard limit")
    if soft:
        parts.append(f"{soft:,} above a soft limit")
    if bare:
        parts.append(f"{bare:,} not guarded")
    if gate.comparison.skipped_by_budget:
        parts.append(f"{len(gate.comparison.skipped_by_budget):,} skipped by the time budget")
    return "; ".join(parts)


def _said(gate: Gate, *, interrupted: bool) -> str:
    if interrupted:
        return "INTERRUPTED"
    if gate.fails:
        return "FAILS"
    return "PASSES" if gate.compares else "NOTHING WAS COMPARED"


def _cases(number: int) -> str:
    return f"{number:,} case{'' if number == 1 else 's'}"


# ------------------------------------------------------------------------------ the baseline


def acceptance(found: Acceptance, before: Baseline) -> Iterator[Text]:
    """What accepting changes in ``before``, case by case, with the reason."""
    kept = set(found.kept)
    for difference in found.comparison.differences:
        was = before.cases.get(difference.key)
        now = found.after.cases.get(difference.key)
        if was == now or now is None:
            continue
        texts = causes.texts(difference.causes[: causes.CAUSES])
        parts = [
            _old_and_new(difference),
            difference.verdict.value,
            difference.reason.value,
            *texts,
        ]
        if difference.key in kept:
            parts = [f"{now.instructions:,}", "keeps its count", "its noise is better known"]
        elif not difference.change and was is not None:
            parts = [f"{now.instructions:,}", "the same count", "other layers, noise or code"]
            parts += texts
        yield Text(f"  {report.title_of(difference.key)}")
        for text in report.wrapped(parts, " · "):
            yield Text(f"     {text}")


def _old_and_new(difference: Difference) -> str:
    before = "none" if difference.base_count is None else f"{difference.base_count:,}"
    after = report.number_text(difference.new_count)
    return f"{before} → {after} {report.change_text(difference)}".rstrip()


def baseline_table(cases: Iterable[BaselineCase]) -> Table:
    """A line for each case of a baseline."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("case", overflow="fold")
    for name in ("instr", "allocs", "noise", "layouts"):
        table.add_column(name, justify="right", no_wrap=True)
    for case in cases:
        table.add_row(
            Text(report.title_of(case.key)),
            f"{'' if case.exact else '~'}{case.instructions:,}",
            ALLOCATIONS.text(case.metrics.get(ALLOCATIONS.name)),
            report.number_text(case.noise_floor),
            report.number_text(case.layouts) if case.layouts else "not known",
        )
    return table


def remark(noticed: Remark) -> Iterator[Text]:
    """A problem, the cases that it is about, and what to do."""
    yield Text(f"{noticed.doubt.what}: {len(noticed.about):,}", style="yellow")
    for about in noticed.about[:_SHOWN_BY_A_REMARK]:
        yield Text(f"  {report.title_of(about) if isinstance(about, CaseKey) else about}")
    if len(noticed.about) > _SHOWN_BY_A_REMARK:
        yield Text(f"  … and {len(noticed.about) - _SHOWN_BY_A_REMARK:,} more")
    yield Text(f"  {noticed.doubt.remedy}", style="dim")
