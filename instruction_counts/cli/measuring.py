"""The options of commands that measure and check, and what follows from them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import attrs
import click

from instruction_counts.cli.options import (
    DURATION,
    FILE,
    Decorator,
    build_options,
    choice,
    flag,
    gathered,
    option,
    selection_options,
    store_option,
)
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.engines.engine import Ability
from instruction_counts.engines.registry import DEFAULT, engines, require
from instruction_counts.execution.registry import DEFAULT as DEFAULT_LANES
from instruction_counts.execution.registry import kinds_of_lanes
from instruction_counts.gate.gate import FailOn
from instruction_counts.gate.limits import read_limits
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import STANDARD, Definitions

if TYPE_CHECKING:
    from instruction_counts.sources.specification import Specification

allocator_option = choice(
    "--allocator",
    ["steady", "system"],
    "Allocator of the counted process: constant-time, or that of the C library.",
    default="steady",
)


def _registered(flags: str, kinds: Collection[Any], default: str) -> Decorator:
    """The option to choose one of what is registered."""
    text = " ".join(f"{kind.name}: {kind.summary}." for kind in kinds)
    return choice(flags, [kind.name for kind in kinds], text, default=default)


_NO_COUNTS = flag("--no-counts", "Do not count instructions.")
_NO_TIMES = flag("--no-times", "Do not measure wall times.")
_OPTIONS = (
    _registered("--engine", engines(), DEFAULT),
    allocator_option,
    choice(
        "--pin-isa",
        ["avx2", "default"],
        "Instruction set for both times and counts (Valgrind has no AVX-512).",
    ),
    option("--jobs", "N", "Parallel workers  [default: one per core]", type=click.IntRange(min=1)),
    option("--cores", "LIST", "Cores to use: 0-1,3  [default: all]"),
    option(
        "--timeout timeout_s",
        "DURATION",
        "Time limit for each step of a case, such as counting it  [default: 10m]",
        type=DURATION,
    ),
    *(
        _registered("--lanes", kinds, DEFAULT_LANES)
        for kinds in [kinds_of_lanes()]
        if len(kinds) > 1
    ),
)


def _measuring(
    engine: str,
    allocator: str,
    pin_isa: str | None,
    jobs: int | None,
    cores: str | None,
    timeout_s: float | None,
    no_times: bool = False,
    lanes: str = DEFAULT_LANES,
    no_counts: bool = False,
) -> MeasurementSettings:
    if no_counts and no_times:
        raise UsageError("--no-counts and --no-times leave nothing to measure", "Drop one.")
    if pin_isa:
        require(engine, Ability.PINNED_ISA, "--pin-isa")
    return MeasurementSettings(
        *(engine, allocator, pin_isa, jobs, cores, timeout_s),
        counts=not no_counts,
        times=not no_times,
        lanes=lanes,
    )


untimed_options = gathered("measuring", _OPTIONS, _measuring)
"""How to count, for a command that takes no times; it gets ``measuring``."""
counting_options = gathered("measuring", (*_OPTIONS, _NO_TIMES), _measuring)
"""How to measure, for a command that needs counts."""
measuring_options = gathered("measuring", (_NO_COUNTS, *_OPTIONS, _NO_TIMES), _measuring)
"""The same, for a command that can do without counts."""


@attrs.frozen
class Asked:
    """What the command line and the specification say together: which cases, builds and so on."""

    definitions: Definitions
    selection: Selection
    builds: tuple[Build, ...]
    measuring: MeasurementSettings
    db: str | None
    names_definitions: bool
    """Whether the command line does."""

    @property
    def specification(self) -> Specification | None:
        """The specification that the definitions are; None where they are others."""
        return _specification(self.definitions)


def _specification(definitions: Definitions | None) -> Specification | None:
    # No import of its class, which would cost every start.
    found: Any = definitions
    return found if hasattr(definitions, "reporters") else None


def _asked(
    definitions: Definitions | None,
    selection: Selection,
    builds: tuple[Build, ...] = (),
    measuring: MeasurementSettings | None = None,
    db: str | None = None,
) -> Asked:
    """What options say, else the specification that ``definitions`` is, else the defaults."""
    stated = _specification(definitions)
    measuring = measuring or MeasurementSettings()
    if stated is not None:
        builds = builds or stated.builds
        db = db or stated.reporters.database
        if measuring.timeout_s is None:
            measuring = attrs.evolve(measuring, timeout_s=stated.timeout_s)
    builds = builds or (default_build(),)
    is_named = definitions is not None
    return Asked(definitions or STANDARD, selection, builds, measuring, db, is_named)


def asking(*options: Decorator) -> Decorator:
    """Adds options of which the command gets what they say together: ``asked``."""
    return gathered("asked", options, _asked)


run_options = asking(selection_options, build_options, measuring_options, store_option)
check_options = asking(selection_options, build_options, counting_options, store_option)


# What fails

gate_option = option(
    "--gate limits",
    "FILE.yaml",
    "File of limits: the allowed increase per case  [default: none]",
    type=FILE,
    callback=lambda _context, _option, file: file and read_limits(file),
)
fail_on_option = choice(
    "--fail-on",
    [when.value for when in FailOn],
    "When to fail: regression, any, never. A regression is beyond a hard limit; any case that got "
    "worse fails with any.",
    metavar="WHEN",
    default=FailOn.REGRESSION.value,
)
