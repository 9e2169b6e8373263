"""Markdown, for files, comments and pull requests. All text from outside is shown as it is."""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from instruction_counts.analysis.attribution.causes import inlinings
from instruction_counts.analysis.attribution.function_changes import FunctionChange, Share
from instruction_counts.analysis.models import Models
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.shared_causes import SharedCauses, shared_causes
from instruction_counts.domain.records import Run
from instruction_counts.domain.source_lines import SourceChange
from instruction_counts.gate.gate import Finding
from instruction_counts.report import (
    causes,
    explain,
    gate,
    operators,
    skipped_by_budget,
    source_lines,
    table,
)
from instruction_counts.report import comparison as shared
from instruction_counts.report import format as fmt
from instruction_counts.report import shared_causes as shared_causes_report
from instruction_counts.report.document import Document, Line
from instruction_counts.report.executed import Block
from instruction_counts.report.formats.entry import (
    CheckReport,
    ComparisonReport,
    Format,
)
from instruction_counts.report.markdown import clipped, escaped, fitting, size
from instruction_counts.report.renderers.markdown import render as rendered

LONGEST_COMMENT = 65_536
"""The characters that GitHub takes."""

_MOST_ROWS = 100
"""Of a kind; the JSON has all."""

_MOST_CAUSES = 20
"""Of those that cases share, in a comment."""

_LONGEST_CELL = 300

_FRAME = 500
"""What stands around the rows of a section takes less."""


def _row(cells: Iterable[str]) -> str:
    """A line of a table; ``cells`` are escaped already."""
    return f"| {' | '.join(cells)} |"


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{html.escape(title)}</summary>", "")
    yield from lines
    yield from ("", "</details>")


def _skipped_by_budget(
    titles: Mapping[str, str], measured: int, fit: skipped_by_budget.Fit = list
) -> Iterator[str]:
    """What a time budget skipped, folded away; as many lines as ``fit``."""
    if not titles:
        return
    shown = fit(f"- {_cell(title)}" for title in titles)
    more = len(titles) - len(shown)
    rest = [f"- … and {more:,} more"] if more else []
    yield from _folded(skipped_by_budget.sentence(titles, measured), [*shown, *rest])


# Runs


def run(shown: Run) -> str:
    """Tables for people: all cases, and the metrics of operators where there are any."""
    parts = [_results(shown), _operators(shown)]
    return "\n".join(f"{part}\n" for part in parts if part)


def _results(shown: Run) -> str:
    languages, columns = table.languages(shown), table.metric_columns(shown)
    names = ("instr", *(column.heading or column.title for column in columns), "time", "IQR")
    figures = [f"{language.value} {name}" for language in languages for name in names]
    lines = [_row(["benchmark", *figures]), _row(["---", *["---:"] * len(figures)])]
    for row in table.rows(shown):
        name = " · ".join(filter(None, (" / ".join(row.label), row.mode)))
        cells = [
            cell.plain for language in languages for cell in table.cells(row, language, columns)
        ]
        lines.append(_row(map(escaped, [name, *cells])))
    head = [
        f"**{escaped(name)}**: {escaped(f'{build.torch}, {build.cpu}')}"
        for name, build in shown.builds.items()
    ]
    remarks = [f"- {escaped(text)}" for text in (*table.problems(shown), *table.notes(shown))]
    measured, budgets = table.skipped(shown)
    skipped = _skipped_by_budget(budgets, measured)
    return "\n".join([*head, "", *lines, "", table.LEGEND, "", *remarks, *skipped]).rstrip()


def _operators(shown: Run) -> str:
    found = operators.measured(shown)
    if not found.rows:
        return ""
    notes = [Line(text) for text in (operators.LEGEND, operators.machine_line(shown.machine))]
    return rendered(Document("operators", sections=(found,), notes=tuple(notes)))


# Comparisons


