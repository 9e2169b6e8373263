"""The lines of functions that changed: ``-`` before those of base, ``+`` before those of new."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Sequence

from instruction_counts.domain.executed import SourceChange, SourceLines
from instruction_counts.report.document import Block, Line, Role

NONE_CHANGED = "No Python function was edited, entered or left: there are no lines to show."

_CONTEXT = 3
_MOST_LINES = 40
"""Of a function that one side alone has."""


def blocks(changes: Sequence[SourceChange]) -> Iterator[Block]:
    """A block for each function: what is to be known of its lines, then the lines."""
    if not changes:
        yield Block("", [NONE_CHANGED])
    for change in changes:
        remarks = (Line(remark, Role.WARNING, 2) for remark in change.remarks)
        title = f"{change.file} {change.name}"
        yield Block(title, [*remarks, *_lines(change)], preformatted=True)


def _lines(change: SourceChange) -> Iterator[Line]:
    """The lines that changed and some around them; of a function that one side has, its first."""
    base, new = (_numbered(side) for side in (change.base, change.new))
    if not base or not new:
        whole = base or new
        yield from (_line(" ", line) for line in whole[:_MOST_LINES])
        if len(whole) > _MOST_LINES:
            yield Line("…", indent=4)
        return
    old_texts, new_texts = ([text for _, text in side] for side in (base, new))
    matcher = difflib.SequenceMatcher(None, old_texts, new_texts, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT)):
        if number:
            yield Line("…", indent=4)
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from (_line(" ", line) for line in new[new_start:new_end])
                continue
            yield from (_line("-", line, Role.BAD) for line in base[start:end])
            yield from (_line("+", line, Role.GOOD) for line in new[new_start:new_end])


def _line(sign: str, line: tuple[int, str], role: Role = Role.PLAIN) -> Line:
    number, text = line
    return Line(f"{sign} {number:>4} {text.rstrip()}", role, 2)


def _numbered(side: SourceLines | None) -> list[tuple[int, str]]:
    if side is None:
        return []
    lines = textwrap.dedent("\n".join(side.lines)).expandtabs().split("\n")
    return list(enumerate(lines, side.first))
