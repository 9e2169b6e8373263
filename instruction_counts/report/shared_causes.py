"""Causes that several cases share: each once, with its cases and the range of their change."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
from rich.text import Text

from instruction_counts.analysis.verdicts.shared_causes import (
    CauseGroup,
    SharedCause,
    SharedCauses,
)
from instruction_counts.domain.causes import CauseKind
from instruction_counts.report import causes
from instruction_counts.report import comparison as report

TITLE = "Causes of several cases"

NAMED = 3
"""So many cases of a cause are named where not all are."""


_WIDTH = 72
"""Of a line after the number of its group."""


@attrs.frozen
class GroupTexts:
    """A group as people read it."""

    causes: tuple[str, ...]
    change: str
    """``-1,350 in each of 30 cases``, ``+40 to +120 in 12 cases``."""
    cases: tuple[str, ...]
    """The first titles."""
    more: str
    """``and 18 more``; empty where all cases are named."""


def texts(group: CauseGroup, named: int = NAMED) -> GroupTexts:
    """The texts of a group, with the titles of its first cases; 0 is all of them."""
    titles = tuple(
        report.title_of(difference.key) for difference in group.differences[: named or None]
    )
    left = len(group.differences) - len(titles)
    each = "each of " if group.least == group.most else ""
    return GroupTexts(
        tuple(map(_cause, group.causes)),
        f"{_span(group.least, group.most)} in {each}{len(group.differences):,} cases",
        titles,
        f"and {left:,} more" if left else "",
    )


def lines(shared: SharedCauses, limit: int) -> Iterator[Text]:
    """The groups for a terminal: at most ``limit``, and of each the first cases; 0 shows all."""
    groups = shared.groups[: limit or None]
    if groups:
        yield Text(TITLE.upper(), style="bold")
    for number, group in enumerate(groups, 1):
        found = texts(group, NAMED if limit else 0)
        first = f"  {number}  "
        for text in report.wrapped(found.causes, " · ", _WIDTH):
            yield Text(f"{first}{text}")
            first = " " * len(first)
        yield Text(f"     {found.change}")
        for case in found.cases:
            yield Text(f"       {case}", style="dim")
        if found.more:
            yield Text(f"       {found.more} (--limit 0 shows all)", style="dim")
    left = len(shared.groups) - len(groups)
    if left:
        yield Text(f"  … and {left:,} more (--limit 0 shows all)")


def as_json(shared: SharedCauses) -> list[dict[str, Any]]:
    """Each cause with its cases: what it changed in each, and the instructions of the case."""
    return [
        {
            "group": number,
            "kind": cause.causes[0].kind.value,
            "name": cause.causes[0].name,
            "place": cause.causes[0].place,
            "unit": cause.causes[0].kind.unit.value,
            "least": _number(cause.least),
            "most": _number(cause.most),
            "cases": [
                {
                    **difference.key.as_values,
                    "base": _number(mine.base),
                    "new": _number(mine.new),
                    "change": _number(mine.change),
                    "instructions": difference.change,
                }
                for difference, mine in zip(group.differences, cause.causes, strict=True)
            ],
        }
        for number, group in enumerate(shared.groups, 1)
        for cause in group.causes
    ]


def _cause(shared: SharedCause) -> str:
    different = set(causes.texts(shared.causes))
    if len(different) == 1:
        return different.pop()
    title, span = causes.title(shared.causes[0]), _span(shared.least, shared.most)
    if shared.causes[0].kind is CauseKind.PYTHON:
        return f"{title}  {span} bytecodes"
    return f"{span} {title}"


def _span(least: Fraction | int, most: Fraction | int) -> str:
    """``+40 to +120``, ``-40 to -120``, or ``+40``."""
    ends = [round(least), round(most)]
    if ends[1] <= 0:
        ends.reverse()
    return " to ".join(f"{end:+,}" if end else "0" for end in dict.fromkeys(ends))


def _number(amount: Fraction | None) -> int | float | None:
    if amount is None:
        return None
    return amount.numerator if amount.denominator == 1 else float(amount)
