"""How long a file of 1,000 operators takes to be validated, and to become cases.

    python -m benchmarks.validation

The entries are those that come with the program, and as many again under other names as are needed.
Processor time, the best of five; reading YAML without validating it stands beside it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from instruction_counts.core.expand import materialize
from instruction_counts.domain.build import default_build
from instruction_counts.sources.operators.calls import Overrides, calls
from instruction_counts.sources.operators.catalogue import load_schemas
from instruction_counts.sources.operators.reading import read_operators
from instruction_counts.sources.operators.source import definitions_of, standard_file
from instruction_counts.system.cache import Cache

ENTRIES = 1_000


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "operators.yaml"
        path.write_text(_many(standard_file().read_text(encoding="utf-8")), encoding="utf-8")
        entries = read_operators(path)
        schemas = load_schemas(default_build(), Cache())

        def made() -> Any:
            wanted = (call for entry in entries for call in calls(entry, Overrides()))
            return definitions_of(wanted, schemas)

        table = Table(title=f"{len(entries)} operators")
        table.add_column("what")
        table.add_column("processor time", justify="right")
        rows: dict[str, Callable[[], Any]] = {
            "reading the YAML, nothing more": lambda: yaml.load(
                path.read_text(encoding="utf-8"),
                Loader=yaml.CSafeLoader,
            ),
            "reading and validating": lambda: read_operators(path),
            "making definitions, with their C++": made,
            f"making {len(materialize(made())):,} cases": lambda: materialize(made()),
        }
        for what, act in rows.items():
            table.add_row(what, f"{_best_s(act):.3f} s")
    Console().print(table)


def _many(text: str) -> str:
    document = yaml.safe_load(text)
    entries = list(document["operators"].items())
    more = (
        (f"{name}_again{number}", entry)
        for number in range(ENTRIES // len(entries) + 1)
        for name, entry in entries
        if not name.endswith("_")
    )
    while len(entries) < ENTRIES:
        entries.append(next(more))
    document["operators"] = dict(entries)
    return yaml.safe_dump(document, sort_keys=False)


def _best_s(act: Callable[[], Any]) -> float:
    times_s = []
    for _ in range(5):
        before_s = time.process_time()
        act()
        times_s.append(time.process_time() - before_s)
    return min(times_s)


if __name__ == "__main__":
    main()
