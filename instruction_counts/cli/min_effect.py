"""How the smallest change of interest is written on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import attrs
import click

from instruction_counts.analysis.verdicts import MinEffect

# Of more digits a number can be infinite, or too long to be read.
_PART = re.compile(r"\s*(\d{1,18}(?:\.\d+)?)%\s*|\s*(\d{1,18})\s*")


class MinEffectType(click.ParamType[MinEffect]):
    """``0.1%``, ``20`` (instructions), or both: ``0.1%,20``."""

    name = "effect"

    def convert(self, value: Any, param: Any, ctx: Any) -> MinEffect:
        """The smallest change of interest that the text means."""
        del param, ctx
        if isinstance(value, MinEffect):
            return value
        effect = MinEffect()
        for part in str(value).split(","):
            match = _PART.fullmatch(part)
            if match is None:
                self.fail(f"{part!r} is neither a share (0.1%) nor a number of instructions (20)")
            if match[1]:
                effect = attrs.evolve(effect, relative=float(match[1]) / 100)
            else:
                effect = attrs.evolve(effect, absolute=int(match[2]))
        return effect


def min_effect_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option; the command gets ``min_effect``."""
    decorator = click.option(
        "--min-effect",
        type=MinEffectType(),
        default="0.05%,3",
        show_default=True,
        metavar="EFFECT",
        help="The smallest change of interest: a share and instructions; both have to be reached.",
    )
    return decorator(function)
