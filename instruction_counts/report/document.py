"""What a command has to say, before anyone decides how it looks.

Analysis yields values, a function of this package makes a `Document` of them, and a renderer makes
text of that. A document holds plain values, and is equal to another with the same content.

Amounts are those of one iteration, unless the heading of their column says otherwise. Cells hold
numbers as they are; how many digits are shown is decided once, by `Unit`.
"""

import enum
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import attrs


class Unit(enum.Enum):
    """What a number is, and so how every renderer writes it."""

    TEXT = "text"
    COUNT = "count"  # a whole number: 18,063
    CHANGE = "change"  # a whole number with its sign: +381; 0 is 0
    NUMBER = "number"  # any number, in three digits: 12.3
    RELATIVE = "relative"  # a fraction of a base, with its sign, as a percentage: +4.52%
    SHARE = "share"  # a fraction of a whole: 41.2%; 100.0% is all of it
    SPREAD = "spread"  # how far a count moves without a change, in its own unit: ±12
    RELATIVE_SPREAD = "relative spread"  # the same as a fraction of the value: ±3%
    SECONDS = "seconds"  # three digits and a unit: 4.71 us
    BYTES = "bytes"  # three digits and a unit: 1.5 MiB


class Role(enum.Enum):
    """What a text means. Renderers may colour it; the words say it, too."""

    PLAIN = "plain"
    STRONG = "strong"
    DIM = "dim"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"

    @classmethod
    def of_change(cls, change: float | None) -> "Role":
        """More is worse, less is better, and nothing is plain."""
        return cls.PLAIN if not change else cls.BAD if change > 0 else cls.GOOD


_Item = TypeVar("_Item")
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


def as_lines(texts: Iterable[str | Line]) -> tuple[Line, ...]:
    """Each text as a plain line."""
    return tuple(text if isinstance(text, Line) else Line(text) for text in texts)


@attrs.frozen
class Cell:
    """A value in a table."""

    value: Value
    role: Role = Role.PLAIN
    approximate: bool = False
    """Whether it is marked with ``~``."""
    remark: str = ""
    """What is said at the end of its row: ``9 → 10 allocations``."""
    link: str = ""
    """The page of a site that it leads to, from the root of the site."""


def _as_cells(values: Iterable[Value | Cell]) -> tuple[Cell, ...]:
    return tuple(value if isinstance(value, Cell) else Cell(value) for value in values)


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
    of: Callable[[Any], Value | Cell] = attrs.field(default=str, eq=False, repr=False)
    """What it holds of an item, for `table_of`."""


@attrs.frozen
class Row:
    """One row; it has a cell for each column of its table, or a value for which one is made."""

    cells: tuple[Cell, ...] = attrs.field(converter=_as_cells)
    key: str = ""
    """What names the row: the title of a case, so that it can be found again."""
    below: tuple[Line, ...] = ()
    """What is said under the row: ``why  +31 malloc (+1 call)``."""
    indent: int = 0
    """Levels by which its first cell is indented: labels form a tree."""
    role: Role = Role.PLAIN
    details: "tuple[Section, ...]" = ()
    """What unfolds below the row where there is room for it: on a page, not in a terminal."""


