"""Documents as people and programs get them."""

import csv
import io
import json
from typing import Any

from instruction_counts.report.document import Document
from instruction_counts.report.renderers import renderer_named, terminal


def screen(document: Document) -> list[str]:
    """What a terminal of 80 columns shows."""
    return terminal.render(document, 80, None).splitlines()


def as_csv(document: Document) -> list[dict[str, str]]:
    """The rows of a table, as a program reads them."""
    return [*csv.DictReader(io.StringIO(str(renderer_named("csv").render(document)), newline=""))]


def as_json(document: Document) -> Any:
    """What a program reads."""
    return json.loads(str(renderer_named("json").render(document)))
