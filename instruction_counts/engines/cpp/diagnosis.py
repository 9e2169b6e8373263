"""What compilers say: their errors as failures, placed at the user's line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.cpp.source import CppSource

OUTPUT_CHARACTERS = 4000
"""How much of a compiler's output a failure keeps, from its end."""

_ERROR = re.compile(r"^(?P<where>[^\s:][^:]*:\d+:).*?\berror: (?P<text>.*)$")
_USERS_LINE = re.compile(r"(?:^|from )(?P<part>global_setup|setup|stmt):(?P<line>\d+)\b")
_UNDEFINED = re.compile(r"undefined reference to .*")


class CompileError(Exception):
    """A source does not compile; ``failure`` says why and where.

    ``remedy`` is what to do where it is not the source that is at fault.
    """

    def __init__(self, failure: Failure, remedy: str = "") -> None:
        super().__init__(failure.summary)
        self.failure, self.remedy = failure, remedy


def diagnosis(output: str, source: CppSource) -> Failure:
    """The first error of a compiler's output, placed at the user's line that leads to it.

    An error in a header is placed at the line that included it or asked for an instantiation,
    which compilers name on a line before.
    """
    lines = output.splitlines()
    for number, line in enumerate(lines):
        error = _ERROR.match(line)
        if error:
            place, code = _users_line([line, *reversed(lines[:number])], source)
            return _compile_failure(f"error: {error['text']}", output, place, code)
    return _compile_failure("the C++ compiler failed", output)


def _users_line(lines: Sequence[str], source: CppSource) -> tuple[str, str]:
    for line in lines:
        found = _USERS_LINE.search(line)
        if found:
            written = getattr(source, found["part"]).splitlines()
            number = int(found["line"])
            code = written[number - 1].strip() if number <= len(written) else ""
            return f"{found['part']} line {number}", code
    return "", ""


def unplaced(output: str, code: int) -> Failure:
    """How a compiler failed whose output names no line of the user, by its exit code."""
    undefined = _UNDEFINED.search(output)
    if undefined:
        return _compile_failure(f"error: {undefined[0]}", output)
    errors = [line for line in output.splitlines() if "error: " in line]
    return _compile_failure((errors or [f"the compiler failed with {code}"])[0], output)


def _compile_failure(message: str, output: str, place: str = "", code: str = "") -> Failure:
    tail = output[-OUTPUT_CHARACTERS:]
    return Failure(FailureKind.COMPILE, message, code=code, place=place, output=tail)
