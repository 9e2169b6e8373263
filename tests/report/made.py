"""Parts of documents."""

from __future__ import annotations

from instruction_counts.report.document import Document, Table


def table_of(document: Document, name: str) -> Table:
    """The table of that name."""
    return next(table for table in document.tables if table.name == name)
