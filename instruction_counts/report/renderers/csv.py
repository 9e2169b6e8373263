"""Documents as CSV: one line for each record, with numbers as they are."""

from __future__ import annotations

import csv

from instruction_counts.report.document import Document


class _Lines:
    """The lines that a writer writes, which end in a line feed.

    The writer itself ends them in CRLF, for before Python 3.13 it quotes a cell with a carriage
    return only if lines end in one.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def write(self, line: str) -> None:
        self._lines.append(line.removesuffix("\r\n"))

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


def render(document: Document) -> str:
    """The records of the document; where it has none, its first table."""
    table = document.records or next(iter(document.tables), document.facts)
    lines = _Lines()
    if table is not None:
        writer = csv.writer(lines, lineterminator="\r\n")
        writer.writerow([column.key for column in table.columns])
        writer.writerows([cell.value for cell in row.cells] for row in table.rows)
    return str(lines)
