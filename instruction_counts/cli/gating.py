"""The options of commands that hold a comparison against limits, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import attrs
import click

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode, no_findings
from instruction_counts.cli.file_type import FILE
from instruction_counts.cli.saving import check_folder
from instruction_counts.gate.gate import FailOn, Gate, apply_limits
from instruction_counts.gate.limits import Limits, read_limits
from instruction_counts.report import gate as report
from instruction_counts.report.formats.entry import CheckReport
from instruction_counts.report.registry import Destination

_OPTIONS = (
    click.option(
        "--limits",
        "limits_file",
        type=FILE,
        metavar="FILE.yaml",
        help="Allowed increase per case, by label  [default: none]",
    ),
    click.option(
        "--fail-on",
        type=click.Choice([choice.value for choice in FailOn]),
        default=FailOn.REGRESSION.value,
        show_default=True,
        metavar="WHEN",
        help="When to fail: regression, any, never. A regression is beyond a hard limit; any case "
        "that got worse fails with any.",
    ),
    click.option(
        "--junit",
        type=FILE,
        metavar="FILE.xml",
        help="Write JUnit XML, with a test case for each case.",
    ),
)


@attrs.frozen
class Gating:
    """What the options say."""

    limits: Limits | None
    fail_on: FailOn
    junit: Path | None

    def applied(self, comparison: Comparison) -> Gate:
        """What the comparison exceeds."""
        return apply_limits(comparison, self.limits, self.fail_on)

    def show(self, gate: Gate) -> None:
        """Print what the limits make of cases that were shown already, if there are limits."""
        if self.limits is None:
            return
        console.line("")
        for text in report.brief(gate):
            console.render(text)

    def write_junit(self, check: CheckReport, written: Iterable[Path] = ()) -> tuple[Path, ...]:
        """Write the JUnit file if it is asked for; returns ``written`` with it."""
        if self.junit is None:
            return tuple(written)
        return (*written, Destination.in_format("junit", self.junit, "--junit").write(check))


def exit_code(gate: Gate, *, interrupted: bool = False, is_sound: bool = True) -> ExitCode:
    """What a script learns."""
    if interrupted:
        return ExitCode.INTERRUPTED
    if gate.fails:
        return ExitCode.REGRESSION
    if gate.has_failed_cases:
        return ExitCode.CASES_FAILED
    return no_findings(is_sound=is_sound)


def gate_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what fails; the command gets ``gating``."""

    @wraps(function)
    def wrapper(
        *args: Any, limits_file: Path | None, fail_on: str, junit: Path | None, **kwargs: Any
    ) -> Any:
        if junit is not None:
            check_folder("--junit", junit)
        limits = read_limits(limits_file) if limits_file is not None else None
        return function(*args, gating=Gating(limits, FailOn(fail_on), junit), **kwargs)

    for option in reversed(_OPTIONS):
        wrapper = option(wrapper)
    return wrapper
