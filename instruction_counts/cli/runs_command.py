"""``runs``: what was measured before."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Group
from instruction_counts.cli.options import store_option
from instruction_counts.cli.shown_run import show_run
from instruction_counts.domain.errors import UsageError
from instruction_counts.report import runs as report
from instruction_counts.report.exporting import Exporter
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store


@click.group("runs", cls=Group)
def command() -> None:
    """List, show, export, import, tag and delete stored runs.

    Each run is stored as it proceeds. RUN is its number or one of its tags.
    """


@command.command("list")
@store_option
@format_option("a list with an object for each run")
def list_runs(db: str | None, form: str) -> None:
    """List the stored runs, the newest first."""
    with _existing(db) as store:
        summaries = store.summaries()
    if form == "json":
        document = [report.as_json(one) for one in summaries]
        console.write(json.dumps(document, indent=2, allow_nan=False))
    elif summaries:
        console.render(report.table(summaries))
    else:
        console.note(f"{store.name} holds no runs yet; `run` and `runs import` store them.")


@command.command("show")
@click.argument("run")
@click.option("--allocations", is_flag=True, help="Show allocation calls per run too.")
@store_option
def show(run: str, allocations: bool, db: str | None) -> None:
    """Show a run as it was shown when it was measured."""
    with _existing(db) as store:
        number = store.resolve(run)
        loaded = store.load(number, details=False)
        summary = store.summary(number)
    for line in report.head(summary, loaded.builds):
        console.line(line)
    console.line("")
    show_run(loaded, allocations=allocations)


@command.command("export")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@store_option
def export(run: str, file: Path, db: str | None) -> None:
    """Write a run to FILE: .json or .json.gz (everything), .csv or .md (summaries)."""
    exporter = Exporter(file, option="")
    with _existing(db) as store:
        number = store.resolve(run)
        run_ = store.load(number, details=False)
        exporter.update(run_, final=True, complete=store.completed)
    console.note(f"Run {number} is saved: {file}")


@command.command("import")
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)
@store_option
def import_files(files: tuple[Path, ...], db: str | None) -> None:
    """Store the runs of JSON files (.json, .json.gz), and print their numbers, one a line.

    All files are read before the first is stored.
    """
    loaded = [(file, read_json(file)) for file in files]
    with Store.open(db) as store:
        for file, run in loaded:
            number = store.import_run(run)
            console.note(f"{file} is stored as run {number}")
            console.write(str(number))


@command.command("delete")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
def delete(names: tuple[str, ...], yes: bool, db: str | None) -> None:
    """Delete runs with all that was measured in them."""
    with _existing(db) as store:
        numbers = list(dict.fromkeys(store.resolve(name) for name in names))
        titles = [report.title(store.summary(number)) for number in numbers]
        if not yes and not _agreed(titles):
            console.note("Nothing was deleted.")
            return
        for number, title in zip(numbers, titles, strict=True):
            store.delete(number)
            console.note(f"Deleted: {title}")


def _agreed(titles: list[str]) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("deleting needs an answer, and nobody can be asked here", "Add --yes.")
    for title in titles:
        console.note(title)
    return click.confirm("Delete for good?", err=True)


@command.command("tag")
@click.argument("run")
@click.argument("name")
@click.option("--force", is_flag=True, help="Move the tag if another run has it.")
@store_option
def tag(run: str, name: str, force: bool, db: str | None) -> None:
    """Give a run a NAME, that stands for its number in all commands."""
    with _existing(db) as store:
        number = store.resolve(run)
        store.tag(number, name, force=force)
    console.note(f"Run {number} has the tag {name}")


@command.command("untag")
@click.argument("name")
@store_option
def untag(name: str, db: str | None) -> None:
    """Take the tag NAME away; the run stays."""
    with _existing(db) as store:
        store.untag(name)
    console.note(f"No run has the tag {name} any more")


def _existing(db: str | None) -> Store:
    return Store.open(db, must_exist=True)
