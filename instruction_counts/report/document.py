"""What a command has to say, before anyone decides how it looks.

Analysis yields values, a function of this package makes a `Document` of them, and a renderer makes
text of that for a terminal, Markdown, JSON, CSV or JUnit. A document holds plain values: it reads
nothing, measures nothing, and is equal to another with the same content.

Amounts are those of one iteration, unless the heading of their column says otherwise. Cells hold
numbers as they are; how many digits are shown is decided once, by `Unit`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import attrs


class Unit(enum.Enum):
    """What a number is, and so how every renderer writes it."""

    TEXT = "text"
    COUNT = "count"
    """A whole number: ``18,063``."""
    CHANGE = "change"
    """A whole number with its sign: ``+381``; 0 is ``0``."""
    NUMBER = "number"
    """Any number, in three digits: ``12.3``."""
    RELATIVE = "relative"
    """A fraction of a base, with its sign, as a percentage: ``+4.52%``."""
    SHARE = "share"
    """A fraction of a whole, as a percentage: ``41.2%``; ``100.0%`` is all of it."""
    SPREAD = "spread"
    """How far a count moves without a change, in its own unit: ``±12``."""
    RELATIVE_SPREAD = "relative spread"
    """The same as a fraction of the value: ``±3%``."""
    SECONDS = "seconds"
    """Three digits and a unit: ``4.71 us``."""
    BYTES = "bytes"
    """Three digits and a unit: ``1.5 MiB``."""


class Role(enum.Enum):
    """What a text means. Renderers may colour it; the words say it, too."""

    PLAIN = "plain"
    STRONG = "strong"
    DIM = "dim"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"


Value: TypeAlias = str | int | float | None
"""What a cell holds; None is shown as a dash, and the empty text as nothing."""


@attrs.frozen
class Line:
    """One line of text; renderers break it where it is too long, unless it is a warning."""

    text: str
    role: Role = Role.PLAIN
    indent: int = 0
    clipped: bool = False
    """Whether a terminal shows no more of it than a line holds."""


@attrs.frozen
class Cell:
    """A value in a table."""

    value: Value
    role: Role = Role.PLAIN
    approximate: bool = False
    """Whether it is marked with ``~``."""
    remark: str = ""
    """What is said at the end of its row: ``9 → 10 allocations``."""


@attrs.frozen
class Column:
    """What a column holds."""

    key: str
    """Its name in CSV and JSON."""
    heading: str
    unit: Unit = Unit.TEXT
    group: str = ""
    """What stands above the headings of neighbours that belong together: ``Python``."""
    bars: bool = False
    """Whether a terminal shows a bar beside each value, as long as the value is large."""


@attrs.frozen
class Row:
    """One row; it has a cell for each column of its table."""

    cells: tuple[Cell, ...]
    key: str = ""
    """What names the row: the title of a case, so that it can be found again."""
    below: tuple[Line, ...] = ()
    """What is said under the row: ``why  +31 malloc (+1 call)``."""
    indent: int = 0
    """Levels by which its first cell is indented: labels form a tree."""
    role: Role = Role.PLAIN
    details: tuple[Section, ...] = ()
    """What unfolds below the row where there is room for it: on a page, not in a terminal."""


@attrs.frozen
class Table:
    """Rows under headings."""

    name: str
    """In CSV and JSON: ``worse``."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    role: Role = Role.STRONG
    """Of its title."""
    total: Row | None = None
    """The last row: sums. Rows that are not shown are summed up by what is missing to them."""
    remark: str = ""
    """What is said beside the title: ``verified in 3 memory layouts``."""
    shown: int | None = None
    """How many rows a screen or a comment shows; None: all. Files hold all of them."""
    more: str = ""
    """How to see the others: ``compare last --limit 0``."""
    folded: bool = False
    """Whether Markdown and pages fold it away until it is asked for."""

    def first(self, most: int | None) -> tuple[tuple[Row, ...], int]:
        """The first rows and the number of the others; None: all of them.

        Where the table has a row of sums, it comes last, below one for what the others add up to.
        """
        rows = self.rows if most is None else self.rows[:most]
        hidden = len(self.rows) - len(rows)
        if self.total is None:
            return rows, hidden
        return (*rows, *([self._rest(rows, hidden)] if hidden else []), self.total), hidden

    def _rest(self, shown: tuple[Row, ...], hidden: int) -> Row:
        assert self.total is not None, "asked of tables with sums alone"
        cells = [Cell(f"… {hidden:,} more")]
        for place, total in enumerate(self.total.cells[1:], 1):
            numbers = [row.cells[place].value for row in shown]
            known = sum(number for number in numbers if isinstance(number, int | float))
            whole = total.value
            cells.append(Cell(whole - known if isinstance(whole, int | float) else ""))
        return Row(tuple(cells), indent=self.total.indent)

    def column(self, key: str) -> tuple[Value, ...]:
        """The values of the column with that key, from the first row on."""
        place = next(at for at, column in enumerate(self.columns) if column.key == key)
        return tuple(row.cells[place].value for row in self.rows)


