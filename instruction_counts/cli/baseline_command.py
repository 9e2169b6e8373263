"""``baseline``: a committed file of what cases cost, and checks against it."""

import shlex
from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.baseline_check import check
from instruction_counts.cli.help import Group
from instruction_counts.cli.options import FILE, case_options, flag, store_option
from instruction_counts.cli.output import Outputs, check_folder, output_options
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import LAST
from instruction_counts.domain.selection import Selection, require_matches
from instruction_counts.gate.baseline import read_baseline
from instruction_counts.report.format import plural
from instruction_counts.report.gate import acceptance_document, baseline_document
from instruction_counts.session.checking import accept_run, selected_cases
from instruction_counts.session.sides import LazyStore
from instruction_counts.system.files import check_writable


@click.group("baseline", cls=Group, commands=[check])
def baseline_command() -> None:
    """Accept, show and check a baseline: the counts of cases, in a file that is committed.

    Examples:
      python main.py run && python main.py baseline accept last
      python main.py baseline check baseline.json --gate limits.yaml
    """


@baseline_command.command("accept")
@click.argument("file", metavar="[FILE]")
@click.argument("run", required=False, metavar="RUN")
@case_options
@store_option
@flag("--prune", "Drop selected cases that the run does not have.")
@flag("--allow-different", "Keep cases counted with another compiler, C library or Python.")
def accept(
    file: str,
    run: str | None,
    selection: Selection,
    db: str | None,
    *,
    prune: bool,
    allow_different: bool,
) -> None:
    """Accept the counts of RUN into the baseline FILE (baseline.json), and show what changes.

    FILE is created if it does not exist, and updated if it does. RUN is a stored run (its number, a
    tag, or "last") or a JSON file. Cases that are not selected, or not in the run, stay as they
    are. So do the counts of cases that differ by no more than noise.
    """
    path, run = (Path("baseline.json"), file) if run is None else (Path(file), run)
    if not path.exists() and (path.name == LAST or path.name.isdecimal()):
        command = f"baseline accept {shlex.quote(run)} {path.name}"
        raise UsageError(f"{path} names a run, and no baseline", "The file comes first:", command)
    check_folder(path, str(path))
    check_writable(path, "")
    with LazyStore(db) as runs:
        found = accept_run(run, path, selection, runs, prune=prune, allow_different=allow_different)
    can_prune = found.comparison.new.is_whole
    absent = "dropped" if prune else f"kept{' (--prune drops them)' if can_prune else ''}"
    console.show(acceptance_document(found, absent), limit=0)  # the log of a change
    console.line(f"Saved: {path} ({plural(len(found.after.cases), 'case')}). Commit it.")


@baseline_command.command("show")
@click.argument("file", type=FILE)
@case_options
@output_options()
def show(file: Path, selection: Selection, outputs: Outputs) -> None:
    """Show what a baseline contains: counts, and how far noise moves them."""
    baseline = read_baseline(file)
    require_matches(selection, baseline.cases, f"baseline show {shlex.quote(str(file))}")
    outputs.write(baseline_document(selected_cases(baseline, selection)))
