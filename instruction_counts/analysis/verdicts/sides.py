"""The two sides of a comparison, and what differs between their builds besides their code."""

from collections.abc import Iterator, Mapping

import attrs

from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import KNOWN_LATER, Fingerprint
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Output
from instruction_counts.domain.records import ChangedFiles, Record, Run, StoredCount
from instruction_counts.domain.selection import Selection

_IN_THE_WAY = ("machine", "allocator", "profile_version")
"""Fields that make counts incomparable: another processor family executes other instructions,
another allocator or environment is part of every count."""

_EXPECTED = ("torch", "torch_git", "torch_debug", "torch_settings", "cxx11_abi", "parallel")
"""Fields that are the build itself: what a comparison is usually about."""

_NOT_SHOWN = ("tool_version",)

_NAMES = {
    "aslr_off": "address randomisation off",
    "caches": "caches of the interpreter",
    "stand_ins": "stand-ins for CUDA",
    "capability": "instruction set of the times",
    "counted_by": "code that counts",
    "counted_capability": "instruction set of the counts",
    "cpu": "CPU",
    "cxx11_abi": "C++11 ABI",
    "gpu": "GPU",
    "libc": "C library",
    "machine": "architecture",
    "pinned_isa": "pinned instruction set",
    "profile_version": "hermetic profile",
    "python": "Python",
    "torch_debug": "torch debug build",
    "torch_git": "torch commit",
    "torch_settings": "torch build settings",
    "valgrind": "Valgrind",
}


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
    is_whole: bool = True
    """Whether it has all that was to be measured; not where that was interrupted, nor a shard."""

    @property
    def is_held(self) -> bool:
        """Whether it was counted with all that is known to depend on memory held still."""
        found = self.fingerprint
        return (found.caches, found.allocator, found.aslr_off) == ("held", "steady", True)

    @property
    def shown_by(self) -> str:
        """The command that shows its cases."""
        return "list" if self.run_id is None else f"runs show {self.run_id}"


def side_of(run: Run, build: str, title: str, run_id: int | None = None) -> Side:
    """The side that ``build`` is in ``run``, which is stored under ``run_id``."""
    records = {record.key: record for record in run.cases if record.build == build}
    changed, folder = run.changed_files.get(build), run.package_folders.get(build, "")
    shard = "" if run.shard is None else f", shard {run.shard}"
    title = f"{title}{shard}{'' if run.is_finished else ', unfinished'}"
    is_whole = run.is_finished and run.shard is None
    return Side(title, run.engine, run.builds[build], records, run_id, changed, folder, is_whole)


def with_outputs(side: Side, outputs: Mapping[CaseKey, Output]) -> Side:
    """The side with what its cases compute, where that was recorded later."""
    records = dict(side.records)
    for key in records.keys() & outputs.keys():
        outcome = attrs.evolve(records[key].outcome, output=outputs[key])
        records[key] = attrs.evolve(records[key], outcome=outcome)
    return attrs.evolve(side, records=records)


def with_noise(side: Side, noises: Mapping[CaseKey, Noise]) -> Side:
    """The side with what was seen to move its cases since they were measured."""
    records = dict(side.records)
    for key in records.keys() & noises.keys():
        records[key] = attrs.evolve(records[key], noise=noises[key])
    return attrs.evolve(side, records=records)


def narrowed(side: Side, selection: Selection) -> Side:
    """The selected cases of a side.

    Raises:
        UsageError: there are none.
    """
    kept = {key: record for key, record in side.records.items() if selection.keeps_key(key)}
    if not kept:
        raise UsageError(f"{side.title} contains no selected case", "See:", side.shown_by)
    return attrs.evolve(side, records=kept)


@attrs.frozen
class Disagreement:
    """One thing that the two sides do not have in common."""

    name: str
    base: str
    new: str
    prevents: bool = False
    """Whether counts cannot be compared because of it."""
    expected: bool = False
    """Whether it is the build itself that differs, rather than what is around it."""

    @property
    def text(self) -> str:
        """``CPU A → B``."""
        return f"{self.name} {self.base or 'none'} → {self.new or 'none'}"


def fact_name(field: str) -> str:
    """What reports call a field of a fingerprint: ``C library`` for ``libc``."""
    return _NAMES.get(field, field.replace("_", " "))


def disagreements(base: Side | StoredCount, new: Side | StoredCount) -> Iterator[Disagreement]:
    """What differs: first the engine, then the fields of the fingerprints in their order."""
    if base.engine != new.engine:
        yield Disagreement("engine", base.engine, new.engine, prevents=True)
    for field in attrs.fields(Fingerprint):
        before, after = (getattr(side.fingerprint, field.name) for side in (base, new))
        unknown = field.name in KNOWN_LATER and not (before and after)
        if before == after or unknown or field.name in _NOT_SHOWN:
            continue
        yield Disagreement(
            fact_name(field.name),
            str(before),
            str(after),
            prevents=field.name in _IN_THE_WAY,
            expected=field.name in _EXPECTED,
        )