def comparison(report: ComparisonReport) -> str:
    """The verdict first, a table of what got worse, the rest folded away."""
    found = report.comparison
    texts = [f"**{shared.tally(found)}**", ""]
    for role, side in (("base", found.base), ("new", found.new)):
        texts.append(f"- {role}: {escaped(shared.side_text(side, role))}")
    texts += [
        f"- differs: {escaped(disagreement.text)}"
        for disagreement in found.disagreements
        if not disagreement.expected
    ]
    shared_by_cases = shared_causes(found.differences)
    texts += _causes(shared_by_cases, "###")
    models = Models(found.base.records.values())
    for section in shared.sections(found):
        note = f" ({section.explanation})" if section.explanation else ""
        body = _changes(section.differences, models, shared_by_cases)
        if section.title in {"WORSE", "OUTPUT DIFFERS", "OTHER METRICS CHANGED"}:
            texts += ["", f"### {section.title.capitalize()}{note}", "", *body]
        else:
            title = f"{section.title.capitalize()}: {len(section.differences)}{note}"
            texts += _folded(title, body)
    texts += _skipped_by_budget(shared.skipped_titles(found), len(found.differences))
    return "\n".join([*texts, "", shared.last_line(found)]) + "\n"


def _causes(found: SharedCauses, heading: str, fit: skipped_by_budget.Fit = list) -> Iterator[str]:
    """What several cases share; as many rows as ``fit``."""
    if not found.groups:
        return
    rows = fit(
        _row(_cell(text) for text in _group(number, shared_causes_report.texts(group)))
        for number, group in enumerate(found.groups, 1)
    )
    yield from ("", f"{heading} {shared_causes_report.TITLE}", "")
    yield "| | cause | change | cases |"
    yield "|---:|---|---|---|"
    yield from rows
    left = len(found.groups) - len(rows)
    if left:
        yield from ("", f"… and {left:,} more")


def _group(number: int, group: shared_causes_report.GroupTexts) -> Iterator[str]:
    more = (group.more,) if group.more else ()
    yield from (str(number), " · ".join(group.causes), group.change)
    yield "; ".join([*group.cases, *more])


def _changes(
    differences: Sequence[Difference], models: Models, shared_by_cases: SharedCauses
) -> Iterator[str]:
    yield "| case | base | new | change | reason | causes |"
    yield "|---|---:|---:|---:|---|---|"
    for difference in differences:
        differs = difference.output is not None and difference.reason is Reason.OUTPUT_DIFFERS
        output = f": {difference.output.text}" if difference.output is not None and differs else ""
        impacts = shared.model_impacts(difference, models)
        cells = [
            shared.title_of(difference.key),
            shared.number_text(difference.base_count),
            shared.number_text(difference.new_count),
            shared.change_text(difference),
            "; ".join([shared.reason_of(difference) + output, *shared.metric_texts(difference)]),
            " · ".join([*impacts, *causes.of_case(difference, shared_by_cases)]),
        ]
        yield _row(map(escaped, cells))


# Checks


