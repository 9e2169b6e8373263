"""Tables and whole runs as Markdown."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table


def empty_table() -> Table:
    """A table to fill, that `table_lines` makes Markdown of."""
    return Table(box=box.MARKDOWN, pad_edge=True)


def table_lines(table: Table) -> list[str]:
    """The lines of a table, as wide as they need to be."""
    stream = io.StringIO()
    console = Console(file=stream, width=10_000, color_system=None, legacy_windows=False)
    console.print(table)
    return [line.strip() for line in stream.getvalue().strip().splitlines()]
