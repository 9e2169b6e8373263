"""Plots in plain text, drawn by plotext. One at a time: plotext has one figure, which is global."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import attrs
import numpy as np
import plotext

from instruction_counts.analysis.operators import Fit
from instruction_counts.history.steps import Level

_COUNT, _OUTLIER, _LEVEL, _FIT = "•", "×", "─", "·"
_SERIES = "●○■□▲△◆◇"

_CURVES_WIDTH, _CURVES_HEIGHT = 78, 17
_LEVELS_WIDTH, _LEVELS_HEIGHT = 80, 9
_COLUMNS_PER_COUNT = 4
_LEAST_MARGIN = 6


@attrs.frozen
class Curve:
    """Counts by size, and the complexity that fits them."""

    title: str
    counts: Mapping[int, int]
    fit: Fit | None = None


def curves(title: str, found: Sequence[Curve]) -> Iterator[str]:
    """Counts by size on two logarithmic axes, with the fits as lines."""
    values = [count for curve in found for count in curve.counts.values()]
    if not values:
        return
    sizes = sorted({size for curve in found for size in curve.counts})
    _begin(_CURVES_WIDTH, _CURVES_HEIGHT)
    plotext.xscale("log")
    plotext.yscale("log")
    for number, curve in enumerate(found):
        if curve.fit is not None:
            xs = np.geomspace(min(curve.counts), max(curve.counts), _CURVES_WIDTH + 1).tolist()
            plotext.plot(xs, [max(1.0, curve.fit.at(size)) for size in xs], marker=_FIT)
        marker = _SERIES[number % len(_SERIES)]
        counts = list(curve.counts.values())
        plotext.scatter(list(curve.counts), counts, marker=marker, label=curve.title)
    _logarithmic_ticks(plotext.yticks, min(values), max(values), 5)
    _logarithmic_ticks(plotext.xticks, sizes[0], sizes[-1], 7)
    plotext.title(title)
    plotext.xlabel("N")
    yield from _lines()


def levels(
    counts: Sequence[int], outliers: Collection[int], found: Sequence[Level]
) -> Iterator[str]:
    """Counts in order as dots, ``outliers`` (positions) as crosses, levels as lines.

    The scale is that of the counts at levels: outliers beyond it stand at its edge.
    """
    inside = [count for place, count in enumerate(counts) if place not in outliers]
    low, high = min(inside), max(inside)
    margin = levels_margin(counts, outliers)
    is_flat = low == high
    columns = min(_LEVELS_WIDTH - margin, _COLUMNS_PER_COUNT * len(counts) + 1)
    _begin(margin + columns, 1 if is_flat else _LEVELS_HEIGHT)
    plotext.xaxes(False, False)
    plotext.yaxes(True, False)
    plotext.xlim(-0.5, len(counts) - 0.5)
    plotext.ylim(low - is_flat, high + is_flat)
    for level in found:
        plotext.plot([level.start, level.end - 1], [level.count] * 2, marker=_LEVEL)
    for marker, are_outliers in ((_COUNT, False), (_OUTLIER, True)):
        places = [place for place in range(len(counts)) if (place in outliers) is are_outliers]
        shown = [min(max(counts[place], low), high) for place in places]
        if places:
            plotext.scatter(places, shown, marker=marker)
    ticks = [low] if is_flat else [low, (low + high) / 2, high]
    plotext.yticks(ticks, [f"{round(tick):>{margin - 2},} " for tick in ticks])
    plotext.xticks([])
    yield from _lines()


def levels_margin(counts: Sequence[int], outliers: Collection[int]) -> int:
    """The columns before the first count: the scale and the axis."""
    highest = max(count for place, count in enumerate(counts) if place not in outliers)
    return max(len(f"{highest:,}"), _LEAST_MARGIN) + 2


def _begin(width: int, height: int) -> None:
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plotsize(width, height)


def _lines() -> Iterator[str]:
    return map(str.rstrip, plotext.uncolorize(plotext.build()).splitlines())


def _logarithmic_ticks(set_ticks: Callable[..., None], low: int, high: int, number: int) -> None:
    ticks = np.geomspace(low, high, number).tolist() if high > low else [float(low)]
    set_ticks(ticks, [f"{tick:,.0f}" for tick in ticks])
