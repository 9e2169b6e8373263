"""The options of commands that check a comparison against limits, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import attrs
import click

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.cli.exit_codes import ExitCode, no_findings
from instruction_counts.cli.option_types import FILE
from instruction_counts.gate.gate import FailOn, Gate, apply_limits
from instruction_counts.gate.limits import Limits, read_limits


@attrs.frozen
class Gating:
    """What the options say."""

    limits: Limits | None
    fail_on: FailOn

    def applied(self, comparison: Comparison) -> Gate:
        """What the comparison exceeds."""
        return apply_limits(comparison, self.limits, self.fail_on)


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

    @click.option(
        "--gate",
        "limits_file",
        type=FILE,
        metavar="FILE.yaml",
        help="File of limits: the allowed increase per case  [default: none]",
    )
    @click.option(
        "--fail-on",
        type=click.Choice([choice.value for choice in FailOn]),
        default=FailOn.REGRESSION.value,
        show_default=True,
        metavar="WHEN",
        help="When to fail: regression, any, never. A regression is beyond a hard limit; any case "
        "that got worse fails with any.",
    )
    @wraps(function)
    def wrapper(*args: Any, limits_file: Path | None, fail_on: str, **kwargs: Any) -> Any:
        limits = read_limits(limits_file) if limits_file is not None else None
        return function(*args, gating=Gating(limits, FailOn(fail_on)), **kwargs)

    return wrapper