@attrs.frozen
class Block:
    """Lines under a title: a list of causes, the two codes of a case, a plot."""

    title: str
    lines: tuple[Line, ...]
    role: Role = Role.STRONG
    preformatted: bool = False
    """Whether its lines are code or a drawing, which nobody may break."""
    folded: bool = False


class ChartKind(enum.Enum):
    """How a chart is drawn."""

    POINTS = "points"
    LINES = "lines"
    TREEMAP = "treemap"
    """Of each series alone: labels as nodes, ``x`` their parents' labels, ``y`` their sizes."""


@attrs.frozen
class Series:
    """Points of one colour."""

    name: str
    x: tuple[Value, ...]
    y: tuple[int | float, ...]
    labels: tuple[str, ...]
    """What each point is called."""


@attrs.frozen
class Chart:
    """A drawing for pages; texts leave it out, since tables say the same."""

    title: str
    kind: ChartKind
    series: tuple[Series, ...]
    x: str = ""
    """What an axis shows, with its unit."""
    y: str = ""
    logarithmic: bool = False
    folded: bool = False
    role: Role = Role.STRONG


Section: TypeAlias = Table | Block | Chart


@attrs.frozen
class CaseTest:
    """A case as a test, for JUnit."""

    suite: str
    name: str
    duration_s: float = 0.0
    failure: str = ""
    """Why it fails; empty where it passes."""
    error: str = ""
    """Why there is no result; empty where there is one."""
    skipped: str = ""
    details: str = ""
    """Text below the message; of a case that passes, what it printed."""


@attrs.frozen
class Document:
    """All that a command has to say, the answer first."""

    kind: str
    """``comparison``, ``check``, ``run``, ``explanation``, …"""
    title: str = ""
    answer: tuple[Line, ...] = ()
    """What somebody reads who reads one line: the tally, or the verdict."""
    facts: Table | None = None
    """What was measured, or compared: with two columns of values, only what differs."""
    sections: tuple[Section, ...] = ()
    notes: tuple[Line, ...] = ()
    """What to know before the numbers are believed."""
    next_command: str = ""
    """What to type next, without the name of the program: ``explain last 'MatMul/mm'``."""
    longest: int | None = None
    """So many characters of Markdown at most: what a comment takes. None: as many as it needs."""
    data: Any = None
    """What JSON holds: plain values, more than any screen shows. None: the tables."""
    records: Table | None = None
    """What CSV holds: each record with all of its figures. None: the first table."""
    tests: tuple[CaseTest, ...] | None = None
    """What JUnit holds; None where nothing is tested."""
    profiles: Mapping[str, Any] | None = None
    """Flame graphs, as a file of speedscope's format; None where there are no stacks."""

    @property
    def texts(self) -> tuple[Table | Block, ...]:
        """The sections that can be written, without charts."""
        return tuple(section for section in self.sections if not isinstance(section, Chart))

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables among the sections."""
        return tuple(section for section in self.sections if isinstance(section, Table))

    def table(self, name: str) -> Table:
        """The table of that name.

        Raises:
            KeyError: there is none.
        """
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(name)


def records_table(name: str, names: Iterable[str], rows: Iterable[Iterable[Value]]) -> Table:
    """Rows of values as they are, for CSV."""
    columns = tuple(Column(column, column) for column in names)
    return Table(name, "", columns, tuple(Row(tuple(map(Cell, row))) for row in rows))
