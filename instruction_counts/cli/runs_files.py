"""``runs export`` and ``runs import``: runs as files."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.option_types import FILE
from instruction_counts.cli.options import store_option
from instruction_counts.cli.output import Destination, Exporter
from instruction_counts.report.run import run_document
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store


@click.command("export", cls=Command)
@click.argument("run")
@click.argument("file", type=FILE)
@store_option
def export(run: str, file: Path, db: str | None) -> None:
    """Write a run to FILE: .json or .json.gz (everything), .csv or .md (summaries)."""
    exporter = Exporter(Destination.of(file, option=""), run_document)
    with Store.open(db, must_exist=True) as store:
        number = store.resolve(run)
        loaded = store.load(number, details=False)
        exporter.update(loaded, final=True, complete=store.completed)
    console.note(f"Run {number} is saved: {file}")


@click.command("import", cls=Command)
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)
@store_option
def import_files(files: tuple[Path, ...], db: str | None) -> None:
    """Store the runs of JSON files (.json, .json.gz), and print their numbers, one per line.

    All files are read before the first is stored.
    """
    loaded = [(file, read_json(file)) for file in files]
    with Store.open(db) as store:
        for file, run in loaded:
            number = store.import_run(run)
            console.note(f"{file} is stored as run {number}")
            console.write(str(number))
