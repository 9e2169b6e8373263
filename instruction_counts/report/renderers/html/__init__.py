"""Documents as one HTML file each: from disk, without a server, a network, or a second file.

What a document holds is text, and stays text: Jinja2 escapes all of it, and what scripts read is
JSON in which nothing ends a script. plotly draws charts and flame graphs; its script is part of the
file only where there are some.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from instruction_counts.report.document import Block, Cell, Chart, Column, Document, Section, Table
from instruction_counts.report.format import written
from instruction_counts.report.renderers.html import flame
from instruction_counts.report.visible import visible, visible_line
from instruction_counts.system.program import program_name


def render(document: Document) -> str:
    """The page: the answer first; tables that filter, sort and unfold; charts and flame graphs."""
    graph = flame.tree(document.profiles)
    drawings = [section for section in _all_sections(document.sections) if _is_chart(section)]
    page: str = _template().render(
        document=document,
        title=document.title or document.kind.capitalize(),
        program=program_name(),
        flame=graph,
        plotly=_plotly() if graph or drawings else "",
    )
    return page


def _all_sections(sections: Sequence[Section]) -> Iterator[Section]:
    """Those of rows that unfold included."""
    for section in sections:
        yield section
        if isinstance(section, Table):
            for row in section.rows:
                yield from _all_sections(row.details)


def _plotly() -> str:
    # Imported here: it takes a second, and most commands write no page.
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    return str(get_plotlyjs())


def _is_table(section: Section) -> bool:
    return isinstance(section, Table)


def _is_block(section: Section) -> bool:
    return isinstance(section, Block)


def _is_chart(section: Section) -> bool:
    return isinstance(section, Chart)


def _sort_key(cell: Cell) -> str:
    """By what a column is sorted: the number itself, however it is written."""
    return "" if cell.value is None else str(cell.value)


def _cell(cell: Cell, column: Column) -> str:
    return visible_line(written(cell, column.unit))


def _is_number(column: Column) -> bool:
    return column.unit.value != "text"


@attrs.frozen
class _Group:
    """Neighbouring columns that belong together."""

    name: str
    number: int


def _groups(columns: Sequence[Column]) -> list[_Group]:
    together = itertools.groupby(columns, key=lambda column: column.group)
    return [_Group(name, len(list(members))) for name, members in together]


def _bar(table: Table, cell: Cell, column: Column) -> float | None:
    """How long the bar beside a cell is, from 0 to 1; None where the column has none."""
    if not column.bars or not isinstance(cell.value, int | float):
        return None
    values = [value for value in table.column(column.key) if isinstance(value, int | float)]
    largest = max(map(abs, values), default=0)
    return min(1.0, abs(cell.value) / largest) if largest else 0.0


def _script_json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON for a script element: no character in it can end the element or begin another."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _chart_json(chart: Chart) -> str:
    return _script_json(
        {
            "kind": chart.kind.value,
            "x": chart.x,
            "y": chart.y,
            "logarithmic": chart.logarithmic,
            "series": [
                {"name": series.name, "x": series.x, "y": series.y, "labels": series.labels}
                for series in chart.series
            ],
        }
    )


@functools.cache
def _template() -> Any:
    # Imported here, as plotly: most commands write no page.
    import jinja2  # noqa: PLC0415

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__name__, "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        visible=visible,
        line=visible_line,
        chart_json=_chart_json,
        groupby_neighbours=_groups,
        script_json=_script_json,
        sort_key=_sort_key,
    )
    environment.tests.update(
        table_section=_is_table,
        block_section=_is_block,
        chart_section=_is_chart,
        numeric=_is_number,
    )
    environment.globals.update(cell_text=_cell, bar_of=_bar)
    return environment.get_template("page.html")
