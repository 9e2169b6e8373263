"""An operator over a range of sizes: a table, the complexity, and a plot of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.analysis.operators.complexity import Fit
from instruction_counts.domain.records import Record
from instruction_counts.report import format as fmt
from instruction_counts.report import plots

Mode = tuple[Language, RuntimeMode, AutogradMode, int]


def mode_title(mode: Mode) -> str:
    """``C++ · Eager · Forward``, and the threads where there are several."""
    language, runtime, autograd, threads = mode
    parts = [language.value, runtime.value, autograd.value]
    return " · ".join([*parts, f"{threads} threads"][: 3 if threads == 1 else 4])


def sizes_table(sizes: Sequence[int], modes: Mapping[Mode, Mapping[int, Record]]) -> Table:
    """The counts: sizes down, modes across."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("N", justify="right", no_wrap=True)
    for mode in modes:
        table.add_column(mode_title(mode).replace(" · ", "\n"), justify="right", no_wrap=True)
        table.add_column("\n\ntime", justify="right", no_wrap=True, style="dim")
    for size in sizes:
        cells = [f"{size:,}"]
        for records in modes.values():
            outcome = records[size].outcome if size in records else None
            failed = outcome is None or outcome.instructions is None
            cells += [
                "failed" if failed or outcome is None else fmt.count(outcome.instructions),
                fmt.median(None if outcome is None else outcome.times),
            ]
        table.add_row(*cells)
    return table


def complexity(mode: Mode, fit: Fit | None) -> Text:
    """The fit in one sentence: where overhead ends and work begins."""
    title = f"{mode_title(mode)}: "
    if fit is None:
        return Text(f"{title}too few sizes were counted for a fit; four are needed")
    if fit.complexity.name == "1" or not fit.per_unit:
        what = f"{fit.overhead:,.0f} instructions whatever the size"
    else:
        work = f"{fit.per_unit:,.4g}·{fit.complexity.name}"
        what = f"{fit.overhead:,.0f} + {work} instructions" if fit.overhead else work
    begins = (
        f"; work outweighs overhead from N = {fit.work_begins:,.0f}"
        if fit.work_begins and fit.work_begins > 1
        else ""
    )
    return Text(f"{title}{what} (off by {100 * fit.error:.2g}%){begins}")


def plot(
    title: str, counts: Mapping[Mode, Mapping[int, int]], fits: Mapping[Mode, Fit | None]
) -> Iterator[Text]:
    """Counts by size on two logarithmic axes, with the fits as lines; plain text."""
    found = [plots.Curve(mode_title(mode), count, fits.get(mode)) for mode, count in counts.items()]
    for line in plots.curves(f"{title}: instructions", "N", found):
        yield Text(line)
