"""What limits make of a comparison, for people: what fails first, with its limit and its causes."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs
from rich.table import Table
from rich.text import Text

from core.types import CaseKey
from instruction_counts.analysis.verdicts import Difference, Reason, Verdict
from instruction_counts.gate.accept import Acceptance
from instruction_counts.gate.baseline import Baseline, BaselineCase
from instruction_counts.gate.gate import Finding, Gate, Level
from instruction_counts.gate.junit import Texts
from instruction_counts.gate.lint import Remark
from instruction_counts.report import comparison as report
from instruction_counts.report import skipped_by_budget as left_out
from instruction_counts.report.markdown import clipped, escaped, fitting, size

Causes = Callable[[Difference], Iterable[str]]

_SHOWN_BY_A_REMARK = 5


def texts(causes: Causes) -> Texts:
    """What the JUnit file says of a case, and of what was left out."""
    return Texts(report.title_of, report.reason_of, causes, report.left_out)


@attrs.frozen
class Section:
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


def sections(gate: Gate) -> Iterator[Section]:
    """What is worth a line, the worst first; in each the largest relative change first."""
    for level, style in _STYLES.items():
        findings = gate.at(level)
        if findings:
            folded = level is not Level.FAILS
            yield Section(level.value.upper(), style, _largest_first(findings), folded)
    better = [one for one in gate.findings if one.difference.verdict is Verdict.BETTER]
    if better:
        yield Section("BETTER", "green", _largest_first(better))
    ambiguous = [one for one in gate.findings if one.difference.verdict is Verdict.AMBIGUOUS]
    if ambiguous:
        yield Section("AMBIGUOUS", "yellow", _largest_first(ambiguous))


def _largest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda one: -abs(one.difference.relative or 0)))


def lines(finding: Finding, causes: Causes) -> Iterator[Text]:
    """A case: its counts, the limit, and what caused the change."""
    one = finding.difference
    yield from report.lines(one)
    if finding.why and finding.why != one.reason.value:
        yield Text(f"     {finding.why}")
    if one.change and not report.causes(one):  # what the lines above do not tell yet
        for cause in report.wrapped(tuple(causes(one))[: report.CAUSES], " · "):
            yield Text(f"     {cause}", style="dim")


def brief(gate: Gate) -> Iterator[Text]:
    """What is held against limits, a line for each case, for a comparison that was shown."""
    for level in (Level.FAILS, Level.EDGE, Level.SOFT):
        for finding in _largest_first(gate.at(level)):
            told = f"{report.title_of(finding.key)}: {finding.why}"
            yield Text(f"{level.value}: {told}", style=_STYLES[level])
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
            parts.append(f"{failing:,} would fail the limits, and none is enforced")
    if edge:
        parts.append(f"{edge:,} at the edge of a hard limit")
    if soft:
        parts.append(f"{soft:,} above a soft limit")
    if bare:
        parts.append(f"{bare:,} not guarded")
    if gate.comparison.left_out:
        parts.append(f"{len(gate.comparison.left_out):,} left out")
    return "; ".join(parts)


def _said(gate: Gate, *, interrupted: bool) -> str:
    if interrupted:
        return "INTERRUPTED"
    if gate.fails:
        return "FAILS"
    return "PASSES" if gate.compares else "NOTHING WAS COMPARED"


def _cases(number: int) -> str:
    return f"{number:,} case{'' if number == 1 else 's'}"


LONGEST_COMMENT = 65_536
"""The characters that GitHub takes."""

_MOST_ROWS = 100
"""Of a kind; whoever wants more reads the JSON."""

_LONGEST_CELL = 300

_FRAME = 500
"""What stands around the rows of a section takes less."""


def markdown(gate: Gate, causes: Causes) -> str:
    """A comment for a pull request: the verdict, what fails, and all else folded away.

    Of each kind it has the first cases, so that it is never longer than a comment may be.
    """
    parts = [f"### {escaped(verdict(gate))}", "", escaped(report.tally(gate.comparison)), ""]
    head = (f"- {_cell(text.plain)}" for text in [*report.head(gate.comparison)][:-1])
    parts += fitting(head, LONGEST_COMMENT // 4, _MOST_ROWS)
    found = list(sections(gate))
    room = LONGEST_COMMENT - size(parts) - _FRAME * (len(found) + 1)
    for section in found:
        rows = fitting(_rows(section.findings, causes), room, _MOST_ROWS)
        room -= size(rows)
        parts += _section(section, rows)
    titles = report.left_out_titles(gate.comparison)
    fit = functools.partial(fitting, room=room, most=_MOST_ROWS)
    parts += left_out.markdown(titles, len(gate.findings), _cell, fit)
    return "\n".join(parts) + "\n"


def _section(section: Section, rows: Sequence[str]) -> list[str]:
    title = f"{section.title.capitalize()}: {len(section.findings):,}"
    more = len(section.findings) - len(rows)
    table = [
        "| case | base | new | change | noise floor | why | causes |",
        "|---|---:|---:|---:|---:|---|---|",
        *rows,
        *(["", f"… and {more:,} more"] if more else []),
    ]
    if not section.folded:
        return ["", f"#### {escaped(title)}", "", *table]
    summary = html.escape(title)
    return ["", f"<details><summary>{summary}</summary>", "", *table, "", "</details>"]


def _rows(findings: Iterable[Finding], causes: Causes) -> Iterator[str]:
    for finding in findings:
        one = finding.difference
        cells = [
            report.title_of(one.key),
            _number(one.base_count),
            _number(one.new_count),
            _change(one),
            _number(one.noise),
            report.reason_of(one) if _has_message(one) else finding.why,
            " · ".join(tuple(causes(one))[: report.CAUSES]),
        ]
        yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return escaped(clipped(text.strip(), _LONGEST_CELL))


def _has_message(one: Difference) -> bool:
    return one.verdict is Verdict.FAILED or one.reason is Reason.SKIPPED


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _change(one: Difference) -> str:
    if one.change is None:
        return ""
    return f"{one.change:+,}" + ("" if one.relative is None else f" ({one.relative:+.2%})")


# ------------------------------------------------------------------------------ the baseline


def acceptance(found: Acceptance, before: Baseline) -> Iterator[Text]:
    """What accepting changes in ``before``, case by case, with the reason."""
    kept = set(found.kept)
    for one in found.comparison.differences:
        was = before.cases.get(one.key)
        now = found.after.cases.get(one.key)
        if was == now or now is None:
            continue
        causes = before.causes(one)[: report.CAUSES]
        told = [_old_and_new(one), one.verdict.value, one.reason.value, *causes]
        if one.key in kept:
            told = [f"{now.instructions:,}", "keeps its count", "more is known of its noise"]
        elif not one.change and was is not None:
            told = [f"{now.instructions:,}", "the same count", "other layers, noise or code"]
            told += causes
        yield Text(f"  {report.title_of(one.key)}")
        for text in report.wrapped(told, " · "):
            yield Text(f"     {text}")


def _old_and_new(one: Difference) -> str:
    before = "none" if one.base_count is None else f"{one.base_count:,}"
    return f"{before} → {_number(one.new_count)} {_change(one)}".rstrip()


def baseline_table(cases: Iterable[BaselineCase]) -> Table:
    """A line for each case of a baseline."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("case", overflow="fold")
    for name in ("instr", "allocs", "noise", "layouts"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in cases:
        table.add_row(
            Text(report.title_of(one.key)),
            f"{'' if one.exact else '~'}{one.instructions:,}",
            _number(one.allocations),
            _number(one.noise_floor),
            _number(one.layouts) if one.layouts else "not known",
        )
    return table


def remark(one: Remark) -> Iterator[Text]:
    """What is doubtful, what it is about, and what to do."""
    yield Text(f"{one.doubt.what}: {len(one.about):,}", style="yellow")
    for about in one.about[:_SHOWN_BY_A_REMARK]:
        yield Text(f"  {report.title_of(about) if isinstance(about, CaseKey) else about}")
    if len(one.about) > _SHOWN_BY_A_REMARK:
        yield Text(f"  … and {len(one.about) - _SHOWN_BY_A_REMARK:,} more")
    yield Text(f"  {one.doubt.remedy}", style="dim")
