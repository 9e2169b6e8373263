"""``explain``: which functions changed between two measurements of a case."""

from __future__ import annotations

import difflib
from pathlib import Path

import attrs
import click

from core.types import CaseKey
from instruction_counts.analysis.functions import difference
from instruction_counts.analysis.profiles import write_callgrind, write_speedscope
from instruction_counts.analysis.sides import Side, read_side
from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import mode_options, store_option
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.selection import Selection
from instruction_counts.report.comparison import title_of
from instruction_counts.report.explain import SECTIONS, Explanation, Report
from instruction_counts.report.registry import Destination
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.system.program import program_name

_NAMED = 12
_SHOWN = 15


@click.command("explain", cls=Command)
@click.argument("base")
@click.argument("new")
@click.argument("label")
@mode_options
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(SECTIONS),
    help="What to show. Repeatable.  [default: all]",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_SHOWN,
    show_default=True,
    metavar="N",
    help="Functions shown. 0 shows all that changed.",
)
@click.option(
    "--output",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the explanation: .json (everything) or .md. Repeatable.",
)
@click.option(
    "--callgrind",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write both sides for KCachegrind. Files: callgrind.out.base and callgrind.out.new.",
)
@click.option(
    "--speedscope",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write flame graphs for speedscope.app: base, new and the difference.",
)
@store_option
def command(
    base: str,
    new: str,
    label: str,
    modes: Selection,
    by: tuple[str, ...],
    limit: int,
    output: tuple[Path, ...],
    callgrind: Path | None,
    speedscope: Path | None,
    db: str | None,
) -> None:
    """Say which functions changed between two measurements of a case; nothing is measured.

    BASE and NEW are each a stored run (its number or tag) or a JSON file. RUN:NAME is one build of
    a run that has several. LABEL is a glob that leaves one case.

    \b
    Examples:
      python main.py explain 11 12 Pointwise/Math/add/Tensor-Tensor --language python
      python main.py explain two.json:base two.json:new Reduction/sum --speedscope sum.json
    """  # noqa: D301 - \b keeps click from reflowing the examples
    destinations = [Destination.of(path, Report) for path in output]
    selection = attrs.evolve(modes, only=(label,))
    with LazyStore(db) as runs:
        explanation = _explanation(read_side(base, runs), read_side(new, runs), selection)
    report = Report(explanation, tuple(by) or SECTIONS, limit)
    console.render(report)
    written: list[Path] = []
    title = title_of(explanation.key)
    if callgrind is not None:
        written += write_callgrind(callgrind, title, *explanation.functions)
    if speedscope is not None:
        write_speedscope(speedscope, title, explanation.difference)
        written.append(speedscope)
    written += [destination.write(report) for destination in destinations]
    for path in written:
        console.line(f"Saved: {path}")


def _explanation(base: Side, new: Side, selection: Selection) -> Explanation:
    key = _only_key(base, new, selection)
    functions = []
    for side, other in ((base, new), (new, base)):
        record = side.records.get(key)
        if record is None:
            raise UsageError(
                f"{title_of(key)} is in {other.title}, and not in {side.title}",
                f"Measure it on both sides: {program_name()} run --only …",
            )
        outcome = record.outcome
        if outcome.status is not Status.OK:
            why = f": {outcome.failure.summary}" if outcome.failure is not None else ""
            raise UsageError(
                f"{title_of(key)} has no count in {side.title}: {outcome.status.value}{why}",
                "Choose another case, or measure it again.",
            )
        if outcome.instructions is None or outcome.functions is None:
            raise UsageError(
                f"{title_of(key)} was not counted in {side.title}",
                "Measure it again, without --no-counts.",
            )
        functions.append(outcome.functions)
    return Explanation(key, base, new, difference(*functions))


def _only_key(base: Side, new: Side, selection: Selection) -> CaseKey:
    known = list(dict.fromkeys([*base.records, *new.records]))
    labelled = [key for key in known if Selection(selection.only).keeps_key(key)]
    (label,) = selection.only
    if not labelled:
        raise UsageError(
            f"no case of {base.title} or {new.title} matches '{label}'.{_near(label, known)}",
            "LABEL is a glob over the label path, as for --only.",
        )
    kept = [key for key in labelled if selection.keeps_key(key)]
    if len(kept) == 1:
        return kept[0]
    found = [f"  {title_of(key)}" for key in kept or labelled]
    listed = "\n".join([*found[:_NAMED], *(["  …"] if len(found) > _NAMED else [])])
    remedy = "Narrow it: a longer LABEL, --language, --runtime, --autograd or --num-threads."
    if not kept:
        raise UsageError(f"'{label}' has no case of these modes; it has\n{listed}", remedy)
    raise UsageError(f"{len(kept)} cases match '{label}':\n{listed}", remedy)


def _near(label: str, known: list[CaseKey]) -> str:
    paths = {key.path.lower(): key.path for key in known}
    names = {key.label[-1].lower(): key.path for key in known}
    asked = label.lower().strip("/")
    places: list[tuple[str, dict[str, str]]] = [(asked, paths), (asked.rpartition("/")[2], names)]
    near = [
        texts[found]
        for text, texts in places
        for found in difflib.get_close_matches(text, texts, n=2, cutoff=0.7)
    ]
    return f" Near: {', '.join(dict.fromkeys(near))}." if near else ""
