"""The options of commands that hold a comparison against limits, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import wraps
from pathlib import Path
from typing import Any

import attrs
import click

from core.types import CaseKey
from instruction_counts.analysis.comparison import Comparison
from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.domain.errors import UsageError
from instruction_counts.gate.gate import FailOn, Gate, apply_limits
from instruction_counts.gate.limits import Limits, read_limits
from instruction_counts.report import comparison as comparison_report
from instruction_counts.report import gate as report
from instruction_counts.report import skipped_by_budget as left_out
from instruction_counts.report.formats.entry import CheckReport
from instruction_counts.report.registry import Destination

_OPTIONS = (
    click.option(
        "--limits",
        "limits_file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE.yaml",
        help="How much dearer cases may get, by label. Default: not at all.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice([one.value for one in FailOn]),
        default=FailOn.REGRESSION.value,
        show_default=True,
        help="regression: beyond a hard limit. any: whatever got worse. never: only report.",
    ),
    click.option(
        "--junit",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE.xml",
        help="Write JUnit XML: a test case for each case.",
    ),
)


@attrs.frozen
class Gating:
    """What the options say."""

    limits: Limits | None
    fail_on: FailOn
    junit: Path | None

    def applied(
        self, comparison: Comparison, exceeded_before: AbstractSet[CaseKey] = frozenset()
    ) -> Gate:
        """What the comparison exceeds."""
        return apply_limits(comparison, self.limits, self.fail_on, exceeded_before)

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

    def exit_code(self, gate: Gate, *, interrupted: bool = False) -> ExitCode:
        """What a script learns."""
        if interrupted:
            return ExitCode.INTERRUPTED
        if gate.fails:
            return ExitCode.REGRESSION
        return ExitCode.CASES_FAILED if gate.has_failed_cases else ExitCode.OK


def show_gate(gate: Gate, causes: report.Causes, limit: int, *, interrupted: bool = False) -> None:
    """Print each case with what the limits make of it, and of all; at most ``limit`` of a kind."""
    for section in report.sections(gate):
        console.line("")
        console.line(section.title, style=section.style)
        for finding in section.findings[: limit or None]:
            for text in report.lines(finding, causes):
                console.render(text)
        left = len(section.findings) - limit
        if limit and left > 0:
            console.line(f"  … and {left} more (--limit 0 shows all)")
    console.line("")
    titles = comparison_report.skipped_titles(gate.comparison)
    for one in left_out.lines(titles, len(gate.findings), limit):
        console.line(one, style="yellow")
    is_bad = gate.fails or not gate.compares
    said = report.verdict(gate, interrupted=interrupted)
    console.line(said, style="bold red" if is_bad else "bold")


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


def check_folder(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, before anything is measured.

    Raises:
        UsageError: its folder is not there.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}", "Make it first.")
