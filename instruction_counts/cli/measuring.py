"""The options of commands that measure, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import attrs
import click

from instruction_counts.cli.option_types import DurationType
from instruction_counts.cli.options import specification_of
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.engines.engine import Ability
from instruction_counts.engines.registry import DEFAULT, engines, require
from instruction_counts.execution.registry import DEFAULT as DEFAULT_LANES
from instruction_counts.execution.registry import kinds_of_lanes
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import STANDARD, Definitions

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
        help="Allocator of the counted process: constant-time, or that of the C library.",
    ),
    click.option(
        "--pin-isa",
        type=click.Choice(["avx2", "default"]),
        help="Instruction set for both times and counts (Valgrind has no AVX-512).",
    ),
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Parallel workers  [default: one per core]",
    ),
    click.option("--cores", metavar="LIST", help="Cores to use: 0-1,3  [default: all]"),
    click.option(
        "--timeout",
        "timeout_s",
        type=DurationType(),
        metavar="DURATION",
        help="Time limit for each step of a case, such as counting it  [default: 10m]",
    ),
    click.option(
        "--retries",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        help="Retries for a case whose process died or timed out.",
    ),
    *(
        click.option(
            "--lanes",
            type=click.Choice([kind.name for kind in kinds]),
            default=DEFAULT_LANES,
            show_default=True,
            help=" ".join(f"{kind.name}: {kind.summary}." for kind in kinds),
        )
        for kinds in [kinds_of_lanes()]
        if len(kinds) > 1
    ),
    click.option("--no-counts", is_flag=True, help="Do not count instructions."),
    click.option("--no-times", is_flag=True, help="Do not measure wall times."),
)


_NAMES = (
    "engine",
    "allocator",
    "pin_isa",
    "jobs",
    "cores",
    "timeout_s",
    "retries",
    "lanes",
    "no_counts",
    "no_times",
)


def measuring_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to measure; the command gets ``measuring``."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        own = {name: kwargs.pop(name) for name in _NAMES if name in kwargs}
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


class Asked(NamedTuple):
    """What the command line and the specification say together."""

    definitions: Definitions
    builds: tuple[Build, ...]
    measuring: MeasurementSettings
    db: str | None


def merged(
    definitions: Definitions | None,
    builds: tuple[Build, ...] = (),
    measuring: MeasurementSettings | None = None,
    db: str | None = None,
) -> Asked:
    """What options say, else the specification that ``definitions`` is, else the defaults."""
    stated = specification_of(definitions)
    measuring = measuring or MeasurementSettings()
    if stated is not None:
        builds = builds or stated.builds
        db = db or stated.reporters.database
        if measuring.timeout_s is None:
            measuring = attrs.evolve(measuring, timeout_s=stated.timeout_s)
    return Asked(definitions or STANDARD, builds or (default_build(),), measuring, db)
