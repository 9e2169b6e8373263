"""Documents as people and programs get them."""

import csv
import io
import json
from typing import Any

from instruction_counts.report.document import Document
from instruction_counts.report.renderers import renderer_named, terminal


def screen(document: Document, limit: int | None = None) -> list[str]:
    """What a terminal of 80 columns shows."""
    return terminal.render(document, 80, limit).splitlines()


def words(document: Document, limit: int | None = None) -> str:
    """The same in one line, with single spaces."""
    return " ".join(" ".join(screen(document, limit)).split())


def as_csv(document: Document) -> list[dict[str, str]]:
    """The rows of a table, as a program reads them."""
    return [*csv.DictReader(io.StringIO(str(renderer_named("csv").render(document)), newline=""))]


def as_json(document: Document) -> Any:
    """What a program reads."""
    return json.loads(str(renderer_named("json").render(document)))
