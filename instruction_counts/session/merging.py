"""Merging the shards of a run into the run that one job would have measured."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.verdicts.sides import disagreements, side_of
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.fingerprint import KNOWN_LATER, Fingerprint
from instruction_counts.domain.records import ChangedFiles, Record, Run
from instruction_counts.domain.shards import MeasuredShard

Part: TypeAlias = tuple[str, Run, MeasuredShard]
"""The file of a shard, and what it holds."""


def merge(files: Sequence[tuple[str, Run]]) -> Run:
    """The whole of the shards in ``files``, its cases in the order of the definitions.

    Raises:
        UsageError: they are not the shards of one whole, each of them once.
        DataError: a shard lacks cases, or has one twice.
    """
    parts = [_part(name, run) for name, run in files]
    found: dict[int, Part] = {}
    for part in parts:
        _refuse_other(parts[0], part)
        name, _, shard = part
        before = found.setdefault(shard.number, part)
        if before is not part:
            raise UsageError(f"{before[0]} and {name} are both shard {shard}", "Drop one of them.")
    name, _, shard = parts[0]
    numbers = range(1, shard.total + 1)
    ordered = [found[number] for number in numbers if number in found]
    missing = [f"{number}/{shard.total}" for number in numbers if number not in found]
    placed = [pair for part in ordered for pair in _placed(part)]
    held = {place for place, _ in placed}
    if missing and len(held) < shard.cases:  # a shard without cases has no file
        raise UsageError(
            f"no file holds shard {' or '.join(missing)}",
            "Name their files, too, or measure them with the same options:",
            f"run --shard {missing[0]} --output FILE.json",
        )
    if held != set(range(shard.cases)) or len({r.identity for _, r in placed}) != len(placed):
        names = ", ".join(name for name, _, _ in ordered)
        raise DataError(f"{names}: together they are not the whole", _EDITED)
    placed.sort(key=lambda pair: pair[0])  # builds of a case stay in their order
    return _whole([run for _, run, _ in ordered], tuple(record for _, record in placed))


_EDITED = "Were they edited? Measure the shards again."
_SAME_OPTIONS = (
    "Measure all shards with the same definitions and options, --balance with the same file."
)
_SAME_MACHINE = "Measure all shards with the same build, on one kind of machine."


def _part(name: str, run: Run) -> Part:
    if run.shard is None:
        raise UsageError(
            f"{name} is no shard: it was measured without --shard",
            "Name the files of:",
            "run --shard",
        )
    return name, run, run.shard


def _refuse_other(first: Part, part: Part) -> None:
    """Refuse a shard of another whole, or one that was measured in another way."""
    (base, run, shard), (new, other, its) = first, part
    if shard.settings != its.settings:
        raise UsageError(
            f"{base} holds {shard.settings}, and {new} holds {its.settings}", _SAME_OPTIONS
        )
    if (shard.digest, shard.total, shard.cases) != (its.digest, its.total, its.cases):
        raise UsageError(
            f"{base} and {new} are not of the same whole: the cases, their code, or which shard "
            f"each is in differ ({shard} of {shard.cases} cases, {its} of {its.cases})",
            _SAME_OPTIONS,
        )
    differences = list(_differences(run, other))
    if differences:
        texts = "\n  ".join(differences)
        raise UsageError(
            f"{base} and {new} cannot be one run; they differ in\n  {texts}", _SAME_MACHINE
        )


def _differences(run: Run, other: Run) -> Iterator[str]:
    if run.tool_version != other.tool_version:
        yield f"version {run.tool_version} → {other.tool_version}"
    if [*run.builds] != [*other.builds]:
        yield f"builds {', '.join(run.builds)} → {', '.join(other.builds)}"
        return
    for build in run.builds:
        for found in disagreements(side_of(run, build, ""), side_of(other, build, "")):
            yield f"{build}: {found.text}"


def _placed(part: Part) -> list[tuple[int, Record]]:
    """The records of a shard, each with its place in the whole."""
    name, run, shard = part
    keys = dict.fromkeys(record.key for record in run.cases)
    identities = {record.identity for record in run.cases}
    if len(identities) != len(run.cases):
        raise DataError(f"{name} holds a case on one build twice", _EDITED)
    expected = len(shard.positions) * len(run.builds)
    if len(identities) != expected or len(keys) != len(shard.positions):
        raise DataError(
            f"{name} holds {len(identities)} of the {expected} results of shard {shard}",
            "Measure the rest, with the same options:",
            f"run --shard {shard} --resume {shlex.quote(name)} --output {shlex.quote(name)}",
        )
    places = dict(zip(keys, shard.positions, strict=True))
    return [(places[record.key], record) for record in run.cases]


def _whole(runs: Sequence[Run], records: tuple[Record, ...]) -> Run:
    return attrs.evolve(
        runs[0],
        builds={name: _completed(name, runs) for name in runs[0].builds},
        cases=records,
        started_at=min((run.started_at for run in runs if run.started_at), default=""),
        machine=next((run.machine for run in runs if run.machine is not None), None),
        changed_files=dict(_changed_files(runs)),
        package_folders={
            name: folder for run in reversed(runs) for name, folder in run.package_folders.items()
        },
        shard=None,
    )


def _completed(name: str, runs: Sequence[Run]) -> Fingerprint:
    """The fingerprint with what only the shards that counted know."""
    known: dict[str, Any] = {
        field: next(filter(None, (getattr(run.builds[name], field) for run in runs)), "")
        for field in KNOWN_LATER
    }
    return attrs.evolve(runs[0].builds[name], **known)


def _changed_files(runs: Sequence[Run]) -> Iterator[tuple[str, ChangedFiles]]:
    for name in runs[0].builds:
        found = [run.changed_files[name] for run in runs if name in run.changed_files]
        if found:
            first = sorted({path for files in found for path in files.first})
            number = max(len(first), *(files.number for files in found))
            yield name, ChangedFiles(number, tuple(first[:10]))
