"""``runs``: what was measured before."""

from __future__ import annotations

import functools
import sys

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Group
from instruction_counts.cli.options import store_option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.cli.runs_files import export, import_files
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.metrics import ALLOCATIONS
from instruction_counts.report import runs as report
from instruction_counts.report.run import run_document
from instruction_counts.report.visible import visible_line
from instruction_counts.storage.json_files import json_parts
from instruction_counts.storage.store import Store

_existing = functools.partial(Store.open, must_exist=True)


@click.group("runs", cls=Group, commands=[export, import_files])
def command() -> None:
    """List, show, export, import, tag and delete stored runs.

    Each run is stored as it proceeds. RUN is its number or one of its tags.
    """


@command.command("list")
@store_option
@output_options()
def list_runs(db: str | None, outputs: Outputs) -> None:
    """List the stored runs, the newest first."""
    with _existing(db) as store:
        summaries = store.summaries()
    if summaries or outputs.destinations:
        outputs.write(report.runs_document(summaries))
    else:
        console.note(f"{store.name} contains no runs yet; `run` and `runs import` store them.")


@command.command("show")
@click.argument("run")
@click.option("--allocations", is_flag=True, help="Also show allocation calls per iteration.")
@output_options()
@store_option
def show(run: str, allocations: bool, outputs: Outputs, db: str | None) -> None:
    """Show a run the way it was shown when it was measured."""
    with _existing(db) as store:
        number = store.resolve(run)
        loaded = store.load(number, details=False)
        metrics = [ALLOCATIONS] if allocations else ()
        document = run_document(loaded, metrics, summary=store.summary(number))
        outputs.write(document, None, lambda: json_parts(loaded, store.completed))


@command.command("delete")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
def delete(names: tuple[str, ...], yes: bool, db: str | None) -> None:
    """Delete runs with all that was measured in them."""
    with _existing(db) as store:
        numbers = list(dict.fromkeys(store.resolve(name) for name in names))
        titles = [_title(store, number) for number in numbers]
        if not yes and not _agreed(titles):
            console.note("Nothing was deleted.")
            return
        for number, title in zip(numbers, titles, strict=True):
            store.delete(number)
            console.note(f"Deleted: {title}")


def _title(store: Store, number: int) -> str:
    try:
        return visible_line(report.title(store.summary(number)))
    except DataError:  # it is damaged: all the more it can be deleted
        return f"run {number}"


def _agreed(titles: list[str]) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "cannot ask whether to delete: standard input is not a terminal", "Add --yes."
        )
    for title in titles:
        console.note(title)
    return click.confirm("Delete for good?", err=True)


@command.command("tag")
@click.argument("run")
@click.argument("name")
@click.option("--force", is_flag=True, help="Move the tag if another run has it.")
@store_option
def tag(run: str, name: str, force: bool, db: str | None) -> None:
    """Give a run a NAME that stands for its number in all commands."""
    with _existing(db) as store:
        number = store.resolve(run)
        store.tag(number, name, force=force)
    console.note(f"Run {number} has the tag {name}")


@command.command("untag")
@click.argument("name")
@store_option
def untag(name: str, db: str | None) -> None:
    """Remove the tag NAME; the run stays."""
    with _existing(db) as store:
        store.untag(name)
    console.note(f"No run has the tag {name} any more")
