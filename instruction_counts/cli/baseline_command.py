"""``baseline``: a committed file of what cases cost, and checks against it."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.gating import Gating, exit_code, gate_options
from instruction_counts.cli.help import Group
from instruction_counts.cli.measuring import measuring_options, merged
from instruction_counts.cli.option_types import FILE, time_budget_option
from instruction_counts.cli.options import (
    build_options,
    case_options,
    layouts_option,
    limit_option,
    only_build,
    selection_options,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.gate import lint as linting
from instruction_counts.gate.baseline import read_baseline, to_json
from instruction_counts.gate.limits import read_limits
from instruction_counts.report.format import plural
from instruction_counts.report.gate import (
    acceptance_document,
    baseline_document,
    check_document,
    lint_document,
)
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.checking import (
    Check,
    CheckRequest,
    accept_run,
    check_build,
    check_run,
    selected_cases,
)
from instruction_counts.sources.definitions import Definitions
from instruction_counts.storage.store import Store
from instruction_counts.system.files import check_writable, unwritable, write_atomically


@click.group("baseline", cls=Group)
def command() -> None:
    """Accept, show and check a baseline: the counts of cases, in a file that is committed.

    \b
    Examples:
      python main.py run && python main.py baseline accept baseline.json 12
      python main.py baseline check baseline.json --limits limits.yaml
      python main.py baseline lint baseline.json --limits limits.yaml
    """  # noqa: D301 - \b keeps click from reflowing the examples


@command.command("accept")
@click.argument("file", type=FILE)
@click.argument("run")
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
    file: Path,
    run: str,
    selection: Selection,
    db: str | None,
    *,
    dry_run: bool,
    prune: bool,
    allow_different: bool,
) -> None:
    """Accept the counts of RUN into the baseline FILE, and show what that changes.

    FILE is created if it does not exist, and updated if it does. RUN is a stored run (its number or
    tag) or a JSON file. Cases that are not selected, or not in the run, stay as they are. So do the
    counts of cases that differ by no more than noise.
    """
    if not file.parent.is_dir():
        raise UsageError(f"{file}: there is no folder {file.parent}", "Make it first.")
    if not dry_run:
        check_writable(file, "")
    with Store.open(db) as store:
        found = accept_run(
            run, file, selection, store, prune=prune, allow_different=allow_different
        )
    console.show(acceptance_document(found, pruned=prune))
    if dry_run:
        console.line(f"Nothing was written: {file}")
        return
    try:
        write_atomically(file, to_json(found.after))
    except OSError as error:
        raise unwritable(file, "", error) from error
    console.line(f"Saved: {file} ({plural(len(found.after.cases), 'case')}). Commit it.")


@command.command("show")
@click.argument("file", type=FILE)
@case_options
@output_options()
def show(file: Path, selection: Selection, outputs: Outputs) -> None:
    """Show what a baseline contains: counts, and how far noise moves them."""
    outputs.write(baseline_document(selected_cases(read_baseline(file), selection)))


@command.command("check")
@click.argument("file", type=FILE)
@click.argument("run", required=False)
@selection_options
@build_options
@measuring_options
@store_option
@gate_options
@time_budget_option
@layouts_option("verifies nothing")
@click.option(
    "--allow-different",
    is_flag=True,
    help="Compare even if the compiler, C library, Python or instruction set differs.",
)
@click.option(
    "--previous",
    type=FILE,
    metavar="FILE.json",
    help="JSON of the last check, if it exists. What failed there fails until it is within "
    "its limit.",
)
@limit_option("Cases shown of each kind")
@output_options("tests")
def check(
    file: Path,
    run: str | None,
    definitions: Definitions | None,
    selection: Selection,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    db: str | None,
    gating: Gating,
    time_budget: float | None,
    layouts: int | None,
    previous: Path | None,
    limit: int | None,
    outputs: Outputs,
    *,
    allow_different: bool,
) -> int:
    """Compare RUN, or a build that is measured now, with the baseline FILE.

    RUN is a stored run (its number or tag) or a JSON file. Without it, the build of --build is
    measured. Exits with 3 if a hard limit is exceeded.

    \b
    Examples:
      python main.py baseline check baseline.json --limits limits.yaml --output junit.xml
      python main.py baseline check baseline.json 12 --output comment.md

    \f
    Without --build, the interpreter that runs this program is measured. The exit code is 4 where no
    limit is exceeded but cases failed, and 1 where nothing could be compared.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to check", "Drop it.")
    definitions, builds, measuring, db = merged(definitions, builds, measuring, db)
    if run is not None and builds != (default_build(),):
        raise UsageError("both a run and a build to measure are named", "Drop one.")
    build = only_build(builds, "a check")
    if time_budget is not None and run is not None:
        raise UsageError("--time-budget: nothing is measured", "Drop it, or the run.")
    request = attrs.evolve(
        CheckRequest.of(file, selection, previous),
        limits=gating.limits,
        fail_on=gating.fail_on,
        allow_different=allow_different,
    )
    with Store.open(db) as store:
        if run is not None:
            found = check_run(run, request, store)
        else:
            found = check_build(
                *(build, request, definitions, measuring, store, console),
                layouts=layouts,
                time_budget_s=time_budget,
            )
    return conclude(found, outputs, limit)


def conclude(found: Check, outputs: Outputs, limit: int | None = None) -> ExitCode:
    """Show the check, and only then write its files: what it says is never lost with them.

    One that was interrupted shows what was found until then; files stay those of the last check
    that ended.

    Raises:
        UsageError: a file cannot be written, or no case was compared, and so nothing passed.
    """
    document = check_document(found.gate, interrupted=found.interrupted)
    if found.interrupted:
        console.show(document, limit)
        console.error("Interrupted: this is what was found until then, and no file was written.")
        return ExitCode.INTERRUPTED
    outputs.write(document, limit)
    found.require_comparison()
    return exit_code(found.gate, is_sound=found.is_sound)


@command.command("lint")
@click.argument("file", type=FILE)
@click.option("--limits", type=FILE, help="Limits to check with the baseline.")
@output_options()
def lint(file: Path, limits: Path | None, outputs: Outputs) -> int:
    """List the problems of a baseline and its limits; exits with 1 if there are any."""
    baseline = read_baseline(file)
    remarks = linting.lint(baseline, read_limits(limits) if limits is not None else None)
    outputs.write(lint_document(remarks, str(file)))
    return ExitCode.ERROR if remarks else ExitCode.OK
