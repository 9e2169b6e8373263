"""Documents for a terminal, and for a pipe: lines of text with styles."""

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from instruction_counts.report.document import Block, Column, Document, Line, Role, Row, Table, Unit
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
    facts = [] if document.facts is None else _table(document.facts, width, limit)
    command = visible_line(document.next_command)
    last = [Text(f"Next: {program_name()} {command}")] if command else []
    parts = [
        [*_titled(document.title, Role.STRONG, width), *facts, *_wrapped(document.answer, width)],
        *([*_section(part, width, limit)] for part in document.texts),
        [*_wrapped(document.notes, width), *last],
    ]
    for number, part in enumerate(filter(None, parts)):
        if number:
            yield Text()
        yield from part


def _section(section: Table | Block, width: int, limit: int | None) -> Iterator[Text]:
    if isinstance(section, Table):
        yield from _table(section, width, limit)
        return
    yield from _titled(section.title, section.role, width)
    if not section.preformatted:
        yield from _wrapped(section.lines, width)
        return
    for line in section.lines:
        text = visible_line(line.text.expandtabs())
        yield Text(" " * line.indent + text, style=_STYLES[line.role])


def _titled(title: str, role: Role, width: int) -> Iterator[Text]:
    for part in _broken(visible_line(title), width) if title else []:
        yield Text(part, style=_STYLES[role])


def _wrapped(texts: Sequence[Line], width: int) -> Iterator[Text]:
    """Lines that go on below where they began; what warns stays whole, so that it can be copied."""
    for line in texts:
        text, style = visible_line(line.text), _STYLES[line.role]
        room = max(_LEAST_NAME, width - line.indent)
        if line.clipped and cell_len(text) > room:
            whole = set_cell_size(text, room - 1).rstrip()
            parts, separator, _ = whole.rpartition("; ")
            text = f"{parts}; …" if separator else f"{whole.removesuffix(';')}…"
        is_whole = line.role in {Role.WARNING, Role.BAD}
        for part in [text] if is_whole else _broken(text, room):
            yield Text(" " * line.indent + part, style=style)


def _broken(text: str, room: int) -> list[str]:
    if cell_len(text) <= room:
        return [text]
    # Words that hold wide characters can still be too long for textwrap, which counts characters.
    rough = textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False)
    return [part for line in rough for part in (chop_cells(line, room) or [""])]


def _table(table: Table, width: int, limit: int | None) -> Iterator[Text]:
    most = table.shown if limit is None or table.shown is None else limit or None
    rows, hidden = table.first(most)
    texts = [_texts(row, table.columns) for row in rows]
    widths = _widths(table.columns, texts, width)
    title = visible_line(f"{table.title}  {table.remark}".rstrip())
    # It stands in place of the first heading where that is free and there is room.
    leads = not table.columns[0].heading and not any(column.group for column in table.columns)
    spare = width - sum(widths) - _GAP * (len(widths) - 1)
    if not leads or cell_len(title) > widths[0] + spare:
        yield from _titled(title, table.role, width)
        title = ""
    widths[0] = max(widths[0], cell_len(title))
    yield from _headings(table, widths, title)
    ends = _ends(table, rows, width - sum(widths) - _GAP * len(widths))
    for row, cells, end in zip(rows, texts, ends, strict=True):
        yield from _row(row, cells, table.columns, widths, end)
        yield from _wrapped(row.below, width)
    if hidden and table.total is None:
        yield Text(f"  … {hidden:,} more: --limit 0 shows all", style="dim")


def _texts(row: Row, columns: Sequence[Column]) -> list[str]:
    cells = zip(row.cells, columns, strict=True)
    first, *others = [visible_line(written(cell, column.unit)) for cell, column in cells]
    return [" " * row.indent + first, *others]


