"""Documents for a terminal, and for a pipe: lines of text with styles."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence

import attrs
from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from instruction_counts.report.document import (
    Block,
    Column,
    Document,
    Line,
    Role,
    Row,
    Table,
    Unit,
)
from instruction_counts.report.format import written
from instruction_counts.report.visible import visible, visible_line
from instruction_counts.system.program import program_name

_STYLES = {
    Role.PLAIN: "",
    Role.STRONG: "bold",
    Role.DIM: "dim",
    Role.GOOD: "green",
    Role.BAD: "red",
    Role.WARNING: "yellow",
}
_GAP = 2
"""Columns are apart by so much."""
_LEAST_NAME, _LEAST_TEXT = 24, 12
"""The first column, and another with texts, are not made narrower."""
_LONGEST_BAR, _SHORTEST_BAR = 16, 4
_FILE_WIDTH = 100


def render(document: Document, width: int = _FILE_WIDTH, limit: int | None = 0) -> str:
    """The document as plain text, with all rows."""
    return "".join(f"{line.plain}\n" for line in lines(document, width, limit))


def lines(document: Document, width: int, limit: int | None = None) -> Iterator[Text]:
    """The document, line by line.

    ``limit`` is how many rows of each table are shown that would not be shown as a whole; 0 shows
    all, and None as many as the table says.
    """
    above = False
    for part in _parts(document, width, limit):
        if above:
            yield Text()
        yield from part
        above = True


def _parts(document: Document, width: int, limit: int | None) -> Iterator[list[Text]]:
    """What is apart by an empty line."""
    title = [Line(document.title, Role.STRONG)] if document.title else []
    facts = [] if document.facts is None else list(_table(document.facts, width, limit))
    head = [
        *_wrapped(title, width),
        *facts,
        *_wrapped(document.answer, width),
    ]
    last = list(_wrapped(document.notes, width))
    if document.next_command:
        last.append(Text(f"Next: {program_name()} {visible_line(document.next_command)}"))
    parts = [head, *(list(_section(part, width, limit)) for part in document.texts), last]
    yield from filter(None, parts)


def _section(section: Table | Block, width: int, limit: int | None) -> Iterator[Text]:
    if isinstance(section, Table):
        yield from _table(section, width, limit)
        return
    yield from _block(section, width)


def _block(block: Block, width: int) -> Iterator[Text]:
    if block.title:
        yield from _wrapped([Line(block.title, block.role)], width)
    if not block.preformatted:
        yield from _wrapped(block.lines, width)
        return
    for line in block.lines:
        text = visible_line(line.text.expandtabs())
        yield Text(" " * line.indent + text, style=_STYLES[line.role])


def _wrapped(texts: Sequence[Line], width: int) -> Iterator[Text]:
    """Lines that go on below where they began; what warns stays whole, so that it can be copied."""
    for line in texts:
        text, style = visible_line(line.text), _STYLES[line.role]
        room = max(_LEAST_NAME, width - line.indent)
        if line.clipped and cell_len(text) > room:
            text = _clipped(text, room)
        is_whole = line.role in {Role.WARNING, Role.BAD}
        for part in [text] if is_whole else _broken(text, room):
            yield Text(" " * line.indent + part, style=style)


def _clipped(text: str, room: int) -> str:
    """As many parts as there is room for, or the beginning of the first."""
    whole = set_cell_size(text, room - 1).rstrip()
    parts, separator, _ = whole.rpartition("; ")
    return f"{parts}; …" if separator else f"{whole}…"


def _broken(text: str, room: int) -> list[str]:
    if cell_len(text) <= room:
        return [text]
    # Words that hold wide characters can still be too long for textwrap, which counts characters.
    rough = textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False)
    return [part for line in rough for part in (chop_cells(line, room) or [""])]


# -------------------------------------------------------------------------------------- tables


@attrs.frozen
class _Shown:
    """A row as texts."""

    cells: tuple[str, ...]
    remark: str
    row: Row


def _table(table: Table, width: int, limit: int | None) -> Iterator[Text]:
    rows, hidden = table.first(
        table.shown if limit is None or table.shown is None else limit or None
    )
    shown = [_shown(row, table.columns) for row in rows]
    widths = _widths(table.columns, shown, width)
    spare = width - sum(widths) - _GAP * (len(widths) - 1)
    if _may_lead(table) and cell_len(_title(table)) <= widths[0] + spare:
        widths[0] = max(widths[0], cell_len(_title(table)))
    yield from _headings(table, widths, width)
    bars = _bars(table, shown, width - sum(widths) - _GAP * len(widths))
    for row, bar in zip(shown, bars, strict=True):
        yield from _row(row, table.columns, widths, bar)
        yield from _wrapped(row.row.below, width)
    if hidden and table.total is None:
        more = f": {table.more}" if table.more else ""
        yield Text(f"  … {hidden:,} more{visible_line(more)}", style="dim")


def _shown(row: Row, columns: Sequence[Column]) -> _Shown:
    texts = [
        visible_line(written(cell, column.unit))
        for cell, column in zip(row.cells, columns, strict=True)
    ]
    texts[0] = " " * row.indent + texts[0]
    remarks = [visible_line(cell.remark) for cell in row.cells if cell.remark]
    return _Shown(tuple(texts), " ".join(remarks), row)


def _widths(columns: Sequence[Column], rows: Sequence[_Shown], width: int) -> list[int]:
    """Of each column: what it needs, or for texts what is left."""
    needed = [
        max(
            [
                cell_len(column.heading),
                # What stands alone in its row, as a heading, takes the whole of it.
                *(cell_len(row.cells[place]) for row in rows if place or any(row.cells[1:])),
            ]
        )
        for place, column in enumerate(columns)
    ]
    for group in dict.fromkeys(column.group for column in columns if column.group):
        places = [place for place, column in enumerate(columns) if column.group == group]
        together = sum(needed[place] for place in places) + _GAP * (len(places) - 1)
        needed[places[-1]] += max(0, cell_len(group) - together)
    texts = [place for place, column in enumerate(columns) if column.unit is Unit.TEXT]
    over = sum(needed) + _GAP * (len(columns) - 1) - width
    while over > 0:
        # The widest gives way, down to what can be read.
        spare = {
            place: needed[place] - (_LEAST_NAME if place == 0 else _LEAST_TEXT) for place in texts
        }
        place = max(spare, key=lambda found: spare[found], default=None)
        if place is None or spare[place] <= 0:
            break
        needed[place] -= 1
        over -= 1
    return needed


def _headings(table: Table, widths: Sequence[int], width: int) -> Iterator[Text]:
    """The title, in the row of the headings where it fits there."""
    columns = table.columns
    title = _title(table)
    fits = _may_lead(table) and cell_len(title) <= widths[0]
    if title and not fits:
        yield from _wrapped([Line(title, table.role)], width)
    if any(column.group for column in columns):
        yield Text(_groups(columns, widths), style="bold")
    names = [visible_line(column.heading) for column in columns]
    styles = ["dim"] * len(names)
    if fits:
        names[0], styles[0] = title, _STYLES[table.role]
    if any(names):
        yield _joined(names, columns, widths, styles)


def _may_lead(table: Table) -> bool:
    """Whether the title can stand in place of the first heading."""
    return not table.columns[0].heading and not any(column.group for column in table.columns)


def _title(table: Table) -> str:
    return visible_line(f"{table.title}  {table.remark}".rstrip())


def _groups(columns: Sequence[Column], widths: Sequence[int]) -> str:
    """The names of groups, each at the right of its columns."""
    text, end = "", -_GAP
    for name, members in itertools.groupby(
        zip(columns, widths, strict=True), key=lambda pair: pair[0].group
    ):
        end += sum(_GAP + width for _, width in members)
        text += f"{visible_line(name):>{end - cell_len(text)}}" if name else ""
    return text


def _joined(
    texts: Sequence[str], columns: Sequence[Column], widths: Sequence[int], styles: Sequence[str]
) -> Text:
    line = Text()
    for place, (text, column, width) in enumerate(zip(texts, columns, widths, strict=True)):
        gap = " " * max(0, width - cell_len(text))
        line.append(" " * _GAP if place else "")
        line.append(f"{text}{gap}" if column.unit is Unit.TEXT else f"{gap}{text}", styles[place])
    line.rstrip()
    return line


def _row(
    shown: _Shown, columns: Sequence[Column], widths: Sequence[int], bar: Text
) -> Iterator[Text]:
    """A row; a name that is too long stands alone above its figures, so that it can be copied."""
    cells = shown.row.cells
    roles = [shown.row.role if cell.role is Role.PLAIN else cell.role for cell in cells]
    styles = [_STYLES[role] for role in roles]
    first, *others = shown.cells
    if cell_len(first) > widths[0] and any(others):
        yield Text(first, style=styles[0])
        first = ""
    folded = [
        _broken(text, width) if column.unit is Unit.TEXT else [text]
        for text, column, width in zip(others, columns[1:], widths[1:], strict=True)
    ]
    for number, texts in enumerate(itertools.zip_longest([first], *folded, fillvalue="")):
        line = _joined(texts, columns, widths, styles)
        if not number and (bar or shown.remark):
            line.pad_right(sum(widths) + _GAP * len(widths) - line.cell_len)
            line.append_text(bar)
            line.append(f" {shown.remark}" if bar else shown.remark, "dim")
            line.rstrip()
        yield line


def _bars(table: Table, shown: Sequence[_Shown], room: int) -> list[Text]:
    """A bar for each row, as long as its value is large; empty where there is no room."""
    place = next((at for at, column in enumerate(table.columns) if column.bars), None)
    remarks = max((1 + cell_len(row.remark) for row in shown if row.remark), default=0)
    longest = min(_LONGEST_BAR, room - remarks)
    if place is None or longest < _SHORTEST_BAR:
        return [Text() for _ in shown]
    cells = [row.row.cells[place] for row in shown]
    sizes = [
        0
        if row.row is table.total
        or row.row.role is Role.STRONG  # another sum
        or not isinstance(cell.value, int | float)
        else abs(cell.value)
        for row, cell in zip(shown, cells, strict=True)
    ]
    largest = max(sizes, default=0)
    bars = ["█" * (max(1, round(longest * size / largest)) if size else 0) for size in sizes]
    return [
        Text(f"{bar:<{longest if remarks else 0}}", style=_STYLES[cell.role])
        for bar, cell in zip(bars, cells, strict=True)
    ]


# ------------------------------------------------------------------------------------- consoles


class TerminalConsole(Console):
    """A console that obeys nothing that stands in a label, a message or a name."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is written: control characters of the texts are made visible, rich's own stay."""
        for segment in super().render(renderable, options):
            text = visible(segment.text)
            if segment.control or text == segment.text:
                yield segment
            else:
                yield Segment(text, segment.style)
