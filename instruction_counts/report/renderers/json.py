"""Documents as JSON, with everything that is known. Amounts are those of one iteration.

JSON knows no infinite numbers: what has no bound is null.
"""

import enum
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from instruction_counts.report.document import Document, Table


def render(document: Document) -> str:
    """The data of the document; where it has none, its tables."""
    data = _of_tables(document) if document.data is None else document.data
    return json.dumps(plain(data), indent=1, allow_nan=False) + "\n"


def compact(data: Any) -> str:
    """Data in one line, where there are many files of them."""
    return json.dumps(plain(data), separators=(",", ":"), allow_nan=False) + "\n"


def render_profiles(document: Document) -> str:
    """The flame graphs of the document, as speedscope.app reads them."""
    return json.dumps(document.profiles, separators=(",", ":"), allow_nan=False)


def _of_tables(document: Document) -> dict[str, Any]:
    facts = () if document.facts is None else (document.facts,)
    return {
        "kind": document.kind,
        "title": document.title,
        "answer": [line.text for line in document.answer],
        **{table.name: rows_of(table) for table in (*facts, *document.tables)},
        "notes": [line.text for line in document.notes],
    }


def rows_of(table: Table) -> list[dict[str, Any]]:
    """The rows of a table, each with its values by the keys of their columns."""
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, (cell.value for cell in row.cells), strict=True)) for row in table.rows]


def plain(value: Any) -> Any:
    """A value with all that it holds, as JSON and CSV take it."""
    if attrs.has(type(value)):
        value = attrs.asdict(value, recurse=False)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
