"""How a number of seconds is written on the command line."""

from __future__ import annotations

import math
from typing import Any

import click

_MOST_S = 1_000_000_000
"""More than thirty years; the system does not wait for much longer ones."""


class SecondsRange(click.FloatRange):
    """More than 0, and an end to it: ``nan`` and ``inf`` are numbers for Python, too."""

    def __init__(self) -> None:
        super().__init__(min=0, max=_MOST_S, min_open=True)

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The seconds that the text means."""
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds
