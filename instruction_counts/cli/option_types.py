"""How files, durations and sizes of change are written on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from instruction_counts.domain.bounds import seconds_of
from instruction_counts.domain.effects import Effect

FILE = click.Path(path_type=Path, dir_okay=False)
"""A path, which need not exist yet."""


class DurationType(click.ParamType[float]):
    """A duration, in seconds: ``90``, ``90s``, ``10m``, ``1h``."""

    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The seconds that the text means."""
        try:
            return seconds_of(value)
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


class EffectType(click.ParamType[Effect]):
    """A size of change, as `Effect.parse` reads it."""

    name = "effect"

    def convert(self, value: Any, param: Any, ctx: Any) -> Effect:
        """The size of change that the text means."""
        if isinstance(value, Effect):
            return value
        try:
            return Effect.parse(str(value))
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


def min_effect_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option; the command gets ``min_effect``."""
    decorator = click.option(
        "--min-effect",
        type=EffectType(),
        default="0.05%,3",
        show_default=True,
        metavar="EFFECT",
        help="Smallest change of interest. A percentage, an instruction count, or both: 0.05%,3.",
    )
    return decorator(function)


def time_budget_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option; the command gets ``time_budget`` in seconds, or None."""
    decorator = click.option(
        "--time-budget",
        type=DurationType(),
        metavar="DURATION",
        help="Start no case after this time: 90, 10m, 1h. Likely changes are measured first.",
    )
    return decorator(function)
