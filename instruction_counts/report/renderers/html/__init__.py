"""Documents as one HTML file each: from disk, without a server, a network, or a second file.

What a document holds is text, and stays text: Jinja2 escapes all of it, and what scripts read is
JSON in which nothing ends a script. plotly draws charts and flame graphs; its script is part of the
file only where there are some.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import attrs

from instruction_counts.report.document import Block, Chart, Document, Row, Table, Unit
from instruction_counts.report.format import written
from instruction_counts.report.renderers.html import flame
from instruction_counts.report.renderers.json import plain
from instruction_counts.report.visible import visible, visible_line
from instruction_counts.system.program import program_name


def render(document: Document) -> str:
    """The page: the answer first; tables that filter, sort and unfold; charts and flame graphs."""
    graph = flame.tree(document.profiles)
    has_charts = any(isinstance(part, Chart) for part in document.sections)
    page: str = _template("page.html").render(
        document=document,
        title=document.title or document.kind.capitalize(),
        program=program_name(),
        flame=graph,
        plotly=_plotly() if graph or has_charts else "",
    )
    return page


def fragment(document: Document, most: int) -> str:
    """The same without charts and scripts, for a notebook: ``most`` rows of each table."""
    found: str = _template("notebook.html").render(
        document=document, sections=[_cut(section, most) for section in document.texts]
    )
    return found


def _cut(section: Table | Block, most: int) -> Table | Block:
    hidden = len(section.rows) - most if isinstance(section, Table) else 0
    if hidden <= 0 or isinstance(section, Block):
        return section
    last = Row([f"and {hidden:,} more", *[""] * (len(section.columns) - 1)])
    return attrs.evolve(section, rows=(*section.rows[:most], last))


def _plotly() -> str:
    # Imported here: it takes a second, and most commands write no page.
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    return str(get_plotlyjs())


@functools.cache
def _template(name: str) -> Any:
    # Imported here, as plotly: most commands write no page.
    import jinja2  # noqa: PLC0415

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__name__, "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    environment.filters.update(
        visible=visible,
        line=visible_line,
        neighbours=lambda columns: itertools.groupby(columns, lambda column: column.group),
        plain=plain,
        # A column is sorted by its numbers, however they are written.
        sort_key=lambda cell: "" if cell.value is None else str(cell.value),
    )
    environment.tests.update(
        table_section=lambda section: isinstance(section, Table),
        chart_section=lambda section: isinstance(section, Chart),
        numeric=lambda column: column.unit is not Unit.TEXT,
    )
    environment.globals["cell_text"] = lambda cell, column: visible_line(written(cell, column.unit))
    return environment.get_template(name)
