"""How a duration is written on the command line: ``90``, ``90s``, ``10m``, ``1h``."""

from __future__ import annotations

from typing import Any

import click

from instruction_counts.domain.durations import seconds_of


class DurationType(click.ParamType[float]):
    """A duration, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The seconds that the text means."""
        try:
            return seconds_of(value)
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)
