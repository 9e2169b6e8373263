"""Documents as Markdown, for files, comments and pull requests.

All text from outside is shown as it is: no formatting, HTML, links, mentions or second line.
"""

import html
import re
from collections.abc import Iterable, Iterator

import attrs

from instruction_counts.report.document import Block, Document, Table, Unit
from instruction_counts.report.format import written
from instruction_counts.report.visible import visible
from instruction_counts.system.program import program_name

LONGEST_COMMENT = 65_000
"""GitHub takes 65,536 characters; a workflow may add a link."""

_LINKED = re.compile(r"[@#]|:(?=//)|www(?=\.)|gh-(?=\d)", re.IGNORECASE)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is.

    GitHub makes links of addresses, of @names and of issue numbers, and tells who is named, however
    that is escaped. What it looks for is broken by a comment, which is not shown.
    """
    plain = html.escape(visible(" ".join(text.split())), quote=False)
    plain = re.sub(r"([\\`*_{}\[\]|~!])", r"\\\1", plain)
    return _LINKED.sub(r"\g<0><!-- -->", plain)


_ROWS = (100, 75, 50, 35, 25, 15, 10, 6, 4, 2, 1, 0)
"""Of each table or block of a comment: the first with which it is taken."""
_CELL, _LINE = 300, 1000
"""Characters of a cell, and of a note, of a comment; before text from outside is escaped."""


def render(document: Document) -> str:
    """The answer first, then what was compared and what was found; what is folded can be opened."""
    text = ""
    for rows in (None,) if document.longest is None else _ROWS:
        text = _rendered(document, rows)
        if document.longest is None or len(text) <= document.longest:
            break
    return text


def _rendered(document: Document, most: int | None) -> str:
    parts = []
    if document.title:
        parts.append([f"### {escaped(document.title)}"])
    if document.answer:
        first, *others = [escaped(line.text) for line in document.answer]
        parts.append([f"**{first}**", *others])
    if document.facts is not None:
        parts.append([*_table(document.facts, None)])
    parts += [[*_section(section, most)] for section in document.texts]
    if document.notes:
        texts = [
            escaped(_clipped(line.text, document.longest and _LINE)) for line in document.notes
        ]
        parts.append([f"- {text}" for text in texts])
    if document.next_command:
        command = escaped(f"{program_name()} {document.next_command}")
        parts.append([f"Next: <code>{command}</code>"])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _section(section: Table | Block, most: int | None) -> Iterator[str]:
    if isinstance(section, Block):
        yield from _block(section, most)
    elif section.folded:
        remark = f" ({section.remark})" if section.remark else ""
        summary = escaped(f"{section.title}: {len(section.rows):,}{remark}")
        yield from (f"<details><summary>{summary}</summary>", "")
        yield from (*_table(section, most), "", "</details>")
    else:
        yield from _table(section, most)


def _block(block: Block, most: int | None) -> Iterator[str]:
    if block.title:
        yield from (f"**{escaped(block.title)}**", "")
    lines = block.lines[:most]
    if block.preformatted:
        texts = [visible(line.text) for line in lines]
        # A fence that no line ends.
        ticks = max(map(len, re.findall("`+", "\n".join(texts))), default=0)
        fence = "`" * max(3, ticks + 1)
        yield from (fence, *texts, fence)
    else:
        yield from (f"- {escaped(line.text)}" for line in lines)
    if len(lines) < len(block.lines):
        yield from ("", f"… and {len(block.lines) - len(lines):,} more")


def _table(table: Table, most: int | None) -> Iterator[str]:
    """The title stands in place of the first heading, if it is not that of a folded part."""
    headings = [f"{column.group} {column.heading}".strip() for column in table.columns]
    title = "" if table.folded else f"{table.title} {table.remark}".strip()
    if title and headings[0]:
        yield from (f"**{escaped(title)}**", "")
    elif title:
        headings[0] = title
    alignment = ["---" if column.unit is Unit.TEXT else "---:" for column in table.columns]
    # There is a last column where there is more to say of a row than its cells do.
    has_remarks = any(row.below or any(cell.remark for cell in row.cells) for row in table.rows)
    if has_remarks:
        headings.append("")
        alignment.append("---")
    yield from (_row(headings), f"| {' | '.join(alignment)} |")
    # A row without a key and figures is a heading within the table, which the keys below repeat.
    kept = [row for row in table.rows if row.key or any(cell.value != "" for cell in row.cells[1:])]
    rows, hidden = attrs.evolve(table, rows=kept).first(most)
    for row in rows:
        cells = zip(row.cells, table.columns, strict=True)
        first, *others = [written(cell, column.unit) for cell, column in cells]
        texts = [row.key or first, *others]
        if has_remarks:
            remarks = [cell.remark for cell in row.cells if cell.remark]
            texts.append("; ".join([*remarks, *(line.text for line in row.below)]))
        yield _row(_clipped(text, None if most is None else _CELL) for text in texts)
    if hidden and table.total is None:
        yield from ("", f"… and {hidden:,} more")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(escaped(cell.strip()) for cell in cells)} |"


def _clipped(text: str, length: int | None) -> str:
    return text if length is None or len(text) <= length else f"{text[: length - 1]}…"
