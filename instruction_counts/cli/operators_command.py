"""``operators``: list them, what they leave uncovered, and one over a range of sizes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from instruction_counts.cli import console
from instruction_counts.cli.coverage_command import command as coverage_command
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Group
from instruction_counts.cli.options import operators_file_option
from instruction_counts.cli.sizes_command import command as sizes_command
from instruction_counts.sources.operators.entries import VARIANTS, OperatorEntry
from instruction_counts.sources.operators.reading import read_operators
from instruction_counts.sources.operators.source import selected, standard_file

_SHORT = {name: name[:2] for name in VARIANTS}


@click.group("operators", cls=Group)
def command() -> None:
    """List operators, show which of torch's are not covered, or measure one over many sizes.

    To measure operators, use `run --operators PATTERN`; every other command takes it, too.
    """


command.add_command(coverage_command)
command.add_command(sizes_command)


@command.command("list")
@click.argument("patterns", nargs=-1)
@operators_file_option
@format_option("a list with an object for each operator")
def list_(patterns: tuple[str, ...], operators_file: Path | None, form: str) -> None:
    """List operators: by name (torch.add, add, 'torch.fft.*') or category:NAME; default all."""
    entries = selected(read_operators(operators_file or standard_file()), patterns or ("*",))
    if form == "json":
        document = [_as_json(entry) for entry in entries]
        console.write(json.dumps(document, indent=1, allow_nan=False))
        return
    console.render(_listed(entries))
    legend = ", ".join(f"{short} {name}" for name, short in _SHORT.items())
    console.line(f"\nshapes: {legend}")
    categories = {entry.category for entry in entries}
    console.note(
        f"{_counted(len(entries), 'operator', 'operators')} in "
        f"{_counted(len(categories), 'category', 'categories')}"
    )


def _listed(entries: Sequence[OperatorEntry]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("operator", overflow="fold")
    table.add_column("count", justify="right")
    for heading in ("inputs", "shapes", "without"):
        table.add_column(heading, overflow="fold")
    by_category: dict[str, list[OperatorEntry]] = defaultdict(list)
    for entry in entries:
        by_category[entry.category].append(entry)
    for category, below in by_category.items():
        table.add_row(Text(category, style="bold"), str(len(below)))
        for entry in below:
            shapes = " ".join(_SHORT[name] for name in entry.variants)
            inputs = ", ".join(entry.inputs)
            table.add_row(f"  {entry.name}", "", inputs, shapes, _missing(entry))
    return table


def _counted(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _missing(entry: OperatorEntry) -> str:
    missing = {
        "C++": entry.cpp is False,
        "TorchScript": not entry.torchscript,
        "backward": not entry.autograd,
    }
    return ", ".join(name for name, is_missing in missing.items() if is_missing)


def _as_json(entry: OperatorEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "category": entry.category,
        "inputs": list(entry.inputs),
        "kwargs": list(entry.kwargs),
        "variants": list(entry.variants),
        "autograd": entry.autograd,
        "torchscript": entry.torchscript,
        "cpp": entry.cpp is not False,
        "note": entry.note,
    }
