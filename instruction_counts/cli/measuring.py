"""The options of commands that measure, and what follows from them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import attrs
import click

from core.types import Case
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.cli import console
from instruction_counts.cli.options import is_given, specification_of
from instruction_counts.cli.seconds import SecondsRange
from instruction_counts.domain.build import DEFAULT_NAME
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Engine
from instruction_counts.engines.fork import Profile
from instruction_counts.execution.cores import CorePool, available_cores, parse_cores
from instruction_counts.session.measuring import make_engine, plan

_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["fork", "timer"]),
        default="fork",
        show_default=True,
        help="fork: one import of torch for many cases. timer: the reference, a process for each.",
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


@attrs.frozen
class Measuring:
    """What the options say."""

    engine: str
    allocator: str
    pin_isa: str | None
    jobs: int | None
    cores: str | None
    timeout_s: float
    retries: int
    no_counts: bool
    no_times: bool

    def pool(self) -> CorePool:
        """The cores to measure on.

        Raises:
            UsageError: some are not available.
        """
        available = available_cores()
        return CorePool(parse_cores(self.cores, available) if self.cores else available)

    def profile(self, callgrind_out: Path | None = None) -> Profile:
        """What the hermetic profile leaves to choose."""
        return Profile(self.allocator, self.pin_isa or "", callgrind_out=callgrind_out)

    def engines(self, facts: Sequence[BuildFacts], profile: Profile) -> dict[str, Engine]:
        """An engine for each build, by its name."""
        return {
            one.build.name: make_engine(self.engine, one, profile, console.note) for one in facts
        }

    def orders(
        self, cases: Sequence[Case], facts: Sequence[BuildFacts], *, skip: bool
    ) -> list[WorkOrder]:
        """The orders of all builds: each case on one after the other, then the next case.

        Raises:
            BuildError: a build lacks something that the cases need, and ``skip`` is not set.
        """
        template = functools.partial(
            WorkOrder,
            timeout_s=self.timeout_s,
            retries=self.retries,
            counts=not self.no_counts,
            times=not self.no_times,
            output=True,
        )
        plans = [plan(cases, one, template, skip=skip) for one in facts]
        return [order for row in zip(*plans, strict=True) for order in row]

    def banner(self, facts: BuildFacts, lanes: int) -> str:
        """One line that says what is measured, and how."""
        fingerprint = facts.fingerprint
        parts = [
            f"torch {fingerprint.torch}",
            f"Python {fingerprint.python}",
            fingerprint.valgrind or "no valgrind",
            f"{lanes} lane{'' if lanes == 1 else 's'}",
            f"hermetic v{fingerprint.profile_version}",
            f"engine {self.engine}",
        ]
        name = "" if facts.build.name == DEFAULT_NAME else f"{facts.build.name}: "
        return name + " · ".join(parts)


def measuring_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to measure; the command gets ``measuring``."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        own = {field.name: kwargs.pop(field.name) for field in attrs.fields(Measuring)}
        stated = specification_of(kwargs.get("definitions"))
        if stated is not None and stated.timeout_s is not None and not is_given("timeout_s"):
            own["timeout_s"] = stated.timeout_s
        if own["no_counts"] and own["no_times"]:
            raise UsageError("--no-counts and --no-times leave nothing to measure", "Drop one.")
        if own["engine"] == "timer" and own["pin_isa"]:
            raise UsageError("--pin-isa needs the fork engine", "Drop one.")
        return function(*args, measuring=Measuring(**own), **kwargs)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return wrapper
