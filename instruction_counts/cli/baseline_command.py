"""``baseline``: a committed file of what cases cost, and checks against it."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.baseline_check import check
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.help import Group
from instruction_counts.cli.option_types import FILE
from instruction_counts.cli.options import (
    case_options,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.gate.baseline import read_baseline, to_json
from instruction_counts.gate.limits import problems, read_limits
from instruction_counts.report.format import plural
from instruction_counts.report.gate import (
    acceptance_document,
    baseline_document,
    lint_document,
)
from instruction_counts.session.checking import (
    accept_run,
    selected_cases,
)
from instruction_counts.storage.store import Store
from instruction_counts.system.files import check_writable, write_output


@click.group("baseline", cls=Group, commands=[check])
def command() -> None:
    """Accept, show and check a baseline: the counts of cases, in a file that is committed.

    \b
    Examples:
      python main.py run && python main.py baseline accept 12
      python main.py baseline check baseline.json --gate limits.yaml
      python main.py baseline lint baseline.json --gate limits.yaml
    """  # noqa: D301 - \b keeps click from reflowing the examples


@command.command("accept")
@click.argument("file", metavar="[FILE]")
@click.argument("run", required=False, metavar="RUN")
@case_options
@store_option
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option("--prune", is_flag=True, help="Drop selected cases that the run does not have.")
@click.option(
    "--allow-different",
    is_flag=True,
    help="Keep cases counted with another compiler, C library or Python.",
)
def accept(
    file: str,
    run: str | None,
    selection: Selection,
    db: str | None,
    *,
    dry_run: bool,
    prune: bool,
    allow_different: bool,
) -> None:
    """Accept the counts of RUN into the baseline FILE (baseline.json), and show what changes.

    FILE is created if it does not exist, and updated if it does. RUN is a stored run (its number or
    tag) or a JSON file. Cases that are not selected, or not in the run, stay as they are. So do the
    counts of cases that differ by no more than noise.
    """
    path, run = (Path("baseline.json"), file) if run is None else (Path(file), run)
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}", "Create it first.")
    if not dry_run:
        check_writable(path, "")
    with Store.open(db) as store:
        found = accept_run(
            run, path, selection, store, prune=prune, allow_different=allow_different
        )
    console.show(acceptance_document(found, pruned=prune))
    if dry_run:
        console.line(f"Nothing was written: {path}")
        return
    write_output(path, to_json(found.after))
    console.line(f"Saved: {path} ({plural(len(found.after.cases), 'case')}). Commit it.")


@command.command("show")
@click.argument("file", type=FILE)
@case_options
@output_options()
def show(file: Path, selection: Selection, outputs: Outputs) -> None:
    """Show what a baseline contains: counts, and how far noise moves them."""
    outputs.write(baseline_document(selected_cases(read_baseline(file), selection)))


@command.command("lint")
@click.argument("file", type=FILE)
@click.option("--gate", "limits", type=FILE, help="Limits to check with the baseline.")
@output_options()
def lint(file: Path, limits: Path | None, outputs: Outputs) -> int:
    """List the problems of a baseline and its limits; exits with 1 if there are any."""
    baseline = read_baseline(file)
    found = problems(baseline, read_limits(limits) if limits is not None else None)
    outputs.write(lint_document(found, str(file)))
    return ExitCode.ERROR if found else ExitCode.OK
