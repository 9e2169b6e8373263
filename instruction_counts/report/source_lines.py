"""The lines of functions that changed: side by side where there is room, else one below another."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Sequence

import attrs
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from instruction_counts.domain.source_lines import SourceChange, SourceLines
from instruction_counts.report.visible import visible

NONE_CHANGED = "No Python function was edited, entered or left: there are no lines to show."

_SIDE_BY_SIDE = 100
"""From so many columns on, both sides fit beside each other."""
_CONTEXT = 3
_MOST_LINES = 40
"""Of a function that one side alone has."""
_REMOVED, _ADDED, _GAP = "-", "+", "…"


@attrs.frozen
class Row:
    """A line of base and the one of new beside it, each with its number."""

    base: tuple[int, str] | None
    new: tuple[int, str] | None
    changed: bool = False


def title(change: SourceChange) -> str:
    """``torch/nn/modules/linear.py Linear.forward``."""
    return f"{change.file} {change.name}"


def rows(change: SourceChange) -> Iterator[Row | None]:
    """The lines that changed and some around them; None stands for lines that are left out.

    Of a function that one side alone has, they are its first lines.
    """
    base, new = (_numbered(side) for side in (change.base, change.new))
    if not base or not new:
        whole = base or new
        for line in whole[:_MOST_LINES]:
            yield Row(line if base else None, None if base else line)
        if len(whole) > _MOST_LINES:
            yield None
        return
    old_texts, new_texts = ([text for _, text in side] for side in (base, new))
    matcher = difflib.SequenceMatcher(None, old_texts, new_texts, autojunk=False)
    groups = matcher.get_grouped_opcodes(_CONTEXT)
    for number, group in enumerate(groups):
        if number:
            yield None
        for tag, start, end, new_start, new_end in group:
            old, now = base[start:end], new[new_start:new_end]
            for place in range(max(len(old), len(now))):
                yield Row(_at(old, place), _at(now, place), tag != "equal")


def unified(change: SourceChange) -> Iterator[str]:
    """The same as lines: ``-`` before those of base, ``+`` before those of new."""
    pending: list[str] = []
    for row in rows(change):
        if row is None or not row.changed:
            yield from pending
            pending = []
        if row is None:
            yield f"  {_GAP}"
        elif not row.changed:
            yield f"  {_line(row.new or row.base)}"
        else:
            if row.base is not None:
                yield f"{_REMOVED} {_line(row.base)}"
            if row.new is not None:
                pending.append(f"{_ADDED} {_line(row.new)}")
    yield from pending


def renderables(changes: Sequence[SourceChange], width: int) -> Iterator[RenderableType]:
    """What rich prints."""
    if not changes:
        yield from (Text(), Text(NONE_CHANGED))
    for change in changes:
        yield Text()
        yield Text(title(change), style="bold")
        yield from (Padding(Text(remark), (0, 0, 0, 2)) for remark in change.remarks)
        both = change.base is not None and change.new is not None
        if both and width >= _SIDE_BY_SIDE:
            yield _table(change, width)
        else:
            for line in unified(change):
                yield Padding(Text(line, style=_STYLES.get(line[0], "")), (0, 0, 0, 2))


_STYLES = {_REMOVED: "red", _ADDED: "green"}


def _table(change: SourceChange, width: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=True, width=width)
    for name in ("base", "new"):
        table.add_column(Text(f"  {name}", style="bold"), ratio=1, overflow="fold")
    for row in rows(change):
        if row is None:
            table.add_row(f"  {_GAP}", f"  {_GAP}")
        else:
            sides = ((row.base, _REMOVED), (row.new, _ADDED))
            table.add_row(*(_cell(line, sign, row) for line, sign in sides))
    return table


def _cell(line: tuple[int, str] | None, sign: str, row: Row) -> Text:
    if line is None:
        return Text()
    if not row.changed:
        return Text(f"  {_line(line)}")
    return Text(f"{sign} {_line(line)}", style=_STYLES[sign])


def _numbered(side: SourceLines | None) -> list[tuple[int, str]]:
    if side is None:
        return []
    text = visible(textwrap.dedent("\n".join(side.lines)).expandtabs())
    lines = text.split("\n")
    return list(enumerate(lines, side.first))


def _at(lines: Sequence[tuple[int, str]], place: int) -> tuple[int, str] | None:
    return lines[place] if place < len(lines) else None


def _line(line: tuple[int, str] | None) -> str:
    assert line is not None, "asked of lines that are there"
    number, text = line
    return f"{number:>4} {text.rstrip()}"
