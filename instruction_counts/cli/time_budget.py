"""A budget of time: how it is written on the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from instruction_counts.cli.durations import DurationType


def time_budget_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option; the command gets ``time_budget`` in seconds, or None."""
    decorator = click.option(
        "--time-budget",
        type=DurationType(),
        metavar="DURATION",
        help="Start no case after this time: 90, 10m, 1h. Likely changes are measured first.",
    )
    return decorator(function)
