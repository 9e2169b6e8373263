"""Merging the shards of a run into the run that one job would have measured."""

import shlex
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import attrs

from instruction_counts.analysis.verdicts.sides import disagreements, side_of
from instruction_counts.domain.build import completed
from instruction_counts.domain.errors import DataError, UsageError
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
        name, _, shard = part
        differences = "\n  ".join(_differences(parts[0], part))
        if differences:
            problem = (
                f"{files[0][0]} and {name} are not from one run; they differ in\n  {differences}"
            )
            raise UsageError(problem, _ALIKE)
        before = found.setdefault(shard.number, part)
        if before is not part:
            raise UsageError(f"{before[0]} and {name} are both shard {shard}", "Drop one of them.")
    shard = parts[0][2]
    ordered = [found[number] for number in sorted(found)]
    missing = [f"{k}/{shard.total}" for k in range(1, shard.total + 1) if k not in found]
    placed = [pair for part in ordered for pair in _placed(part)]
    held = {place for place, _ in placed}
    if missing and len(held) < shard.cases:  # a shard without cases has no file
        raise UsageError(
            f"no file contains shard {' or '.join(missing[:10])}{' or …' * (len(missing) > 10)}",
            "Name their files, too, or measure them with the same options:",
            f"run --shard {missing[0]} --output FILE.json",
        )
    is_whole = len(held) == shard.cases and held == set(range(shard.cases))
    if not is_whole or len({record.identity for _, record in placed}) != len(placed):
        names = ", ".join(name for name, _, _ in ordered)
        problem = f"{names}: together they are not the whole, and one was edited"
        raise DataError(problem, "Measure them again.")
    placed.sort(key=lambda pair: pair[0])  # builds of a case stay in their order
    return _whole([run for _, run, _ in ordered], tuple(record for _, record in placed))


_ALIKE = (
    "Measure all shards of the same definitions and builds with the same options, on one kind of "
    "machine; --balance needs the same file everywhere."
)


def _part(name: str, run: Run) -> Part:
    if run.shard is None:
        problem = f"{name} is not a shard: it was measured without --shard"
        raise UsageError(problem, "Name the files of:", "run --shard")
    return name, run, run.shard


def _differences(first: Part, part: Part) -> Iterator[str]:
    """What keeps two shards from being of one run."""
    (_, run, shard), (_, other, its) = first, part
    if shard.settings != its.settings:
        yield f"what was measured: {shard.settings} → {its.settings}"
    if (shard.digest, shard.total, shard.cases) != (its.digest, its.total, its.cases):
        yield (
            "the cases, their code, or the shard of each: "
            f"{shard} of {shard.cases} cases → {its} of {its.cases} cases"
        )
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
    expected = len(shard.positions) * len(run.builds)
    if len(run.cases) != expected or len(keys) != len(shard.positions):
        raise DataError(
            f"{name} contains {len(run.cases)} results, and not the {expected} of shard {shard}",
            "Measure the rest, with the same options:",
            f"run --shard {shard} --resume {shlex.quote(name)} --output {shlex.quote(name)}",
        )
    places = dict(zip(keys, shard.positions, strict=True))
    return [(places[record.key], record) for record in run.cases]


def _whole(runs: Sequence[Run], records: tuple[Record, ...]) -> Run:
    return attrs.evolve(
        runs[0],
        builds={name: completed(*(run.builds[name] for run in runs)) for name in runs[0].builds},
        cases=records,
        started_at=min((run.started_at for run in runs if run.started_at), default=""),
        machine=next((run.machine for run in runs if run.machine is not None), None),
        changed_files=dict(_changed_files(runs)),
        package_folders={
            name: folder for run in reversed(runs) for name, folder in run.package_folders.items()
        },
        shard=None,
        is_finished=True,
    )


def _changed_files(runs: Sequence[Run]) -> Iterator[tuple[str, ChangedFiles]]:
    for name in runs[0].builds:
        found = [run.changed_files[name] for run in runs if name in run.changed_files]
        if found:
            first = sorted({path for files in found for path in files.first})
            number = max(len(first), *(files.number for files in found))
            yield name, ChangedFiles(number, tuple(first[:10]))
