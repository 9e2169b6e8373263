"""An operator over a range of sizes: a table, the complexity, and a plot of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import plotext
from rich.table import Table
from rich.text import Text

from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.analysis.complexity import Fit
from instruction_counts.domain.records import Record
from instruction_counts.report import format as fmt

WIDTH, _HEIGHT = 78, 17
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
    if not any(counts.values()):
        return
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plotsize(WIDTH, _HEIGHT)
    plotext.xscale("log")
    plotext.yscale("log")
    for number, (mode, by_size) in enumerate(counts.items()):
        fit = fits.get(mode)
        if fit is not None:
            sizes = _between(min(by_size), max(by_size))
            plotext.plot(sizes, [max(1.0, fit.at(size)) for size in sizes], marker="·")
        marker = "●○■□▲△◆◇"[number % 8]
        plotext.scatter(
            list(by_size), list(by_size.values()), marker=marker, label=mode_title(mode)
        )
    seen = [count for by_size in counts.values() for count in by_size.values()]
    sizes_seen = sorted({size for by_size in counts.values() for size in by_size})
    _ticks(plotext.yticks, min(seen), max(seen), 5)
    _ticks(plotext.xticks, sizes_seen[0], sizes_seen[-1], 7)
    plotext.title(f"{title}: instructions")
    plotext.xlabel("N")
    lines = plotext.uncolorize(plotext.build()).splitlines()
    for line in lines:
        yield Text(line.rstrip())


def _ticks(
    set_ticks: Callable[[list[float], list[str]], None], low: int, high: int, n: int
) -> None:
    ticks = [low * (high / low) ** (step / (n - 1)) for step in range(n)] if high > low else [low]
    set_ticks([float(tick) for tick in ticks], [f"{tick:,.0f}" for tick in ticks])


def _between(low: int, high: int) -> list[float]:
    steps = WIDTH
    return [low * (high / low) ** (step / steps) for step in range(steps + 1)]
