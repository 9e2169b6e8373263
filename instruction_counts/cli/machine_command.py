"""``selftest`` and ``cache``: whether this machine counts exactly, and what is kept on it."""

from __future__ import annotations

import click

from instruction_counts.cli import console, stored_run
from instruction_counts.cli.exit_codes import exit_code
from instruction_counts.cli.help import Command, Group
from instruction_counts.cli.measuring import Asked, allocator_option, asking
from instruction_counts.cli.options import (
    build_options,
    case_options,
    definitions_on_cpu_options,
    device,
    only_build,
    option,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.core.devices import CPU, CUDA
from instruction_counts.domain.errors import UsageError
from instruction_counts.report.selftest import launches_document, selftest_document
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.launches import compare_launches, launch_cases
from instruction_counts.session.selftest import run_selftest, selftest_cases
from instruction_counts.storage.store import Store
from instruction_counts.system.cache import Cache


@click.group("cache", cls=Group)
def cache_command() -> None:
    """Show or clear what is kept between runs: compiled C++, precompiled headers, environments."""


@cache_command.command("show")
def show() -> None:
    """Show where the cache is, and what it contains."""
    cache = Cache()
    console.line(str(cache.root), style="bold")
    for kind, sizes in cache.sizes().items():
        size = f"{sum(sizes) / 2**20:,.0f} MiB"
        entries = "entry  " if len(sizes) == 1 else "entries"
        console.line(f"  {kind:<12} {len(sizes):>6,} {entries} {size:>12}")


@cache_command.command("clear")
def clear() -> None:
    """Remove everything."""
    cache = Cache()
    cache.clear()
    console.note(f"Cleared everything in {cache.root}")


@click.command("selftest", cls=Command)
@asking(definitions_on_cpu_options, case_options, build_options, store_option)
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
