"""``env`` and ``selftest``: what a build and this machine are, and whether they count exactly."""

import attrs
import click

from instruction_counts.builds.missing import advice_on_names, missing
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.cli import console, stored_run
from instruction_counts.cli.exit_codes import exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import Asked, allocator_option, asking
from instruction_counts.cli.options import (
    build_options,
    case_options,
    compiler_option,
    definitions_on_cpu_options,
    device,
    one_build_options,
    only_build,
    option,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.core.labels import CPU, CUDA
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.execution.cores import available_cores
from instruction_counts.report.document import Column, Document, Line, Role, Row, Table
from instruction_counts.report.selftest import launches_document, selftest_document
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.launches import compare_launches, launch_cases
from instruction_counts.session.selftest import run_selftest, selftest_cases
from instruction_counts.storage.store import Store
from instruction_counts.system.steadiness import Surroundings


@click.command("env", cls=Command)
@build_options
@compiler_option
@output_options()
def env_command(builds: tuple[Build, ...], compiler: str, outputs: Outputs) -> None:
    """Show the fingerprint of each build: everything that can change a count besides the code.

    It ends with how to get names for the interpreter's functions, and with what makes wall times
    unsteady on this machine.
    """
    settings = MeasurementSettings(compiler=compiler)
    probed = [settings.probe(build, console.note) for build in builds or (default_build(),)]
    facts = [attrs.evolve(found, fingerprint=settings.fingerprint(found)) for found in probed]
    data = {found.build.name: attrs.asdict(found.fingerprint) for found in facts}
    notes = []
    for found in facts:
        name = found.build.name
        for lack in missing(found):
            what = Line(f"{name}: missing: {lack.what}", Role.WARNING)
            notes += [what, Line(lack.remedy, indent=2)]
        if advice := advice_on_names(found.interpreter):
            notes.append(Line(f"{name}: {advice}"))
    notes += [Line(f"Times: {text}") for text in Surroundings(available_cores()).advice()]
    outputs.write(
        Document("env", sections=tuple(map(_table, facts)), notes=tuple(notes), data=data)
    )


def _table(found: BuildFacts) -> Table:
    """What is known of a build; each fact is cut to a line, and JSON has the whole."""
    texts = {name: str(value) for name, value in attrs.asdict(found.fingerprint).items()}
    rows = [
        Row([name, text if len(text) <= 56 else f"{text[:55]}…"], indent=2)
        for name, text in texts.items()
        if text
    ]
    title = f"{found.build.name}  {found.interpreter}"
    return Table(found.build.name, title, (Column("fact", ""), Column("value", "")), tuple(rows))


@click.command("selftest", cls=Command)
@asking(definitions_on_cpu_options, case_options, one_build_options, store_option)
@option(
    "--layouts",
    "K",
    "Also count in K other memory layouts: other addresses on the heap and the stack.",
    type=click.IntRange(min=1),
)
@allocator_option
@device("--device", "cuda: compare launches with those of a GPU instead.", default=CPU)
@output_options()
def selftest_command(asked: Asked, allocator: str, device: str, outputs: Outputs) -> int:
    """Count a set of cases several times under different conditions, and compare.

    Fresh servers, another working directory and TMPDIR of this program, another path of the build,
    a busy machine and a larger inherited environment must not change a count. Without a selection,
    it takes a representative set. The first counts are stored as a run, with the noise that was
    found, which comparisons and baselines of that run use. Exits with 4 where a case failed or
    its count changed.

    With `--device cuda`, cases on CUDA run on a GPU under torch's profiler, and must launch there
    what the stand-ins for CUDA's libraries hear of.
    """
    build = only_build(asked.builds, "a selftest")
    how, settings = asked.how, MeasurementSettings(allocator=allocator)
    if device == CUDA:
        if how.layouts:
            raise UsageError("--layouts: with --device cuda nothing is counted", "Drop one.")
        on_cuda = launch_cases(how.definitions, how.selection)
        found = compare_launches(BuildRunner.of([build], settings, console), on_cuda)
        outputs.write(launches_document(found))
        return exit_code(failed_cases=not all(case.agrees for case in found))
    cases = selftest_cases(how.definitions, how.selection)
    with Store(asked.db) as store:
        runner = BuildRunner.of([build], settings, console)
        noises, run = run_selftest(runner, cases, how.layouts or 0)
        outputs.write(selftest_document(noises))
        outputs.say(stored_run.saved(store, store.import_run(run)))
    return exit_code(failed_cases=not all(noise.repeated for noise in noises))