def _widths(columns: Sequence[Column], rows: Sequence[list[str]], width: int) -> list[int]:
    """Of each column: what it needs, or for texts what is left."""
    # What stands alone in its row, as a heading, takes the whole of it.
    lines = [["", *row[1:]] if not any(row[1:]) else row for row in rows]
    headings = [column.heading for column in columns]
    needed = [max(map(cell_len, texts)) for texts in zip(headings, *lines, strict=True)]
    for group in dict.fromkeys(column.group for column in columns if column.group):
        places = [place for place, column in enumerate(columns) if column.group == group]
        together = sum(needed[place] for place in places) + _GAP * (len(places) - 1)
        needed[places[-1]] += max(0, cell_len(group) - together)
    texts = [place for place, column in enumerate(columns) if column.unit is Unit.TEXT]
    over = sum(needed) + _GAP * (len(columns) - 1) - width
    for _ in range(over if texts else 0):
        # The widest gives way, down to what can be read.
        spare = {at: needed[at] - (_LEAST_TEXT if at else _LEAST_NAME) for at in texts}
        widest = max(texts, key=lambda at: spare[at])
        needed[widest] -= spare[widest] > 0
    return needed


def _headings(table: Table, widths: Sequence[int], title: str) -> Iterator[Text]:
    columns = table.columns
    groups, end = "", -_GAP
    for name, members in itertools.groupby(
        zip(columns, widths, strict=True), key=lambda pair: pair[0].group
    ):
        # Each stands at the right of its columns.
        end += sum(_GAP + width for _, width in members)
        groups += f"{visible_line(name):>{end - cell_len(groups)}}" if name else ""
    if groups:
        yield Text(groups, style="bold")
    names = [visible_line(column.heading) for column in columns]
    styles = ["dim"] * len(names)
    if title:
        names[0], styles[0] = title, _STYLES[table.role]
    if any(names):
        yield _joined(names, columns, widths, styles)


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
    row: Row, texts: list[str], columns: Sequence[Column], widths: Sequence[int], end: Text
) -> Iterator[Text]:
    """A row; a name that is too long stands alone above its figures, so that it can be copied."""
    styles = [_STYLES[row.role if cell.role is Role.PLAIN else cell.role] for cell in row.cells]
    first, *others = texts
    if cell_len(first) > widths[0] and any(others):
        yield Text(first, style=styles[0])
        first = ""
    folded = [
        _broken(text, width) if column.unit is Unit.TEXT else [text]
        for text, column, width in zip(others, columns[1:], widths[1:], strict=True)
    ]
    for number, parts in enumerate(itertools.zip_longest([first], *folded, fillvalue="")):
        line = _joined(parts, columns, widths, styles)
        if not number and end:
            line.pad_right(sum(widths) + _GAP * len(widths) - line.cell_len)
            line.append_text(end)
            line.rstrip()
        yield line


def _ends(table: Table, rows: Sequence[Row], room: int) -> Iterator[Text]:
    """What stands behind each row: a bar, as long as its value is large, and its remark.

    There is no bar where there is no room for it.
    """
    remarks = [
        visible_line(" ".join(cell.remark for cell in row.cells if cell.remark)) for row in rows
    ]
    taken = max((1 + cell_len(text) for text in remarks if text), default=0)
    longest = min(_LONGEST_BAR, room - taken)
    if longest < _SHORTEST_BAR or not any(column.bars for column in table.columns):
        yield from (Text(remark, style="dim") for remark in remarks)
        return
    (place,) = (at for at, column in enumerate(table.columns) if column.bars)
    for row, size, remark in zip(rows, table.bars(rows), remarks, strict=True):
        bar = "█" * (max(1, round(longest * size)) if size else 0)
        text = Text(f"{bar:<{longest}}", style=_STYLES[row.cells[place].role])
        yield text.append(f" {remark}", "dim") if remark else text


class TerminalConsole(Console):
    """A console that obeys nothing that stands in a label, a message or a name."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is written: control characters of the texts are made visible, rich's own stay."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else visible(segment.text)
            yield segment._replace(text=text)
