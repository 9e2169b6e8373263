"""Documents as Markdown, for files, comments and pull requests.

All text from outside is shown as it is: no formatting, HTML, links, mentions or second line.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Iterator

import attrs

from instruction_counts.report.document import Block, Document, Table, Unit
from instruction_counts.report.format import written
from instruction_counts.report.visible import visible
from instruction_counts.system.program import program_name

LONGEST_COMMENT = 65_536
"""The characters that GitHub takes."""

_MOST_ROWS = 100
"""Of a table in a comment."""
_LONGEST_CELL, _LONGEST_LINE = 300, 1000
"""In a comment, before text from outside is escaped."""
_REST = 40
"""Characters that the line about what is left out takes at most."""

_LINKED = re.compile(r"[@#]|:(?=//)|www(?=\.)|gh-(?=\d)", re.IGNORECASE)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is.

    GitHub makes links of addresses, of @names and of issue numbers, and tells who is named, however
    that is escaped. What it looks for is broken by a comment, which is not shown.
    """
    plain = html.escape(visible(" ".join(text.split())), quote=False)
    plain = re.sub(r"([\\`*_{}\[\]|~!])", r"\\\1", plain)
    return _LINKED.sub(r"\g<0><!-- -->", plain)


@attrs.frozen
class _Part:
    """Lines between which as many others stand as there is room for."""

    before: tuple[str, ...]
    body: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    table: Table | None = None
    """What the body has the rows of."""

    def lines(self, room: int | None) -> list[str]:
        """The first of them in ``room``, and what is said of the others; None: all."""
        kept = self.body if room is None else _fitting(self.body, room - _REST, _MOST_ROWS)
        left = len(self.body) - len(kept)
        rest: tuple[str, ...] = ()
        if self.table is not None and self.table.total is not None:
            rest = _rows(self.table, _LONGEST_CELL, len(kept))[len(kept) :]
        elif left:
            rest = (*([] if self.table is None else [""]), f"… and {left:,} more")
        return [*self.before, *kept, *rest, *self.after, ""]


def render(document: Document) -> str:
    """The answer first, then what was compared and what was found; what is folded can be opened."""
    parts = list(_parts(document))
    if document.longest is None:
        lines = [line for part in parts for line in part.lines(None)]
        return "\n".join(lines[:-1]) + "\n"
    room = document.longest - sum(_size(part.lines(0)) for part in parts)
    found: list[str] = []
    for part in parts:
        least = part.lines(0)
        lines = part.lines(room)
        room -= _size(lines) - _size(least)
        found += lines
    return "\n".join(found[:-1]) + "\n"


def _parts(document: Document) -> Iterator[_Part]:
    title = [f"### {escaped(document.title)}"] if document.title else []
    first, *others = [escaped(line.text) for line in document.answer] or [""]
    answer = [f"**{first}**", *others] if first else []
    for lines in (title, answer):
        if lines:
            yield _Part(tuple(lines))
    if document.facts is not None:
        facts = _table(document.facts, document.longest)
        yield _Part((*facts.before, *facts.body))
    for section in document.texts:
        yield _section(section, document.longest)
    if document.notes:
        most = None if document.longest is None else _LONGEST_LINE
        yield _Part(tuple(f"- {escaped(_clipped(line.text, most))}" for line in document.notes))
    if document.next_command:
        yield _Part((f"Next: {_code(f'{program_name()} {document.next_command}')}",))


def _section(section: Table | Block, longest: int | None) -> _Part:
    part = _block(section) if isinstance(section, Block) else _table(section, longest)
    if not section.folded:
        return part
    number = f": {len(section.rows):,}" if isinstance(section, Table) else ""
    remark = f" ({section.remark})" if isinstance(section, Table) and section.remark else ""
    summary = escaped(f"{section.title}{number}{remark}")
    before = (f"<details><summary>{summary}</summary>", "", *part.before)
    return attrs.evolve(part, before=before, after=(*part.after, "", "</details>"))


def _block(block: Block) -> _Part:
    head = () if block.folded or not block.title else (f"**{escaped(block.title)}**", "")
    if block.preformatted:
        fence, lines = _fenced([line.text for line in block.lines])
        return _Part((*head, fence), tuple(lines), (fence,))
    return _Part(head, tuple(f"- {escaped(line.text)}" for line in block.lines))


def _fenced(lines: list[str]) -> tuple[str, list[str]]:
    """A fence that no line ends, and the lines."""
    shown = [visible(line) for line in lines]
    ticks = max(map(len, re.findall("`+", "\n".join(shown))), default=0)
    return "`" * max(3, ticks + 1), shown


def _code(text: str) -> str:
    return f"<code>{escaped(text)}</code>"


def _table(table: Table, longest: int | None) -> _Part:
    """The title stands in place of the first heading, if it is not that of a folded part."""
    headings = [f"{column.group} {column.heading}".strip() for column in table.columns]
    title = "" if table.folded else f"{table.title} {table.remark}".strip()
    before: tuple[str, ...] = ()
    if title and headings[0]:
        before = (f"**{escaped(title)}**", "")
    elif title:
        headings[0] = title
    alignment = ["---" if column.unit is Unit.TEXT else "---:" for column in table.columns]
    if _has_remarks(table):
        headings.append("")
        alignment.append("---")
    rows = _rows(table, None if longest is None else _LONGEST_CELL)
    return _Part((*before, _row(headings), f"| {' | '.join(alignment)} |"), rows, table=table)


def _rows(table: Table, most: int | None, shown: int | None = None) -> tuple[str, ...]:
    """All rows; or the first ``shown`` of them, what the others add up to, and the sums."""
    rows = table.rows if shown is None else table.first(shown)[0]
    lines = []
    for row in rows:
        if not row.key and all(cell.value == "" for cell in row.cells[1:]):
            continue  # a heading within the table, which the keys below repeat
        cells = zip(row.cells, table.columns, strict=True)
        texts = [written(cell, column.unit) for cell, column in cells]
        texts[0] = row.key or texts[0]
        if _has_remarks(table):
            remarks = [cell.remark for cell in row.cells if cell.remark]
            texts.append("; ".join([*remarks, *(line.text for line in row.below)]))
        lines.append(_row(texts, most))
    return tuple(lines)


def _has_remarks(table: Table) -> bool:
    """Whether there is more to say of a row than its cells do."""
    return any(row.below or any(cell.remark for cell in row.cells) for row in table.rows)


def _row(cells: Iterable[str], most: int | None = None) -> str:
    return f"| {' | '.join(escaped(_clipped(cell.strip(), most)) for cell in cells)} |"


def _clipped(text: str, length: int | None) -> str:
    return text if length is None or len(text) <= length else f"{text[: length - 1]}…"


def _fitting(lines: Iterable[str], room: int, most: int) -> list[str]:
    """The first of ``lines``: ``most`` at most, and together ``room`` characters."""
    kept = []
    for line in itertools.islice(lines, most):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)
