"""``baseline``: a committed file of what cases cost, and checks against it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs
import click

from core.types import CaseKey, Language
from instruction_counts.analysis.comparison import Comparison, compare
from instruction_counts.analysis.sides import Side, read_side
from instruction_counts.builds.missing import Requirement, missing
from instruction_counts.builds.probing import BuildFacts, probe
from instruction_counts.cli import console
from instruction_counts.cli.check_report import Conclusion
from instruction_counts.cli.compare_command import narrowed
from instruction_counts.cli.compared_builds import ComparedBuilds
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.gating import Gating, check_folder, gate_options
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.options import build_options, selection_options, store_option
from instruction_counts.cli.saving import save
from instruction_counts.cli.time_budget import time_budget_option
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.engines.entry import Ability
from instruction_counts.engines.registry import engine_named
from instruction_counts.gate import lint as linting
from instruction_counts.gate.accept import Acceptance, accept
from instruction_counts.gate.baseline import (
    Baseline,
    BaselineCase,
    read_baseline,
    sorted_keys,
    to_json,
    verified_against,
)
from instruction_counts.gate.checks import exceeded_in, moved_in
from instruction_counts.gate.limits import read_limits
from instruction_counts.report import gate as report
from instruction_counts.report.formats.entry import CheckReport
from instruction_counts.report.registry import Destination
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import Definitions
from instruction_counts.storage.noise import read_noises
from instruction_counts.storage.store import Store

_FILE = click.Path(path_type=Path, dir_okay=False)
_SHOWN = 20


@click.group("baseline")
def command() -> None:
    """Accept, show and check a baseline: what cases cost, in a file that is committed.

    \b
    Examples:
      python main.py run && python main.py baseline accept 12 --output baseline.json
      python main.py baseline check baseline.json --limits limits.yaml
      python main.py baseline lint baseline.json --limits limits.yaml
    """  # noqa: D301 - \b keeps click from reflowing the examples


@command.command("accept")
@click.argument("run")
@click.option(
    "--output",
    "file",
    type=_FILE,
    default="baseline.json",
    show_default=True,
    help="The baseline: made where there is none, and updated where there is one.",
)
@selection_options
@store_option
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option("--prune", is_flag=True, help="Drop selected cases that the run does not have.")
@click.option(
    "--allow-different",
    is_flag=True,
    help="Let cases stay that were counted with another compiler, C library or Python.",
)
def accept_run(
    run: str,
    file: Path,
    definitions: Definitions,
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
    del definitions  # what was measured is in the run
    check_folder("--output", file)
    before = read_baseline(file) if file.exists() else None
    with Store.open(db) as store:
        side = narrowed(read_side(run, store), selection, run)
    selected = _selected(before, selection) if before is not None else {}
    found = accept(
        before, side, selected, read_noises(), prune=prune, allow_different=allow_different
    )
    _show_acceptance(found, pruned=prune)
    if dry_run:
        console.line(f"Nothing was written: {file}")
        return
    save("--output", file, to_json(found.after))
    console.line(f"Saved: {file} ({len(found.after.cases):,} cases). Commit it.")


def _show_acceptance(found: Acceptance, *, pruned: bool) -> None:
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


@command.command("show")
@click.argument("file", type=_FILE)
@selection_options
def show(file: Path, definitions: Definitions, selection: Selection) -> None:
    """Show what a baseline holds: counts, and how far noise moves them."""
    del definitions
    baseline = read_baseline(file)
    cases = _selected(baseline, selection)
    for name, value in attrs.asdict(baseline.head).items():
        console.line(f"{name.replace('_', ' ')}: {value or 'none'}", style="dim")
    console.line("")
    console.render(report.baseline_table(cases[key] for key in sorted_keys(cases)))
    console.line(f"{len(cases):,} cases")


@command.command("lint")
@click.argument("file", type=_FILE)
@click.option("--limits", type=_FILE, help="Limits to check with the baseline.")
def lint(file: Path, limits: Path | None) -> int:
    """Say what is doubtful about a baseline and its limits; exits with 1 if anything is."""
    baseline = read_baseline(file)
    remarks = linting.lint(baseline, read_limits(limits) if limits is not None else None)
    for one in remarks:
        for text in report.remark(one):
            console.render(text)
    if not remarks:
        console.line(f"{file}: nothing is doubtful")
    return ExitCode.ERROR if remarks else ExitCode.OK


@command.command("check")
@click.argument("file", type=_FILE)
@click.argument("run", required=False)
@selection_options
@build_options
@measuring_options
@store_option
@gate_options
@time_budget_option
@click.option(
    "--layouts",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    metavar="K",
    help="Count suspects of a build again in K memory layouts; 0 verifies nothing.",
)
@click.option(
    "--allow-different",
    is_flag=True,
    help="Compare in spite of another compiler, C library, Python or instruction set.",
)
@click.option(
    "--previous",
    type=_FILE,
    metavar="FILE.json",
    help="The --output of the last check, if it is there: what failed there fails until it is "
    "within its limit.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_SHOWN,
    show_default=True,
    metavar="N",
    help="Show at most N cases of a kind; 0 shows all.",
)
@click.option(
    "--output",
    type=_FILE,
    multiple=True,
    help="Write the check: .md (for a pull request) or .json. Repeatable.",
)
def check(
    file: Path,
    run: str | None,
    definitions: Definitions,
    selection: Selection,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    db: str | None,
    gating: Gating,
    time_budget: float | None,
    layouts: int,
    previous: Path | None,
    limit: int,
    output: tuple[Path, ...],
    *,
    allow_different: bool,
) -> int:
    """Compare RUN, or a build that is measured now, with the baseline FILE.

    RUN is a stored run (its number or tag) or a JSON file. Without it, the build that --build names
    is measured, or else the interpreter that runs this program. Exits with 3 where a hard limit is
    exceeded, and with 4 where none is but cases failed; where nothing could be compared, with 1.

    \b
    Examples:
      python main.py baseline check baseline.json --limits limits.yaml --junit junit.xml
      python main.py baseline check baseline.json 12 --only 'Pointwise/*' --output comment.md
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to check", "Drop it.")
    destinations = [Destination.of(path, CheckReport) for path in output]
    baseline = read_baseline(file)
    baseline = attrs.evolve(baseline, cases=_selected(baseline, selection))
    before = exceeded_in(previous) if previous is not None else frozenset[CaseKey]()
    build = _one_build(builds, run)
    if time_budget is not None and run is not None:
        raise UsageError("--time-budget: nothing is measured", "Drop it, or the run.")
    with Store.open(db) as store:
        moved = moved_in(previous) if previous is not None else frozenset()
        measured = _Checked(definitions, selection, measuring, store, time_budget, moved)
        checking = _Checking(file, baseline, allow_different=allow_different)
        if run is not None:
            comparison = checking.compared(narrowed(read_side(run, store), selection, run))
        else:
            facts = probe(build)
            refuse_unfit(facts, baseline)
            checking.refuse_obstacles(_expected_side(facts, measuring))
            comparison = checking.compared(measured.sides([build])[build.name])
            if comparison.suspects and layouts and not measured.interrupted:
                comparison = measured.check_against(baseline, comparison, layouts)
    conclusion = Conclusion(baseline, gating, destinations, limit, before)
    return (conclusion.of_interrupted if measured.interrupted else conclusion.of)(comparison)


