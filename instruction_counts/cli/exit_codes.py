"""The exit codes; docs/reference/exit-codes.md describes them, and they are stable."""

import enum


class ExitCode(enum.IntEnum):
    """What the exit code of the program says."""

    OK = 0
    ERROR = 1
    USAGE = 2
    REGRESSION = 3
    CASES_FAILED = 4
    INTERRUPTED = 130


def exit_code(
    *,
    interrupted: bool = False,
    regression: bool = False,
    failed_cases: bool = False,
    is_sound: bool = True,
) -> ExitCode:
    """What a script learns: the worst that is true.

    What was measured is not sound where it did not arrive whole, or its build changed meanwhile.
    """
    if interrupted:
        return ExitCode.INTERRUPTED
    if regression:
        return ExitCode.REGRESSION
    if failed_cases:
        return ExitCode.CASES_FAILED
    return ExitCode.OK if is_sound else ExitCode.ERROR
