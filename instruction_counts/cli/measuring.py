"""The options of commands that measure, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from instruction_counts.cli.options import is_given, specification_of
from instruction_counts.cli.seconds import SecondsRange
from instruction_counts.domain.errors import UsageError
from instruction_counts.engines.entry import Ability
from instruction_counts.engines.registry import DEFAULT, engines, require
from instruction_counts.session.builds import MeasurementSettings

_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice([entry.name for entry in engines()]),
        default=DEFAULT,
        show_default=True,
        help=" ".join(f"{entry.name}: {entry.summary}." for entry in engines()),
    ),
    click.option(
        "--allocator",
        type=click.Choice(["steady", "system"]),
        default="steady",
        show_default=True,
        help="What allocates in the counted process: a constant-time stand-in, or the C library.",
    ),
    click.option(
        "--pin-isa",
        type=click.Choice(["avx2", "default"]),
        help="Make times and counts run the same kernels (Valgrind has no AVX-512).",
    ),
    click.option(
        "--jobs", type=click.IntRange(min=1), metavar="N", help="Lanes. Default: one a core."
    ),
    click.option("--cores", metavar="LIST", help="Cores to use: 0-1,3. Default: all available."),
    click.option(
        "--timeout",
        "timeout_s",
        type=SecondsRange(),
        default=600,
        show_default=True,
        metavar="SECONDS",
        help="Limit for each step of a case, such as compiling, timing and counting it.",
    ),
    click.option(
        "--retries",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        help="Further tries for a case whose process died or timed out.",
    ),
    click.option("--no-counts", is_flag=True, help="Leave the instruction counts out."),
    click.option("--no-times", is_flag=True, help="Leave the wall times out."),
)


_NAMES = (
    "engine",
    "allocator",
    "pin_isa",
    "jobs",
    "cores",
    "timeout_s",
    "retries",
    "no_counts",
    "no_times",
)


def measuring_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to measure; the command gets ``measuring``."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        own = {name: kwargs.pop(name) for name in _NAMES}
        stated = specification_of(kwargs.get("definitions"))
        if stated is not None and stated.timeout_s is not None and not is_given("timeout_s"):
            own["timeout_s"] = stated.timeout_s
        if own["no_counts"] and own["no_times"]:
            raise UsageError("--no-counts and --no-times leave nothing to measure", "Drop one.")
        if own["pin_isa"]:
            require(own["engine"], Ability.PINNED_ISA, "--pin-isa")
        counts, times = not own.pop("no_counts"), not own.pop("no_times")
        measuring = MeasurementSettings(**own, counts=counts, times=times)
        return function(*args, measuring=measuring, **kwargs)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return wrapper