@attrs.frozen
class _Checking:
    """A baseline that sides are compared with, if that makes sense."""

    file: Path
    baseline: Baseline
    allow_different: bool

    def compared(self, side: Side) -> Comparison:
        """The baseline with ``side``."""
        self.refuse_obstacles(side)
        noises = self.baseline.noises_with(read_noises(), side)
        return compare(self.baseline.side_for(side, self.file.name), side, noises)

    def refuse_obstacles(self, side: Side) -> None:
        """Name what makes the counts of ``side`` other counts.

        Raises:
            UsageError: something does, and is not allowed.
        """
        found = self.baseline.obstacles(side)
        told = [one for one in found if one.prevents or not self.allow_different]
        if not told:
            return
        texts = "\n  ".join(
            f"{one.name}: {one.base or 'none'} in the baseline, {one.new or 'none'} now"
            for one in told
        )
        remedy = (
            "Check where the baseline was made, or make it anew: baseline accept"
            if any(one.prevents for one in told)
            else "Compare all the same with --allow-different, or make the baseline anew."
        )
        raise UsageError(f"{self.file} is of other conditions:\n  {texts}", remedy)


@attrs.define
class _Checked(ComparedBuilds):
    """The build that a check measures."""

    def check_against(self, baseline: Baseline, comparison: Comparison, layouts: int) -> Comparison:
        """Count the suspects again in layouts of the build; the baseline remembers its own."""
        if not engine_named(self.measuring.engine).can(Ability.LAYOUTS):
            console.note(f"Nothing is verified: the {self.measuring.engine} engine has one layout.")
            return comparison
        try:
            (counts,) = self.count_again(comparison, (comparison.new,), layouts)
        except KeyboardInterrupt:
            self.interrupted = True
            return comparison
        return verified_against(comparison, baseline, counts)


def _expected_side(facts: BuildFacts, measuring: MeasurementSettings) -> Side:
    """A side without cases, as a build would make it, to refuse it before it is measured."""
    return Side(facts.build.name, measuring.engine, measuring.fingerprint(facts), {})


def refuse_unfit(facts: BuildFacts, baseline: Baseline) -> None:
    """Refuse a build that would pass because it cannot be measured.

    Raises:
        BuildError: its instructions cannot be counted, or no C++ where the baseline has some.
    """
    if not facts.can_count:
        raise BuildError(
            f'build "{facts.build.name}": no valgrind on this machine, so nothing can be checked.',
            "apt-get install valgrind     or check a run that was counted elsewhere.",
        )
    has_cpp = any(one.language is Language.CPP for one in baseline.cases.values())
    for requirement in missing(facts, {Requirement.COMPILER} if has_cpp else ()):
        raise BuildError(requirement.what, requirement.remedy)


def _one_build(builds: Sequence[Build], run: str | None) -> Build:
    if run is not None and builds != (default_build(),):
        raise UsageError("both a run and a build to measure are named", "Drop one.")
    if len(builds) != 1:
        names = ", ".join(build.name for build in builds)
        raise UsageError(f"a check measures one build, and there are: {names}", "Name one.")
    return builds[0]


def _selected(baseline: Baseline, selection: Selection) -> dict[CaseKey, BaselineCase]:
    return {key: one for key, one in baseline.cases.items() if selection.keeps_key(key)}
