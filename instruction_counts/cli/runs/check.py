"""``runs check``: whether what is stored can be read, as it was stored."""

from __future__ import annotations

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import store_option
from instruction_counts.domain.errors import DataError
from instruction_counts.storage.store import Store
from instruction_counts.system.program import program_name


@click.command("check", cls=Command)
@click.argument("names", metavar="[RUN]...", nargs=-1)
@store_option
def check(names: tuple[str, ...], db: str | None) -> int:
    """Read all of some runs, by default of all, and report what is damaged.

    The file of an SQLite database is checked, too. Exits with 1 if something is damaged.
    """
    with Store.open(db, must_exist=True) as store:
        problems = list(store.file_problems())
        for problem in problems:
            console.line(f"{store.name}: {problem}", style="red")
        cases, number = 0, 0
        try:
            numbers = [store.resolve(name) for name in names] or [
                run.id for run in store.summaries()
            ]
            for found in store.check(numbers):
                cases, number = cases + found.cases, number + 1
                problems += found.problems
                for problem in found.problems:
                    console.line(f"run {found.run_id}: {problem}", style="red")
        except DataError as error:
            problems.append(error.message)
            console.line(error.message, style="red")
    if problems:
        console.error(
            f"{_counted(len(problems), 'problem')} found. Restore a copy of the database, or "
            f"delete what is damaged: {program_name()} runs delete RUN"
        )
        return ExitCode.ERROR
    checked = f"{_counted(number, 'run')} with {_counted(cases, 'case')}"
    console.line(f"{checked}: no problems found.")
    return ExitCode.OK


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
