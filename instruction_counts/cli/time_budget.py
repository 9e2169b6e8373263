"""A budget of time: how it is written on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

_UNITS_S = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


class SecondsType(click.ParamType[float]):
    """``90``, ``90s``, ``10m`` or ``1h``."""

    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The seconds that the text means."""
        del param, ctx
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|)\s*", str(value))
        seconds = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
        if not 0 < seconds < float("inf"):
            self.fail(f"{value!r} is no time: 90 (seconds), 10m, 1h")
        return seconds


def time_budget_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option; the command gets ``time_budget`` in seconds, or None."""
    decorator = click.option(
        "--time-budget",
        type=SecondsType(),
        metavar="SECONDS",
        help="Measure what is most likely to have changed first, and start no case after so long "
        "(90, 10m, 1h). What is left out is told.",
    )
    return decorator(function)
