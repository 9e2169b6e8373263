"""A comparison for people: the verdicts first, each with its reason, then what caused it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from rich.padding import Padding
from rich.text import Text

from core.types import CaseKey
from instruction_counts.analysis.models import Models
from instruction_counts.analysis.verdicts.changes import TimeChange
from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.shared_causes import SharedCauses
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.report import causes, skipped_by_budget
from instruction_counts.report import format as fmt
from instruction_counts.system.program import program_name


@attrs.frozen
class Section:
    """Cases that are shown together."""

    title: str
    explanation: str
    style: str
    differences: tuple[Difference, ...]


_STYLES = {
    Verdict.WORSE: "red",
    Verdict.BETTER: "green",
    Verdict.AMBIGUOUS: "yellow",
    Verdict.INCOMPARABLE: "magenta",
    Verdict.FAILED: "red",
    Verdict.NEW: "cyan",
    Verdict.MISSING: "cyan",
}


def sections(comparison: Comparison) -> Iterator[Section]:
    """The differences to show, the worst first; in a section the largest relative change first."""
    differing = [
        difference
        for difference in comparison.differences
        if difference.reason is Reason.OUTPUT_DIFFERS
    ]
    if differing:
        explanation = "the builds compute different values"
        yield Section("OUTPUT DIFFERS", explanation, "bold red", tuple(differing))
    for verdict, style in _STYLES.items():
        mine = [
            difference
            for difference in comparison.differences
            if difference.verdict is verdict and difference.reason is not Reason.OUTPUT_DIFFERS
        ]
        if mine:
            mine.sort(key=lambda difference: -abs(difference.relative or 0))
            title = verdict.value.upper()
            yield Section(title, _how_sure(mine), style, tuple(mine))
    changed = [
        difference
        for difference in comparison.differences
        if difference.verdict is Verdict.SAME and difference.metrics
    ]
    if changed:
        explanation = "the instructions stay the same"
        yield Section("OTHER METRICS CHANGED", explanation, "yellow", tuple(changed))


def _how_sure(differences: Sequence[Difference]) -> str:
    counted = sum(difference.layouts is not None for difference in differences)
    others = sum(difference.verified for difference in differences) - counted
    if differences[0].verdict not in {Verdict.WORSE, Verdict.BETTER, Verdict.AMBIGUOUS}:
        return ""
    parts = []
    if counted:
        which = "" if counted == len(differences) else f"{counted} of {len(differences)} "
        parts.append(f"{which}verified in {_layouts(differences)}")
    if others:
        which = "" if others == len(differences) else f"{others} of {len(differences)} "
        parts.append(f"{which}certain: other code is executed")
    return ", ".join(parts) or "not verified"


def _layouts(differences: Sequence[Difference]) -> str:
    found = [difference.layouts for difference in differences]
    numbers = sorted({len(layouts.new) for layouts in found if layouts is not None})
    number = " or ".join(map(str, numbers))
    return f"{number} memory layout{'' if numbers == [1] else 's'}"


def head(comparison: Comparison) -> Iterator[Text]:
    """Who is compared, what else differs between them, and how many cases have which verdict."""
    for role, side in (("base", comparison.base), ("new ", comparison.new)):
        yield Text(f"{role}  {side_text(side, role.strip())}")
    unexpected = [
        disagreement for disagreement in comparison.disagreements if not disagreement.expected
    ]
    for disagreement in unexpected:
        prevented = "  counts cannot be compared" if disagreement.prevents else ""
        style = "bold red" if disagreement.prevents else "yellow"
        yield Text(f"  differs: {disagreement.text}{prevented}", style=style)
    yield Text(tally(comparison), style="bold")


def side_text(side: Side, role: str) -> str:
    """The build of a side; ``role`` is not repeated where it is its title."""
    facts = side.fingerprint
    commit = f" ({facts.torch_git[:10]})" if facts.torch_git else ""
    title = "" if side.title == role else f"{side.title} · "
    doubt = changed_files(side)
    said = f" · {doubt}" if doubt else ""
    return f"{title}torch {facts.torch}{commit} · Python {facts.python}{said}"


def changed_files(side: Side) -> str:
    """What makes the counts of a side doubtful: they may be of other code. Mostly empty."""
    changed = side.changed_files
    return "" if changed is None else f"files changed during the run: {changed.summary}"


def tally(comparison: Comparison) -> str:
    """``250 cases: 231 same · 12 better · 4 worse``."""
    counts = comparison.tally
    parts = [f"{counts[verdict]:,} {verdict.value}" for verdict in Verdict if counts[verdict]]
    return f"{len(comparison.differences):,} cases: {' · '.join(parts) or 'nothing to compare'}"


def skipped_titles(comparison: Comparison) -> dict[str, str]:
    """The titles of the cases that a time budget skipped, each with the budget."""
    return {title_of(key): budget for key, budget in comparison.skipped_by_budget.items()}


def skipped_sentence(comparison: Comparison) -> str:
    """How many cases were left out, and why; empty where none was."""
    return skipped_by_budget.sentence(skipped_titles(comparison), len(comparison.differences))


def lines(
    difference: Difference,
    models: Models | None = None,
    shared: SharedCauses = causes.NOTHING_SHARED,
) -> Iterator[Text]:
    """A case: its title, its counts with their change, its impact on models, its causes.

    ``models`` are those of base.
    """
    yield from figures_lines(difference, models)
    yield from cause_lines(difference, shared)


def cause_lines(
    difference: Difference, shared: SharedCauses = causes.NOTHING_SHARED
) -> Iterator[Text]:
    """What caused a change."""
    for text in wrapped(causes.of_case(difference, shared), " · "):
        yield Text(f"     {text}", style="dim")


def figures_lines(difference: Difference, models: Models | None = None) -> Iterator[Text]:
    """The same without causes."""
    yield Text(f"  {title_of(difference.key)}")
    for figures in wrapped(_figures(difference), "   "):
        yield Text(f"     {figures}")
    for metric in metric_texts(difference):
        yield Text(f"     {metric}")
    if difference.output is not None and (
        difference.output.differs or difference.reason is Reason.OUTPUT_DIFFERS
    ):
        yield Text(f"     output: {difference.output.text}")
    for impact in wrapped(model_impacts(difference, models), " · "):
        yield Text(f"     {impact}")


def indented(text: Text) -> Padding:
    """A line whose continuations begin where it begins itself."""
    indent = len(text.plain) - len(text.plain.lstrip())
    return Padding(text[indent:], (0, 0, 0, indent), expand=False)


def title_of(key: CaseKey) -> str:
    """The case as people read it."""
    return key.title


def _figures(difference: Difference) -> tuple[str, ...]:
    parts = []
    if (
        difference.base_count is not None
        and difference.new_count is not None
        and difference.change is not None
    ):
        parts.append(f"{difference.base_count:,} → {difference.new_count:,}")
        parts.append(change_text(difference))
    if difference.verdict in {Verdict.FAILED, Verdict.INCOMPARABLE, Verdict.NEW, Verdict.MISSING}:
        parts.append(reason_of(difference))
    elif difference.reason not in {Reason.EXACT_DIFFERENCE, Reason.BEYOND_LAYOUTS}:
        parts.append(difference.reason.value)
    if difference.noise:
        parts.append(f"noise floor {noise_text(difference)}")
    time = difference.time
    if time is not None:
        parts.append(time_of(time))
    return tuple(parts)


def metric_texts(difference: Difference) -> Iterator[str]:
    """What changed beside instructions: ``leaked bytes: 0 → 64 (worse)``."""
    for change in difference.metrics:
        before, after = (change.metric.text(amount) for amount in (change.base, change.new))
        yield f"{change.metric.title}: {before} → {after} ({change.verdict})"


def noise_text(difference: Difference) -> str:
    """``13 (layouts)``: the noise floor, and where it comes from; empty where none was used."""
    if difference.noise_origin is None:
        return ""
    return f"{difference.noise:,} ({difference.noise_origin.value})" if difference.noise else "0"


def number_text(number: int | None) -> str:
    """``1,000``; empty where it is not known."""
    return "" if number is None else f"{number:,}"


def change_text(difference: Difference) -> str:
    """``+200 (+20.00%)``; empty where a side has no count."""
    if difference.change is None:
        return ""
    return f"{difference.change:+,}" + (
        "" if difference.relative is None else f" ({difference.relative:+.2%})"
    )


def reason_of(difference: Difference) -> str:
    """The reason, with the message of a failure."""
    failures = [
        record.outcome.failure
        for record in (difference.new, difference.base)
        if record is not None and record.outcome.failure is not None
    ]
    message = f": {failures[0].summary}" if failures else ""
    return difference.reason.value + message


def time_of(change: TimeChange) -> str:
    """The medians, and their change if it is significant."""
    sure = f"{change.ratio - 1:+.0%}" if change.significant else "not significant"
    return f"time {fmt.duration(change.base_s)} → {fmt.duration(change.new_s)} ({sure})"


def model_impacts(difference: Difference, models: Models | None) -> tuple[str, ...]:
    """What the change is to each model that uses the layer: ``+3.0% of ResNet (17 calls)``."""
    if models is None:
        return ()
    return tuple(impact.text for impact in models.impacts(difference.base, difference.change))


def wrapped(parts: Sequence[str], separator: str, width: int = 74) -> Iterator[str]:
    """``parts`` in lines of at most ``width``; no part is broken."""
    line = ""
    for part in parts:
        longer = f"{line}{separator}{part}" if line else part
        if line and len(longer) > width:
            yield line
            longer = part
        line = longer
    if line:
        yield line


def last_line(comparison: Comparison) -> str:
    """What is said of all the cases that have no line."""
    least = comparison.min_effect
    unverified = [
        difference
        for difference in comparison.differences
        if difference.verdict in {Verdict.WORSE, Verdict.BETTER} and not difference.verified
    ]
    text = (
        f"Nothing else moved by more than its noise floor, or by {least.relative:.2%} and "
        f"{least.absolute} instructions."
    )
    if unverified:
        text += (
            "\nNot verified: a difference may be memory layout. To verify, measure both builds: "
            f"{program_name()} compare base new --build base=PYTHON --build new=PYTHON"
        )
    return text
