"""What a number can be, and durations as people write them: ``90``, ``90s``, ``10m``.

The type of a field says what its numbers can be: whoever reads a file holds it to that.
"""

import re
from typing import Annotated, TypeAlias

import attrs


@attrs.frozen
class Bounds:
    """Numbers from ``least`` to ``most``, or those ``above`` one."""

    least: float | None = None
    most: float | None = None
    above: float | None = None

    def hold(self, number: float) -> bool:
        """Whether a number lies within them."""
        return (
            (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
        )

    def __str__(self) -> str:
        words = (("at least", self.least), ("at most", self.most), ("more than", self.above))
        return ", ".join(f"{text} {number:g}" for text, number in words if number is not None)


INTEGER = Bounds(-(2**63), 2**63 - 1)
"""What files, the database and other programs hold a whole number in: 64 bits."""

Count: TypeAlias = Annotated[int, Bounds(0)]
Positive: TypeAlias = Annotated[int, Bounds(1)]
Share: TypeAlias = Annotated[float, Bounds(0, 1)]
Seconds: TypeAlias = Annotated[float, Bounds(0)]


# Durations

DURATION = "a duration: 90 (seconds), 90s, 10m, 1h"
_LONGEST_S = 1_000_000_000
"""More than thirty years; the system does not wait much longer."""
_UNITS_S = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
_WRITTEN = re.compile(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*(s|m|min|h|)\s*", re.ASCII)


def seconds_of(written: object) -> float:
    """The seconds that a text or a number means: more than 0, and less than thirty years.

    Raises:
        ValueError: it is no duration; the message says what is.
    """
    text = str(written) if isinstance(written, str | int | float) else ""
    match = _WRITTEN.fullmatch(text)
    seconds = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
    if not 0 < seconds <= _LONGEST_S:
        raise ValueError(f"expected {DURATION}")
    return seconds


def span(seconds: float) -> str:
    """A budget as people write it: ``60 s``, ``10 min``, ``1 h``."""
    for unit_s, name, least in ((3600, "h", 1), (60, "min", 2)):
        if seconds >= least * unit_s and not seconds % unit_s:
            return f"{seconds // unit_s:g} {name}"
    return f"{seconds:g} s"
