"""The sides that people name: a JSON file, or a stored run by its number or tag."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import Record, Run
from instruction_counts.storage.json_files import is_file_name, read_json


class Runs(Protocol):
    """Where stored runs come from."""

    def find(self, text: str) -> int | None:
        """The number of the run of that number or tag; None if there is none."""

    def load(self, run_id: int, *, details: bool = True) -> Run:
        """The run of that number, with the details of its outcomes or without."""

    def completed(self, record: Record) -> Record:
        """The record with its details, which are read from the run that it is stored in."""


def read_side(text: str, runs: Runs) -> Side:
    """The side that ``text`` names: a JSON file, or the number or tag of a stored run.

    Records of a stored run come without their details: there can be any number of them.

    Where the run has several builds, ``:NAME`` after it says which.

    Raises:
        UsageError: there is no such file or run, or it has several builds and none is named.
        DataError: the file or the database cannot be read.
    """
    run, run_id, build = _find(text, runs)
    if build is None:
        if len(run.builds) != 1:
            names = ", ".join(run.builds)
            raise UsageError(
                f"{text} has several builds: {names}",
                f"Name one of them: {text}:{next(iter(run.builds), 'NAME')}",
            )
        build = next(iter(run.builds))
    elif build not in run.builds:
        names = ", ".join(run.builds)
        raise UsageError(f"{text}: the run has no build of that name", f"It has: {names}")
    return side_of(run, build, _title(text, run_id), run_id)


def _find(text: str, runs: Runs) -> tuple[Run, int | None, str | None]:
    # A file or tag may itself hold a colon, so the whole text is tried first.
    before, _, after = text.rpartition(":")
    names = [(name, build) for name, build in ((text, None), (before, after)) if name]
    for name, build in names:
        if Path(name).is_file():
            return read_json(Path(name)), None, build
    # Not looked for in the store, whose own absence would be reported instead.
    for name, _ in names:
        if is_file_name(name):
            raise UsageError(f"there is no file {name}", "Write one:", "run --output FILE.json")
    for name, build in names:
        number = runs.find(name)
        if number is not None:
            return runs.load(number, details=False), number, build
    raise UsageError(
        f'"{text}" is neither a JSON file nor a stored run',
        "Stored runs and their tags:",
        "runs list",
    )


def _title(text: str, run_id: int | None) -> str:
    name, _, build = text.partition(":")
    if run_id is not None and name == str(run_id):
        return f"run {name}{f', {build}' if build else ''}"
    return Path(text).name
