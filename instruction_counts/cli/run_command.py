"""``run``: select, expand, measure, store, report."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import click

from instruction_counts import console
from instruction_counts.application import Measured, make_engine, plan
from instruction_counts.builds.build import DEFAULT_NAME, Build
from instruction_counts.builds.fingerprint import BuildFacts, probe
from instruction_counts.cache import Cache
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.options import build_options, selection_options
from instruction_counts.definitions import load
from instruction_counts.engines.fork import Profile
from instruction_counts.errors import UsageError
from instruction_counts.execution.cores import CorePool, available_cores, parse_cores
from instruction_counts.execution.work import WorkOrder
from instruction_counts.measurements import Status
from instruction_counts.report import table
from instruction_counts.results.export import Exporter, read_json
from instruction_counts.results.records import Run
from instruction_counts.select import Selection, select


@click.command("run")
@selection_options
@build_options
@click.option(
    "--engine",
    type=click.Choice(["fork", "timer"]),
    default="fork",
    show_default=True,
    help="fork: one import of torch for many cases. timer: the reference, a process for each.",
)
@click.option(
    "--allocator",
    type=click.Choice(["steady", "system"]),
    default="steady",
    show_default=True,
    help="What allocates in the counted process: a constant-time stand-in, or the C library.",
)
@click.option(
    "--pin-isa",
    type=click.Choice(["avx2", "default"]),
    help="Make times and counts run the same kernels (Valgrind has no AVX-512).",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Lanes. Default: one a core.")
@click.option("--cores", metavar="LIST", help="Cores to use: 0-1,3. Default: all available.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Limit for one case.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Further tries for a case whose process died or timed out.",
)
@click.option("--no-counts", is_flag=True, help="Leave the instruction counts out.")
@click.option("--no-times", is_flag=True, help="Leave the wall times out.")
@click.option(
    "--skip-unavailable",
    is_flag=True,
    help="Run what a build can, where it lacks Valgrind or a C++ compiler.",
)
@click.option(
    "--callgrind-out",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder for Callgrind's own file of each case (one window), to open in KCachegrind.",
)
@click.option("--allocations", is_flag=True, help="Show allocation calls per run too.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="Write results as they come: .json, .json.gz, .csv or .md. Repeatable.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Go on from a JSON file: cases measured there are not measured again.",
)
def command(
    definitions: str,
    selection: Selection,
    builds: tuple[Build, ...],
    engine: str,
    allocator: str,
    pin_isa: str | None,
    jobs: int | None,
    cores: str | None,
    timeout_s: float,
    retries: int,
    no_counts: bool,
    no_times: bool,
    skip_unavailable: bool,
    callgrind_out: Path | None,
    allocations: bool,
    output: tuple[Path, ...],
    resume: Path | None,
) -> int:
    """Measure cases: instructions per run (Callgrind) and wall times.

    The default is the standard suite on the current interpreter. Results come as a table, and as
    files with --output. Interrupt at any time: what is finished is kept, and --resume goes on.

    \b
    Examples:
      python main.py --only 'Pointwise/*/add' --only MatMul
      python main.py --language python --output result.json
      python main.py --build base=/usr/bin/python3 --build new=.venv
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if no_counts and no_times:
        raise UsageError("--no-counts and --no-times leave nothing to measure", "Drop one.")
    if engine == "timer" and (pin_isa or callgrind_out):
        raise UsageError("--pin-isa and --callgrind-out need the fork engine", "Drop one.")
    cases = select(load(definitions), selection)
    exporters = [Exporter(path) for path in output]
    done = read_json(resume) if resume else None
    available = available_cores()
    pool = CorePool(parse_cores(cores, available) if cores else available)
    lanes = jobs or pool.size
    facts = [probe(build) for build in builds]
    template = functools.partial(
        WorkOrder,
        timeout_s=timeout_s,
        retries=retries,
        counts=not no_counts,
        times=not no_times,
    )
    if callgrind_out is not None:
        callgrind_out.mkdir(parents=True, exist_ok=True)
    profile = Profile(allocator, pin_isa or "", callgrind_out=callgrind_out)
    orders = [order for one in facts for order in plan(cases, one, template, skip=skip_unavailable)]
    for one in facts:
        console.note(_banner(one, engine, lanes))
    engines = {one.build.name: make_engine(engine, one, profile, console.note) for one in facts}
    measured = Measured(engine, engines, exporters, Cache().root / "durations.json")
    interrupted = measured.take_in(orders, pool, lanes, done)
    _report(measured.run, output, allocations=allocations)
    if interrupted:
        hint = f" Go on with: --resume {output[0]}" if output else ""
        console.error(f"Interrupted; what is finished is kept.{hint}")
    return _exit_code(measured.run, interrupted=interrupted)


def _banner(facts: BuildFacts, engine: str, lanes: int) -> str:
    print_ = facts.fingerprint
    parts = [
        f"torch {print_.torch}",
        f"Python {print_.python}",
        print_.valgrind or "no valgrind",
        f"{lanes} lane{'' if lanes == 1 else 's'}",
        f"hermetic v{print_.profile_version}",
        f"engine {engine}",
    ]
    name = "" if facts.build.name == DEFAULT_NAME else f"{facts.build.name}: "
    return name + " · ".join(parts)


def _report(run: Run, output: tuple[Path, ...], *, allocations: bool) -> None:
    if any(record.outcome.status is Status.OK for record in run.cases):
        console.render(table.results(run, allocations=allocations))
        console.line("")
        console.line(table.LEGEND, style="dim")
    problems = list(table.problems(run))
    if problems:
        console.line("")
    for problem in problems:
        console.line(problem)
    counts = Counter(record.outcome.status.value for record in run.cases)
    summary = " · ".join(f"{number} {status}" for status, number in counts.items())
    console.line(f"{len(run.cases)} cases: {summary}" if run.cases else "No case was measured.")
    for path in output:
        console.line(f"Saved: {path}")


def _exit_code(run: Run, *, interrupted: bool) -> ExitCode:
    if interrupted:
        return ExitCode.INTERRUPTED
    bad = {Status.FAILED, Status.TIMEOUT}
    failed = any(record.outcome.status in bad for record in run.cases)
    return ExitCode.CASES_FAILED if failed else ExitCode.OK
