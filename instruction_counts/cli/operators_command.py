"""``operators``: list them, what they leave uncovered, and one over a range of sizes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import click
from rich.table import Table
from rich.text import Text

from core.api import GroupedBenchmark
from core.expand import materialize
from core.types import Label
from instruction_counts.analysis.complexity import fit
from instruction_counts.cli import console
from instruction_counts.cli.coverage_command import command as coverage_command
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Group
from instruction_counts.cli.measured_run import measured_run
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.options import build_options, mode_options, store_option
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.selection import Selection, select
from instruction_counts.report import sizes as report
from instruction_counts.report import table as results_table
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.operators.calls import Overrides, calls
from instruction_counts.sources.operators.catalogue import Schema, load_schemas
from instruction_counts.sources.operators.definitions import definitions_of, schemas_by_name
from instruction_counts.sources.operators.entries import (
    DTYPES,
    LARGEST_SEED,
    SIZE,
    VARIANTS,
    Entry,
    Template,
)
from instruction_counts.sources.operators.reading import read_operators
from instruction_counts.sources.operators.sizes import (
    at_size,
    check_sizes,
    sizes_in,
    templates,
    usual_sizes,
)
from instruction_counts.sources.operators.source import remarks, selected, standard_file
from instruction_counts.system.cache import Cache

_SHORT = {name: name[:2] for name in VARIANTS}
_FILE = click.option(
    "--operators-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Another file of operators than definitions/operators.yaml.",
)


@click.group("operators", cls=Group)
def command() -> None:
    """List operators, tell which of torch's are not covered, measure one over many sizes.

    To measure operators, use `run --operators PATTERN`; every other command takes it, too.
    """


command.add_command(coverage_command)


@command.command("list")
@click.argument("patterns", nargs=-1)
@_FILE
@format_option("a list with an object for each operator")
def list_(patterns: tuple[str, ...], operators_file: Path | None, form: str) -> None:
    """List operators: by name (torch.add, add, 'torch.fft.*') or category:NAME; default all."""
    entries = selected(read_operators(operators_file or standard_file()), patterns or ("*",))
    if form == "json":
        document = [_as_json(entry) for entry in entries]
        console.write(json.dumps(document, indent=1, allow_nan=False))
        return
    console.render(_listed(entries))
    legend = ", ".join(f"{short} {name}" for name, short in _SHORT.items())
    console.line(f"\nshapes: {legend}")
    categories = {entry.category for entry in entries}
    console.note(
        f"{_counted(len(entries), 'operator', 'operators')} in "
        f"{_counted(len(categories), 'category', 'categories')}"
    )


def _listed(entries: Sequence[Entry]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("operator", overflow="fold")
    table.add_column("count", justify="right")
    for heading in ("inputs", "shapes", "without"):
        table.add_column(heading, overflow="fold")
    by_category: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_category[entry.category].append(entry)
    for category, below in by_category.items():
        table.add_row(Text(category, style="bold"), str(len(below)))
        for entry in below:
            shapes = " ".join(_SHORT[name] for name in entry.variants)
            inputs = ", ".join(entry.inputs)
            table.add_row(f"  {entry.name}", "", inputs, shapes, _lacks(entry))
    return table


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _lacks(entry: Entry) -> str:
    lacks = {
        "C++": entry.cpp is False,
        "TorchScript": not entry.torchscript,
        "backward": not entry.autograd,
    }
    return ", ".join(name for name, lack in lacks.items() if lack)


def _as_json(entry: Entry) -> dict[str, object]:
    return {
        "name": entry.name,
        "category": entry.category,
        "inputs": list(entry.inputs),
        "kwargs": list(entry.kwargs),
        "variants": list(entry.variants),
        "autograd": entry.autograd,
        "torchscript": entry.torchscript,
        "cpp": entry.cpp is not False,
        "note": entry.note,
    }


@command.command("sizes")
@click.argument("operator")
@_FILE
@click.option(
    "--sizes",
    "sizes_text",
    metavar="FIRST:LAST[:FACTOR]",
    help="The sizes N: a range by a factor (4), or a list 10,100,1000. Default: up to 65,536 "
    "elements in an input, fewer where the output is much larger.",
)
@click.option(
    "--scale",
    multiple=True,
    metavar="NAME=[N,…]",
    help="The shape of an input with N in it. Repeatable. Default: what the entry "
    "suggests, or else the first size of the first input is N, wherever it occurs.",
)
@click.option("--dtype", type=click.Choice(DTYPES), help="Of the inputs. Default: float32.")
@click.option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    default=0,
    show_default=True,
    help="Of the inputs' values.",
)
@mode_options
@build_options
@measuring_options
@store_option
def sizes_command(
    operator: str,
    operators_file: Path | None,
    sizes_text: str | None,
    scale: tuple[str, ...],
    dtype: str | None,
    seed: int,
    modes: Selection,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    db: str | None,
) -> int:
    """Measure one operator over a range of sizes: where overhead ends and work begins.

    Prints the counts, the complexity that fits them best, and a plot. The default is eager
    forward in both languages.

    \b
    Examples:
      python main.py operators sizes torch.add
      python main.py operators sizes torch.mm --sizes 4:256:2 --language c++
      python main.py operators sizes torch.sum --scale 'input=[N,64]'
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to fit", "Drop it.")
    if len(builds) > 1:
        raise UsageError("sizes are measured on one build", "Name one --build.")
    entry = _one_entry(operator, operators_file)
    shapes = templates(entry, scale)
    stated = sizes_text or ("" if scale else entry.sizes)
    sizes = sizes_in(stated) if stated else usual_sizes(shapes)
    check_sizes(shapes, sizes)
    console.note(_shapes(shapes))
    builds = builds or (default_build(),)
    modes = attrs.evolve(
        modes,
        runtimes=modes.runtimes or ("Eager",),
        autograds=modes.autograds or ("Forward",),
    )
    asked = Overrides(dtypes=(dtype,) if dtype else (), seed=seed)
    schemas = schemas_by_name(load_schemas(default_build(), Cache()))
    made = over_sizes(entry, asked, shapes, sizes, schemas, named=bool(scale))
    for line in remarks((entry,), asked, made.values()):
        console.note(line)
    run = measured_run(select(materialize(made), modes), builds, measuring, db)
    return _report_sizes(entry, sizes, run)


