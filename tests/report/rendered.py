"""Documents as people and programs get them."""

import json
from typing import Any

from instruction_counts.report.document import Document
from instruction_counts.report.renderers import renderer_named, terminal


def screen(document: Document) -> list[str]:
    """What a terminal of 80 columns shows."""
    return terminal.render(document, 80, None).splitlines()


def as_json(document: Document) -> Any:
    """What a program reads."""
    return json.loads(str(renderer_named("json").render(document)))
