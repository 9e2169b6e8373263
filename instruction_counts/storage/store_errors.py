"""What can be wrong with a run or a tag that is asked for, and how it is reported."""

from __future__ import annotations

import difflib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import cattrs
from sqlalchemy import Connection, select

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.storage.json_files import is_file_name
from instruction_counts.storage.store_tables import (
    runs,
    tags,
)

_LIST = "Stored runs and their tags:"

UNREADABLE = (ValueError, KeyError, TypeError, zlib.error, cattrs.BaseValidationError)
"""What is raised where rows hold what this program does not write."""


def require_run(connection: Connection, run_id: int) -> None:
    """Refuse a run that is not stored.

    Raises:
        UsageError: there is none of that number.
    """
    if connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is None:
        raise no_such_run(run_id)


def no_such_run(run_id: int) -> UsageError:
    """The error that there is no run of that number (any more)."""
    return UsageError(f"there is no stored run {run_id} (any more)", _LIST, "runs list")


def no_such_name(connection: Connection, problem: str, name: str) -> UsageError:
    """The error ``problem``, with tags that are spelled like ``name``."""
    near = difflib.get_close_matches(name, connection.scalars(select(tags.c.name)))
    if near:
        return UsageError(problem, f"Similar tags: {', '.join(near)}")
    return UsageError(problem, _LIST, "runs list")


def check_tag(name: str) -> None:
    """Refuse what would be taken for something else than a tag.

    Raises:
        UsageError: it is not a valid tag.
    """
    if not name or not name.isprintable() or name != name.strip() or set(name) & {":", "/"}:
        raise UsageError(
            f"{name!r} is not a valid tag",
            "A tag is one or more words, without colons and slashes.",
        )
    if is_file_name(name):
        raise UsageError(f'"{name}" is not a valid tag', "It would be taken for a file.")
    if name.isdecimal() or name.startswith("-"):
        raise UsageError(
            f'"{name}" is not a valid tag',
            "It would be taken for the number of a run, or for an option.",
        )


@contextmanager
def understood(name: str, run_id: int) -> Iterator[None]:
    """Report what cannot be read in a run as a `DataError` that names the run."""
    try:
        yield
    except UNREADABLE as error:
        raise DataError(
            f"{name}: run {run_id} cannot be read: {error}",
            "It was changed by another program, or is damaged. What else is damaged:",
            "runs check",
        ) from error
