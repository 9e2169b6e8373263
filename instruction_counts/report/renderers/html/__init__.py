"""Documents as one HTML file each: from disk, without a server, a network, or a second file.

What a document holds is text, and stays text: Jinja2 escapes all of it, and what scripts read is
JSON in which nothing ends a script. plotly draws charts and flame graphs; its script is part of the
file only where there are some.
"""

import functools
import importlib.metadata
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from instruction_counts.report.document import Block, Chart, Document, Row, Table, Unit
from instruction_counts.report.format import written
from instruction_counts.report.renderers.html import flame
from instruction_counts.report.renderers.json import plain
from instruction_counts.report.visible import visible, visible_line
from instruction_counts.system.program import program_name

_LONG_AGO = "1970-01-01T00:00:00+00:00"
"""Where it is not known when a run began: a feed has to say it."""


def render(document: Document) -> str:
    """The page: the answer first; tables that filter, sort and unfold; charts and flame graphs."""
    graph = flame.tree(document.profiles)
    return _page(document, flame=graph, plotly=_plotly() if graph or _has_charts(document) else "")


def _page(document: Document, **more: Any) -> str:
    title = document.title or document.kind.capitalize()
    return _rendered("page.html", document=document, title=title, program=program_name(), **more)


def _has_charts(document: Document) -> bool:
    return any(isinstance(part, Chart) for part in document.sections)


# Sites: pages that share their files, and link to each other


def site_page(document: Document, name: str) -> str:
    """The page ``name`` of a site, which has `assets` and the script of the search beside it."""
    root = "../" * name.count("/")
    return _page(document, flame=None, plotly=_has_charts(document), root=root, name=name)


def assets() -> dict[str, tuple[str, Callable[[], str]]]:
    """What all pages of a site share: the version of each file by its name, and what makes it."""
    texts = {name: _rendered(name) for name in ("page.css", "page.js")}
    files = {f"assets/{name}": (text, lambda text=text: text) for name, text in texts.items()}
    return {**files, "assets/plotly.js": (importlib.metadata.version("plotly"), _plotly)}


def search_script(index: Sequence[tuple[str, str]]) -> str:
    """The search over titles and their pages; a page from disk may load a script, and no JSON."""
    pages = json.dumps(index, separators=(",", ":"))
    return f"const PAGES = {pages};\n{_rendered('search.js')}\n"


def feed(steps: Sequence[Mapping[str, Any]], url: str) -> str:
    """An Atom feed of steps, the newest first; ``url`` is the site's address, if known."""
    updated = next((step["started_at"] for step in steps if step["started_at"]), _LONG_AGO)
    return _rendered("feed.xml", steps=steps, url=url, updated=updated)


def fragment(document: Document, most: int) -> str:
    """The same without charts and scripts, for a notebook: ``most`` rows of each table."""
    sections = [_cut(section, most) for section in document.texts]
    return _rendered("notebook.html", document=document, sections=sections)


def _cut(section: Table | Block, most: int) -> Table | Block:
    if isinstance(section, Block) or len(section.rows) <= most:
        return section
    last = Row([f"and {len(section.rows) - most:,} more", *[""] * (len(section.columns) - 1)])
    return attrs.evolve(section, rows=(*section.rows[:most], last))


def _plotly() -> str:
    # Imported here: it takes a second, and most commands write no page.
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    return str(get_plotlyjs())


def _rendered(template: str, **values: Any) -> str:
    text: str = _environment().get_template(template).render(values)
    return text


@functools.cache
def _environment() -> Any:
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
    environment.globals["root"] = None  # of a site; a page of its own has none
    environment.globals["cell_text"] = lambda cell, column: visible_line(written(cell, column.unit))
    return environment
