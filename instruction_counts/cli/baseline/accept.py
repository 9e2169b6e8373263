"""``baseline accept``: the counts of a run become the baseline."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.file_type import FILE
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import case_options, store_option
from instruction_counts.cli.saving import check_folder, save
from instruction_counts.domain.selection import Selection
from instruction_counts.gate.accept import Acceptance
from instruction_counts.gate.baseline import to_json
from instruction_counts.report import gate as report
from instruction_counts.report.comparison import changed_files
from instruction_counts.session.checking import accept_run
from instruction_counts.storage.store import Store


@click.command("accept", cls=Command)
@click.argument("run")
@click.option(
    "--output",
    "file",
    type=FILE,
    default="baseline.json",
    show_default=True,
    help="Baseline file: created if it does not exist, updated if it does.",
)
@case_options
@store_option
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option("--prune", is_flag=True, help="Drop selected cases that the run does not have.")
@click.option(
    "--allow-different",
    is_flag=True,
    help="Keep cases counted with another compiler, C library or Python.",
)
def command(
    run: str,
    file: Path,
    selection: Selection,
    db: str | None,
    *,
    dry_run: bool,
    prune: bool,
    allow_different: bool,
) -> None:
    """Accept the counts of RUN as the baseline, and show what that changes.

    RUN is a stored run (its number or tag) or a JSON file. Cases that are not selected, or not in
    the run, stay as they are. So do the counts of cases that differ by no more than noise.
    """
    check_folder("--output", file)
    with Store.open(db) as store:
        found = accept_run(
            run, file, selection, store, prune=prune, allow_different=allow_different
        )
    _show_acceptance(found, pruned=prune)
    if dry_run:
        console.line(f"Nothing was written: {file}")
        return
    save("--output", file, to_json(found.after))
    console.line(f"Saved: {file} ({len(found.after.cases):,} cases). Commit it.")


def _show_acceptance(found: Acceptance, *, pruned: bool) -> None:
    if doubt := changed_files(found.comparison.new):
        console.error(f"The run may have counted other code: {doubt}")
    if found.before is not None:
        for text in report.acceptance(found, found.before):
            console.render(text)
    if found.kept:
        console.line(f"{len(found.kept):,} cases differ by noise alone, and keep their counts.")
    if found.absent:
        what = "are dropped" if pruned else "stay (--prune drops them)"
        console.line(f"{len(found.absent):,} cases of the baseline are not in the run: they {what}")
    if found.uncounted:
        console.line(f"{len(found.uncounted):,} cases of the baseline were not counted: they stay")
