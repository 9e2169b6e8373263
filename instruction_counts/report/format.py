"""Numbers as people read them, the same on every screen and in every file."""

import math
from collections.abc import Callable, Sequence

from instruction_counts.domain.outcomes import Instructions, Times
from instruction_counts.report.document import Cell, Role, Unit

ABSENT = "–"

_SECONDS = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))
_BYTES = ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"), (2.0**40, "TiB"))


def written(cell: Cell, unit: Unit) -> str:
    """The value of a cell: ``~18,063``, ``+4.52%``, ``4.71 us``; a dash where it is not known."""
    value = cell.value
    if value is None:
        return ABSENT
    text = value if isinstance(value, str) else _WRITTEN[unit](value)
    return f"{'~' if cell.approximate else ''}{text}"


def count(instructions: Instructions | None) -> str:
    """``18,063``; with a leading ``~`` where the windows did not agree."""
    return written(count_cell(instructions), Unit.COUNT)


def count_cell(instructions: Instructions | None) -> Cell:
    """The count of an iteration; None where there is none."""
    if instructions is None:
        return Cell(None)
    return Cell(instructions.per_run, approximate=not instructions.exact)


def duration(seconds: float) -> str:
    """Three digits and a unit: ``4.71 us``."""
    return f"-{duration(-seconds)}" if seconds < 0 else _in_unit(seconds, _SECONDS)


def size(number: float) -> str:
    """Three digits and a unit: ``64 KiB``."""
    return _in_unit(number, _BYTES)


def _in_unit(amount: float, units: Sequence[tuple[float, str]]) -> str:
    """In the largest unit of which there is one, after rounding."""
    for unit, name in units:
        value = amount / unit
        if value < 999.5:
            return f"{value:.3g} {name}"
    return f"{value:,.0f} {name}"


def relative(fraction: float) -> str:
    """A change as a percentage: ``+4.52%``; of nothing there is none."""
    if math.isinf(fraction):
        return "from 0"
    return f"{fraction:+.2%}" if fraction else "0%"


def share(fraction: float) -> str:
    """A part as a percentage: ``41.2%``; ``100.0%`` is all of it, and nothing less."""
    return f"{min(fraction, 0.999) if 0.999 < fraction < 1 else fraction:.1%}"


def time_cell(times: Times | None) -> Cell:
    """The median of wall times, in seconds; None where there are none."""
    return Cell(None if times is None else times.median_s)


def spread_cell(times: Times | None) -> Cell:
    """The interquartile range as a fraction of the median; nothing where there is none."""
    return Cell(times.iqr_s / times.median_s if times and times.median_s else "", Role.DIM)


def plural(number: int, noun: str, nouns: str = "") -> str:
    """``1 case``, ``1,204 cases``."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


_WRITTEN: dict[Unit, Callable[[float], str]] = {
    Unit.TEXT: str,
    Unit.COUNT: lambda number: f"{number:,}",
    Unit.CHANGE: lambda number: f"{number:+,}" if number else "0",
    Unit.NUMBER: lambda number: f"{number:.3g}",
    Unit.RELATIVE: relative,
    Unit.SHARE: share,
    Unit.SPREAD: lambda number: f"±{number:,}",
    Unit.RELATIVE_SPREAD: lambda fraction: f"±{fraction:.0%}",
    Unit.SECONDS: duration,
    Unit.BYTES: size,
}
