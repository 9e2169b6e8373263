"""The two sides of a comparison: one build of a stored run, of a file, or measured just now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import attrs

from core.types import CaseKey
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Output
from instruction_counts.domain.records import ChangedFiles, Record, Run
from instruction_counts.domain.selection import Selection
from instruction_counts.storage.json_files import is_file_name, read_json


class Runs(Protocol):
    """Where stored runs come from."""

    def find(self, text: str) -> int | None:
        """The number of the run of that number or tag; None if there is none."""

    def load(self, run_id: int, *, details: bool = True) -> Run:
        """The run of that number, with the details of its outcomes or without."""

    def completed(self, record: Record) -> Record:
        """The record with its details, which are read from the run that it is stored in."""


@attrs.frozen
class Side:
    """One build, with what was measured of it."""

    title: str
    """How reports call it: ``base``, ``run 12``, ``before.json``."""
    engine: str
    fingerprint: Fingerprint
    records: Mapping[CaseKey, Record]
    run_id: int | None = None
    """The number of the stored run that holds it; None where none does."""
    changed_files: ChangedFiles | None = None
    """Files of the build that changed while it was measured; None where none did."""
    package_folder: str = ""
    """Where its torch was installed, with its packages; empty where that is not known."""


def side_of(run: Run, build: str, title: str, run_id: int | None = None) -> Side:
    """The side that ``build`` is in ``run``, which is stored under ``run_id``."""
    records = {record.key: record for record in run.cases if record.build == build}
    return Side(
        *(title, run.engine, run.builds[build], records, run_id),
        run.changed_files.get(build),
        run.package_folders.get(build, ""),
    )


def with_outputs(side: Side, outputs: Mapping[CaseKey, Output]) -> Side:
    """The side with what its cases compute, where that was recorded later."""
    records = {
        key: attrs.evolve(record, outcome=attrs.evolve(record.outcome, output=outputs[key]))
        if key in outputs
        else record
        for key, record in side.records.items()
    }
    return attrs.evolve(side, records=records)


def with_noise(side: Side, noises: Mapping[CaseKey, Noise]) -> Side:
    """The side with what was seen to move its cases since they were measured."""
    records = {
        key: attrs.evolve(record, noise=noises.get(key, record.noise))
        for key, record in side.records.items()
    }
    return attrs.evolve(side, records=records)


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


def narrowed(side: Side, selection: Selection) -> Side:
    """The selected cases of a side.

    Raises:
        UsageError: there are none.
    """
    kept = {key: record for key, record in side.records.items() if selection.keeps_key(key)}
    if not kept:
        raise UsageError(f"{side.title} contains no selected case", "See:", "runs show")
    return attrs.evolve(side, records=kept)


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
