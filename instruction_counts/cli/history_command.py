"""``history``: the counts of cases over the stored runs, and the steps in them."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

import attrs
import click

from core.types import CaseKey
from instruction_counts.analysis.functions import difference, top_causes
from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.min_effect import min_effect_option
from instruction_counts.cli.options import mode_options, store_option
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.domain.stored import StoredCount
from instruction_counts.history.series import all_series, pairs_at_steps
from instruction_counts.report import history as report
from instruction_counts.report.formats.entry import HistoryReport
from instruction_counts.report.registry import names_for, render
from instruction_counts.storage.noise import read_noises
from instruction_counts.storage.store import Store

_MOST_PLOTS = 8
_FOR_PEOPLE = ("plot", "table")


@click.command("history", cls=Command)
@click.argument("label")
@mode_options
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"]),
    metavar="DATE",
    help="Only runs since then (UTC): 2026-01-31. Or with a time: 2026-01-31T12:00.",
)
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N runs.")
@click.option(
    "--tag", multiple=True, metavar="GLOB", help="Only runs with a matching tag. Repeatable."
)
@min_effect_option
@click.option(
    "--format",
    "form",
    type=click.Choice([*_FOR_PEOPLE, *names_for(HistoryReport)]),
    help=f"Default: plot for up to {_MOST_PLOTS} cases, else table.",
)
@store_option
def command(
    label: str,
    modes: Selection,
    since: dt.datetime | None,
    last: int | None,
    tag: tuple[str, ...],
    min_effect: Effect,
    form: str | None,
    db: str | None,
) -> None:
    """Show what cases cost over the stored runs, in order of time, with the steps in it.

    LABEL is a glob over the label path, as for --only. Nothing is measured.

    \b
    Examples:
      python main.py history Pointwise/Math/add/Tensor-Tensor --language python
      python main.py history 'MatMul/*' --last 30 --tag 'nightly*' --format csv
    """  # noqa: D301 - \b keeps click from reflowing the examples
    selection = attrs.evolve(modes, only=(label,))
    with Store.open(db, must_exist=True) as store:
        keys = _selected(store.case_keys(), selection)
        points = _narrowed(store.counts(keys), since, last, tag)
        series = all_series(points, read_noises(), min_effect)
        causes = {pair: causes_of(store, *pair) for one in series for pair in pairs_at_steps(one)}
        shown = HistoryReport(series, causes)
        if form is None:
            form = "plot" if len(series) <= _MOST_PLOTS else "table"
        if form in _SHOWN:
            _SHOWN[form](shown)
        else:
            console.write(str(render(form, shown)))


def causes_of(store: Store, base: StoredCount, new: StoredCount) -> tuple[str, ...]:
    """The largest changes from one stored count to another; none where no functions are stored."""
    costs = [store.functions(one.run_id, one.build, one.case) for one in (base, new)]
    return () if None in costs else top_causes(difference(*costs))


def _selected(known: Collection[CaseKey], selection: Selection) -> set[CaseKey]:
    kept = {key for key in known if selection.keeps_key(key)}
    if kept:
        return kept
    (label,) = selection.only
    if any(Selection(selection.only).keeps_key(key) for key in known):
        raise UsageError(
            f"'{label}' has no case of these modes in the store",
            "Leave out --language, --runtime, --autograd or --num-threads.",
        )
    paths = {key.path.lower(): key.path for key in known}
    near = [paths[one] for one in difflib.get_close_matches(label.lower(), paths, n=3)]
    hint = f" Near: {', '.join(near)}." if near else ""
    raise UsageError(
        f"no stored case matches '{label}'.{hint}",
        "LABEL is a glob over the label path, as for --only. `run` stores cases.",
    )


def _narrowed(
    points: Sequence[StoredCount],
    since: dt.datetime | None,
    last: int | None,
    tags: Collection[str],
) -> list[StoredCount]:
    """The points of the runs that were asked for.

    Raises:
        UsageError: there are none.
    """
    kept = [
        point
        for point in points
        if (since is None or _began(point) >= since)
        and (not tags or any(fnmatchcase(tag, glob) for tag in point.tags for glob in tags))
    ]
    if last is not None:
        runs = list(dict.fromkeys(point.run_id for point in kept))[-last:]
        kept = [point for point in kept if point.run_id in set(runs)]
    if not kept:
        raise UsageError("no run with this case is left", "Widen --since and --tag. See: runs list")
    return kept


def _began(point: StoredCount) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(point.started_at)
    except ValueError:
        return dt.datetime.min  # noqa: DTZ901 - compared with what click reads, which has no zone
    return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _show_plots(shown: HistoryReport) -> None:
    for number, one in enumerate(shown.series):
        if number:
            console.line("")
        for text in report.plots(one, shown.causes):
            console.render(text)


def _show_table(shown: HistoryReport) -> None:
    console.render(report.table(shown.series))


_SHOWN = {"plot": _show_plots, "table": _show_table}
