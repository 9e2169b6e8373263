"""The exit codes; documented in the README, and stable."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """What the exit code of the program says."""

    OK = 0
    ERROR = 1
    USAGE = 2
    REGRESSION = 3
    CASES_FAILED = 4
    INTERRUPTED = 130


def no_findings(*, is_sound: bool) -> ExitCode:
    """What a command ends with that found nothing wrong in what it measured."""
    return ExitCode.OK if is_sound else ExitCode.ERROR
