"""The operators without an entry: a table for people, Markdown, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from instruction_counts.report.renderers.markdown import escaped
from instruction_counts.sources.operators.coverage import Coverage, total

LEGEND = (
    "calls: how often torch's own Python calls something of that name. Objects of any",
    "class may have such a method, so for methods it is an upper limit.",
    "covered: with an entry of that name, or of a function with the same native name,",
    "as torch.add covers Tensor.add.",
)


def table(categories: Sequence[Coverage], limit: int | None) -> Table:
    """What is not covered by category, ``limit`` of each at most, and a line for all."""
    found = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    found.add_column("not covered", overflow="fold")
    for heading in ("calls", "covered", "by calls"):
        found.add_column(heading, justify="right", no_wrap=True)
    for category in categories:
        found.add_row(*_sums(category), style="bold")
        for operator in category.uncovered[:limit]:
            found.add_row(Text(f"  {operator.entry_name}"), f"{operator.uses:,}")
        rest = () if limit is None else category.uncovered[limit:]
        if rest:
            calls = sum(operator.uses for operator in rest)
            found.add_row(f"  … and {len(rest)} more", f"{calls:,}", style="dim")
    found.add_section()
    found.add_row(*_sums(total(categories)), style="bold")
    return found


def _sums(coverage: Coverage) -> tuple[str, str, str, str]:
    return (
        coverage.category,
        f"{coverage.calls:,}",
        f"{coverage.covered:,}/{coverage.public:,}",
        share(coverage.covered_calls, coverage.calls),
    )


def share(part: int, whole: int) -> str:
    """``97.9%``; a dash where nothing is called. 100.0% is everything, and nothing less."""
    if not whole:
        return "–"
    return f"{100 * part / whole if part == whole else min(99.9, 100 * part / whole):.1f}%"


def summary(everything: Coverage) -> str:
    """All of it in one sentence."""
    return (
        f"Covered {everything.covered:,} of {everything.public:,} operators "
        f"({len(everything.named):,} by name, {len(everything.shared):,} by function), "
        f"{share(everything.covered_calls, everything.calls)} by calls"
    )


def markdown(categories: Sequence[Coverage], build: str) -> str:
    """Everything that is not covered, as a Markdown file."""
    return "\n".join(_markdown_lines(categories, build)) + "\n"


def _markdown_lines(categories: Sequence[Coverage], build: str) -> Iterator[str]:
    everything = total(categories)
    yield from (f"# Public operators without an entry: build {escaped(build)}", "")
    yield from (f"{summary(everything)}.", "")
    yield from LEGEND
    yield from ("", "| category | calls | covered | by calls |", "|---|---:|---:|---:|")
    for category in (*categories, everything):
        yield f"| {' | '.join(map(escaped, _sums(category)))} |"
    for category in categories:
        if category.uncovered:
            yield from ("", f"## {escaped(category.category)}", "")
            yield from ("| operator | native name | calls |", "|---|---|---:|")
        for operator in category.uncovered:
            native = escaped(operator.native or "–")
            yield f"| <code>{escaped(operator.entry_name)}</code> | {native} | {operator.uses:,} |"


def as_json(categories: Sequence[Coverage], build: str) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "build": build,
        **_numbers(total(categories)),
        "categories": [
            {
                "category": category.category,
                **_numbers(category),
                "uncovered": [
                    {"name": below.entry_name, "native": below.native, "calls": below.uses}
                    for below in category.uncovered
                ],
            }
            for category in categories
        ],
    }


def _numbers(coverage: Coverage) -> dict[str, int]:
    return {
        "public": coverage.public,
        "covered": coverage.covered,
        "covered_by_name": len(coverage.named),
        "covered_by_function": len(coverage.shared),
        "calls": coverage.calls,
        "covered_calls": coverage.covered_calls,
    }
