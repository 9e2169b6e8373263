"""What can go wrong in use or set-up; each error ends in its remedy and exits with 1."""

from collections.abc import Iterable

import attrs


@attrs.define(eq=False)
class UsageError(Exception):
    """Something that the user asked for cannot be done, and what to do instead."""

    message: str
    remedy: str = ""
    command: str = ""
    """What to type after the name of this program, as the end of the remedy: ``runs list``."""

    def __str__(self) -> str:
        return self.text()

    def text(self, program: str = "instruction-counts") -> str:
        """The message with its remedy, for a reader who starts this program as ``program``."""
        typed = f"{program} {self.command}" if self.command else ""
        remedy = f"{self.remedy} {typed}".strip()
        return f"{self.message}\n  {remedy}" if remedy else self.message


@attrs.define(eq=False)
class BuildError(UsageError):
    """A build cannot be measured: something is missing, or it does not start."""


@attrs.define(eq=False)
class DataError(UsageError):
    """A file holds something else than was expected there."""


@attrs.frozen(order=True)
class Problem:
    """A place in a file that holds something else than was expected there."""

    file: str
    line: int
    """From 1; 0 where it is not known."""
    column: int
    path: str
    """``$.cases[3].label``; ``$`` is the whole file."""
    found: str
    expected: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.path}\n  found     {self.found}\n  expected  {self.expected}"


class ValidationError(DataError):
    """The problems of a file, of which the first ten are shown, in the order of their lines."""

    def __init__(self, problems: Iterable[Problem], remedy: str) -> None:
        self.problems = tuple(sorted(set(problems)))
        shown = [str(problem) for problem in self.problems[:_MOST_SHOWN]]
        if len(self.problems) > _MOST_SHOWN:
            shown.append(f"and {len(self.problems) - _MOST_SHOWN} more")
        super().__init__("\n".join(shown), remedy)


_MOST_SHOWN = 10
