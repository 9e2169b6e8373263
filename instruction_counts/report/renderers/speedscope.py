"""Documents as flame graphs, for speedscope.app."""

from __future__ import annotations

import json

from instruction_counts.report.document import Document


def render(document: Document) -> str:
    """The flame graphs of the document."""
    return json.dumps(document.profiles, separators=(",", ":"), allow_nan=False)