def over_sizes(
    entry: Entry,
    asked: Overrides,
    shapes: Mapping[str, Template],
    sizes: Sequence[int],
    schemas: Mapping[str, Sequence[Schema]],
    *,
    named: bool,
) -> dict[Label, GroupedBenchmark]:
    """The definitions of an operator at each of ``sizes``, which stands in their metadata as N.

    Labels have the shapes that grow where these are ``named``, and the dtype that was asked for:
    what is another case has another label.
    """
    made: dict[Label, GroupedBenchmark] = {}
    for size in sizes:
        growing = [_shapes(shapes)] if named else []
        variant = ", ".join([*growing, f"{SIZE}={size}"])
        found = calls(entry, attrs.evolve(asked, inputs=(at_size(shapes, size),)))
        renamed = [attrs.evolve(call, variant=variant) for call in found]
        for label, group in definitions_of(renamed, schemas).items():
            made[label] = attrs.evolve(group, metadata={**group.metadata, SIZE: size})
    return made


def _shapes(shapes: Mapping[str, Template]) -> str:
    return ", ".join(f"{name}={_shape(shape)}" for name, shape in shapes.items())


def _shape(shape: Sequence[int | str]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _one_entry(operator: str, file: Path | None) -> Entry:
    entries = selected(read_operators(file or standard_file()), (operator,))
    exact = [entry for entry in entries if entry.name.lower() == operator.lower()]
    if len(exact or entries) > 1:
        names = ", ".join(entry.name for entry in entries[:5])
        raise UsageError(f"{operator} is several operators: {names}", "Name one of them.")
    return (exact or list(entries))[0]


def _report_sizes(entry: Entry, sizes: Sequence[int], run: Run) -> int:
    by_mode: dict[report.Mode, dict[int, Record]] = defaultdict(dict)
    for record in run.cases:
        mode = (record.language, record.runtime, record.autograd, record.num_threads)
        by_mode[mode][record.metadata[SIZE]] = record
    console.render(report.sizes_table(sizes, by_mode))
    counts = {mode: _counts(records) for mode, records in by_mode.items()}
    fits = {mode: fit(by_size) for mode, by_size in counts.items()}
    console.line("")
    for mode, found in fits.items():
        console.render(report.complexity(mode, found))
    console.line("")
    for line in report.plot(entry.name, {mode: one for mode, one in counts.items() if one}, fits):
        console.render(line)
    for problem in results_table.problems(run):
        console.line(problem)
    failed = any(record.outcome.status is not Status.OK for record in run.cases)
    return ExitCode.CASES_FAILED if failed else ExitCode.OK


def _counts(records: Mapping[int, Record]) -> dict[int, int]:
    return {
        size: record.outcome.instructions.per_run
        for size, record in sorted(records.items())
        if record.outcome.instructions is not None
    }
