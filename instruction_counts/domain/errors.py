"""What can go wrong in use or set-up; each error ends in its remedy and exits with 1."""

from __future__ import annotations

import attrs


@attrs.define(eq=False)
class UsageError(Exception):
    """Something that the user asked for cannot be done, and what to do instead."""

    message: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


@attrs.define(eq=False)
class BuildError(UsageError):
    """A build cannot be measured: it lacks something, or does not start."""


@attrs.define(eq=False)
class DataError(UsageError):
    """A file holds something else than was expected there."""
