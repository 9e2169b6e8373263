"""``runs tag`` and ``runs untag``: names for runs."""

from __future__ import annotations

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import store_option
from instruction_counts.storage.store import Store


@click.command("tag", cls=Command)
@click.argument("run")
@click.argument("name")
@click.option("--force", is_flag=True, help="Move the tag if another run has it.")
@store_option
def tag(run: str, name: str, force: bool, db: str | None) -> None:
    """Give a run a NAME that stands for its number in all commands."""
    with Store.open(db, must_exist=True) as store:
        number = store.resolve(run)
        store.tag(number, name, force=force)
    console.note(f"Run {number} has the tag {name}")


@click.command("untag", cls=Command)
@click.argument("name")
@store_option
def untag(name: str, db: str | None) -> None:
    """Remove the tag NAME; the run stays."""
    with Store.open(db, must_exist=True) as store:
        store.untag(name)
    console.note(f"No run has the tag {name} any more")