def check(report: CheckReport) -> str:
    """A comment for a pull request: the verdict, what fails, and all else folded away.

    Of each kind it has the first cases, so that it is never longer than a comment may be.
    """
    found = report.gate
    parts = [f"### {escaped(gate.verdict(found))}", "", escaped(shared.tally(found.comparison)), ""]
    head = (f"- {_cell(text.plain)}" for text in [*shared.head(found.comparison)][:-1])
    parts += fitting(head, LONGEST_COMMENT // 4, _MOST_ROWS)
    shared_by_cases = shared_causes(found.comparison.differences)
    few = functools.partial(fitting, room=LONGEST_COMMENT // 4, most=_MOST_CAUSES)
    parts += _causes(shared_by_cases, "####", few)
    sections = list(gate.sections(found))
    room = LONGEST_COMMENT - size(parts) - _FRAME * (len(sections) + 1)
    for section in sections:
        rows = fitting(_findings(section.findings, shared_by_cases), room, _MOST_ROWS)
        room -= size(rows)
        parts += _section(section, rows)
    fit = functools.partial(fitting, room=room, most=_MOST_ROWS)
    titles = shared.skipped_titles(found.comparison)
    parts += _skipped_by_budget(titles, len(found.findings), fit)
    return "\n".join(parts) + "\n"


def _section(section: gate.FindingSection, rows: Sequence[str]) -> list[str]:
    title = f"{section.title.capitalize()}: {len(section.findings):,}"
    more = len(section.findings) - len(rows)
    lines = [
        "| case | base | new | change | noise floor | why | causes |",
        "|---|---:|---:|---:|---:|---|---|",
        *rows,
        *(["", f"… and {more:,} more"] if more else []),
    ]
    if section.folded:
        return list(_folded(title, lines))
    return ["", f"#### {escaped(title)}", "", *lines]


def _findings(findings: Iterable[Finding], shared_by_cases: SharedCauses) -> Iterator[str]:
    for finding in findings:
        difference = finding.difference
        has_message = difference.verdict is Verdict.FAILED or difference.reason is Reason.SKIPPED
        cells = [
            shared.title_of(difference.key),
            shared.number_text(difference.base_count),
            shared.number_text(difference.new_count),
            shared.change_text(difference),
            shared.noise_text(difference),
            shared.reason_of(difference) if has_message else finding.why,
            " · ".join(causes.of_case(difference, shared_by_cases)),
        ]
        yield _row(map(_cell, cells))


def _cell(text: str) -> str:
    return escaped(clipped(text.strip(), _LONGEST_CELL))


# Explanations


def explanation(report: explain.Report) -> str:
    """What the terminal shows, without callers."""
    found = report.explanation
    counts = " → ".join(fmt.count(count) for count in found.counts)
    title = f"**{escaped(shared.title_of(found.key))}**: {counts}; change: {explain.change(found)}"
    blocks: list[Iterable[str]] = [
        [title],
        [f"- {escaped(remark)}" for remark in explain.remarks_on(found)],
        *(_executed(block) for block in explain.executed_blocks(report)),
        *(_source(change) for change in report.sources or ()),
        _shares("layer", found.difference.by_layer()),
        _shares("library", found.difference.by_library()),
        _functions(found.difference.changed, report.limit),
        [f"- {escaped(explain.move_text(move))}" for move in inlinings(found.difference)],
    ]
    return "\n\n".join("\n".join(lines) for lines in map(list, blocks) if lines) + "\n"


def _executed(block: Block) -> Iterator[str]:
    yield f"**{escaped(block.heading)}**" if block.lines else escaped(block.heading)
    if block.lines:
        yield ""
    for line in block.lines:
        yield f"- {escaped(line)}"


def _source(change: SourceChange) -> Iterator[str]:
    yield f"**{escaped(source_lines.title(change))}**"
    yield ""
    for remark in change.remarks:
        yield f"- {escaped(remark)}"
    yield ""
    yield from _fenced(list(source_lines.unified(change)), "diff")


def _fenced(lines: Sequence[str], language: str) -> Iterator[str]:
    """Text that no line in it can end."""
    ticks = max(map(len, re.findall("`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, ticks + 1)
    yield from (f"{fence}{language}", *lines, fence)


def _shares(heading: str, shares: Sequence[Share]) -> Iterator[str]:
    yield f"| {heading} | base | new | change |"
    yield "|---|--:|--:|--:|"
    for share in shares:
        yield _row([escaped(share.title), *_amounts(share.base, share.new)])
    yield _row(["**sum**", *_amounts(*explain.sums(shares))])


def _functions(changed: Sequence[FunctionChange], limit: int) -> Iterator[str]:
    if not changed:
        yield explain.NO_FUNCTION_CHANGED
        return
    kept = changed[:limit] if limit else changed
    yield "| function | layer | base | new | change | calls |"
    yield "|---|---|--:|--:|--:|--:|"
    for function in kept:
        calls = explain.calls_text(function.base_calls, function.new_calls)
        name = f"<code>{escaped(function.key.name)}</code>"
        yield _row([name, function.key.layer.value, *_amounts(function.base, function.new), calls])
    rest = changed[len(kept) :]
    if rest:
        yield _row([f"… and {len(rest)} more", "", *_amounts(*explain.sums(rest)), ""])
    yield _row(["**sum**", "", *_amounts(*explain.sums(changed)), ""])


def _amounts(base: Fraction | None, new: Fraction | None) -> list[str]:
    return [cell.plain for cell in explain.numbers(base, new)]


FORMAT = Format(
    "markdown",
    (".md",),
    {
        Run: run,
        ComparisonReport: comparison,
        CheckReport: check,
        explain.Report: explanation,
    },
)
