"""Documents as CSV: one line for each record, with numbers as they are."""

import csv

from instruction_counts.report.document import Document
from instruction_counts.report.renderers.json import plain


class _Lines(list[str]):
    def write(self, line: str) -> None:
        self.append(line)


def render(document: Document) -> str:
    """The records of the document; where it has none, its first table."""
    table = document.records or next(iter(document.tables), document.facts)
    lines = _Lines()
    if table is not None:
        # Before Python 3.13 a cell with a carriage return is quoted only if lines end in one.
        writer = csv.writer(lines, lineterminator="\r\n")
        writer.writerow([column.key for column in table.columns])
        writer.writerows(plain([cell.value for cell in row.cells]) for row in table.rows)
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)
