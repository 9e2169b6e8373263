"""How the smallest change of interest is written on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from instruction_counts.domain.effects import Effect


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