@attrs.frozen
class Table:
    """Rows under headings."""

    name: str
    """In CSV and JSON: ``worse``."""
    title: str
    columns: tuple[Column, ...] = attrs.field(converter=tuple[Column, ...])
    rows: tuple[Row, ...] = attrs.field(converter=tuple[Row, ...])
    role: Role = Role.STRONG
    """Of its title."""
    total: Row | None = None
    """The last row: sums. Rows that are not shown are summed up by what is missing to them."""
    remark: str = ""
    """What is said beside the title: ``verified in 3 memory layouts``."""
    shown: int | None = None
    """How many rows a screen or a comment shows; None: all. Files hold all of them."""
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
        if not hidden:
            return (*rows, self.total), 0
        rest: list[Value] = [f"… {hidden:,} more"]
        for place, whole in enumerate(self.total.cells[1:], 1):
            shown = [row.cells[place].value for row in rows]
            known = sum(value for value in shown if isinstance(value, int | float))
            rest.append(whole.value - known if isinstance(whole.value, int | float) else "")
        return (*rows, Row(rest, indent=self.total.indent), self.total), hidden

    def bars(self, rows: Sequence[Row]) -> tuple[float, ...]:
        """How long the bar of each of these rows is, from 0 to 1; rows of sums have none."""
        place = next((at for at, column in enumerate(self.columns) if column.bars), 0)
        sizes = [
            abs(value) if isinstance(value, int | float) and row.role is Role.PLAIN else 0
            for row, value in ((row, row.cells[place].value) for row in rows)
        ]
        return tuple(size / (max(sizes) or 1) for size in sizes)

    def column(self, key: str) -> tuple[Value, ...]:
        """The values of the column with that key, from the first row on."""
        place = next(at for at, column in enumerate(self.columns) if column.key == key)
        return tuple(row.cells[place].value for row in self.rows)

    def without_empty_columns(self) -> "Table":
        """The table without columns in which nothing is known, but for the first."""
        empty = {"", None}
        kept = [
            place
            for place, column in enumerate(self.columns)
            if not place or not empty.issuperset(self.column(column.key))
        ]
        rows = (attrs.evolve(row, cells=[row.cells[at] for at in kept]) for row in self.rows)
        return attrs.evolve(self, columns=[self.columns[at] for at in kept], rows=rows)


@attrs.frozen
class Block:
    """Lines under a title: a list of causes, the two codes of a case, a plot."""

    title: str
    lines: tuple[Line, ...] = attrs.field(converter=as_lines)
    role: Role = Role.STRONG
    preformatted: bool = False
    """Whether its lines are code or a drawing, which nobody may break."""


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
    level: bool = False
    """Whether it says where other points lie, and is no measurement itself."""


@attrs.frozen
class Chart:
    """A drawing for pages; texts leave it out, since tables say the same."""

    title: str
    kind: ChartKind
    series: tuple[Series, ...] = attrs.field(converter=tuple[Series, ...])
    x: str = ""
    """What an axis shows, with its unit."""
    y: str = ""
    logarithmic: bool = False
    folded: bool = False
    role: Role = Role.STRONG


def treemap(title: str, sizes: Iterable[tuple[tuple[str, ...], int]]) -> Chart:
    """Paths by their sizes; what lies above a path is as large as all that is below it."""
    totals: Counter[tuple[str, ...]] = Counter()
    for path, size in sizes:
        totals.update({("all", *path)[:length]: size for length in range(1, len(path) + 2)})
    names, parents = (tuple(" / ".join(path[:end]) for path in totals) for end in (None, -1))
    series = Series("", parents, tuple(totals.values()), names)
    return Chart(title, ChartKind.TREEMAP, (series,), folded=True)


Section: TypeAlias = Table | Block | Chart


@attrs.frozen
class CaseTest:
    """A case as a test, for JUnit."""

    suite: str
    name: str
    outcome: str = ""
    """``failure``, ``error`` or ``skipped``; empty where it passes."""
    message: str = ""
    """Why it does not pass."""
    details: str = ""
    """Text below the message; of a case that passes, what it printed."""


@attrs.frozen
class Document:
    """All that a command has to say, the answer first."""

    kind: str
    """``comparison``, ``check``, ``run``, ``explanation``, …"""
    title: str = ""
    answer: tuple[Line, ...] = attrs.field(default=(), converter=as_lines)
    """What somebody reads who reads one line: the tally, or the verdict."""
    facts: Table | None = None
    """What was measured, or compared: with two columns of values, only what differs."""
    sections: tuple[Section, ...] = attrs.field(default=(), converter=tuple[Section, ...])
    notes: tuple[Line, ...] = attrs.field(default=(), converter=as_lines)
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


def table_of(
    name: str,
    title: str,
    columns: Sequence[Column],
    items: Iterable[_Item],
    key: Callable[[_Item], str] = lambda _: "",
    indent: int = 0,
    **more: Any,
) -> Table:
    """A row for each of the items: columns say what they hold of it, and ``key`` what names it."""
    rows = (
        Row([column.of(item) for column in columns], key(item), indent=indent) for item in items
    )
    return Table(name, title, columns, rows, **more)


def records_table(names: Iterable[str], rows: Iterable[Iterable[Value]]) -> Table:
    """Rows of values as they are, for CSV."""
    return Table("records", "", (Column(name, name) for name in names), map(Row, rows))
