"""Numbers as people read them."""

from __future__ import annotations

from instruction_counts.domain.outcomes import Instructions, Times

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def count(instructions: Instructions | None) -> str:
    """``18,063``; with a leading ``~`` where the windows did not agree."""
    if instructions is None:
        return "–"
    return f"{'' if instructions.exact else '~'}{instructions.per_run:,}"


def duration(seconds: float) -> str:
    """Three digits and a unit: ``4.71 us``."""
    for unit, name in _UNITS:
        value = seconds / unit
        if value >= 999.5:
            return f"{value:,.0f} {name}"
        if value >= 0.9995:  # what rounds to 1 is 1
            return f"{value:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def median(times: Times | None) -> str:
    """The median of wall times."""
    return "–" if times is None else duration(times.median_s)


def spread(times: Times | None) -> str:
    """The interquartile range, relative to the median."""
    if times is None or not times.median_s:
        return ""
    return f"±{100 * times.iqr_s / times.median_s:.0f}%"


def clock(seconds: float) -> str:
    """Minutes and seconds: ``2:05``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
