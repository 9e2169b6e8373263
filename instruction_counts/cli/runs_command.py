"""``runs``: what was measured before."""

import sys
from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Group
from instruction_counts.cli.options import EXISTING_FILE, flag, store_option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.cli.runs_merge import merge_files
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.report import run as report
from instruction_counts.report.run import run_document
from instruction_counts.report.visible import visible_line
from instruction_counts.session.sides import LazyStore, find_whole_run, load_run, stored_number
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store


@click.group("runs", cls=Group, commands=[merge_files])
def runs_command() -> None:
    """List, show, import, merge, tag and delete stored runs; RUN is a number, a tag, or "last"."""


@runs_command.command("list")
@store_option
@output_options()
def list_runs(db: str | None, outputs: Outputs) -> None:
    """List the stored runs, the newest first."""
    with Store(db, must_exist=True) as store:
        summaries = store.summaries()
    if summaries or outputs.destinations:
        outputs.write(report.runs_document(summaries))
    else:
        console.note(f"{store.name} contains no runs yet; `run` and `runs import` store them.")


@runs_command.command("show")
@click.argument("run")
@output_options()
@store_option
def show(run: str, outputs: Outputs, db: str | None) -> None:
    """Show a run, or a JSON file of one, as it was shown when measured; --output exports it."""
    with LazyStore(db) as runs:
        place = find_whole_run(run, runs)
        loaded = load_run(place, runs)
        summary = None if isinstance(place, Path) else runs.opened().summary(place)
        document = run_document(loaded, summary=summary)
        outputs.write(document, loaded)


@runs_command.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=EXISTING_FILE)
@store_option
def import_files(files: tuple[Path, ...], db: str | None) -> None:
    """Store the runs of JSON files (.json, .json.gz), and print their numbers, one per line."""
    # All are read before the first is stored.
    loaded = [(file, read_json(file)) for file in files]
    with Store(db) as store:
        for file, run in loaded:
            number = store.import_run(run)
            console.note(f"{file} is stored as run {number}")
            console.write(str(number))


@runs_command.command("delete")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@flag("--force", "Do not ask.")
@store_option
def delete(names: tuple[str, ...], force: bool, db: str | None) -> None:
    """Delete runs with all that was measured in them."""
    with LazyStore(db) as runs:
        numbers = dict.fromkeys(stored_number(name, runs) for name in names)
        titles = {number: _title(runs.opened(), number) for number in numbers}
        if not force:
            if not sys.stdin.isatty():
                raise UsageError(
                    "cannot ask whether to delete: standard input is not a terminal", "Add --force."
                )
            console.note("\n".join(titles.values()))
            if not click.confirm("Delete for good?", err=True):
                console.note("Nothing was deleted.")
                return
        for number, title in titles.items():
            runs.opened().delete(number)
            console.note(f"Deleted: {title}")


def _title(store: Store, number: int) -> str:
    try:
        return visible_line(report.title(store.summary(number)))
    except DataError:  # it is damaged: all the more it can be deleted
        return f"run {number}"


@runs_command.command("tag")
@click.argument("run")
@click.argument("name")
@flag("--force", "Move the tag if another run has it.")
@store_option
def tag(run: str, name: str, force: bool, db: str | None) -> None:
    """Give a run a NAME that stands for its number in all commands."""
    with LazyStore(db) as runs:
        number = stored_number(run, runs)
        runs.opened().tag(number, name, force=force)
    console.note(f"Run {number} has the tag {name}")


@runs_command.command("untag")
@click.argument("name")
@store_option
def untag(name: str, db: str | None) -> None:
    """Remove the tag NAME; the run stays."""
    with Store(db, must_exist=True) as store:
        store.untag(name)
    console.note(f"No run has the tag {name} any more")
