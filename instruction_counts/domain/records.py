"""Records: one measured case of one build, and a run of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from instruction_counts.core.facts import ExpectedTensor, Subject
from instruction_counts.core.types import AutogradMode, Case, CaseKey, Label, Language, RuntimeMode
from instruction_counts.domain.bounds import Positive
from instruction_counts.domain.build import Fingerprint
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.outcomes import Details, Instructions, Machine, Outcome, Status
from instruction_counts.domain.shards import MeasuredShard

Identity: TypeAlias = tuple[str, CaseKey]
"""The build, and what the case is called: what makes a record the same one in another run."""

LAST = "last"
"""Names the newest stored run."""


@attrs.frozen
class Record:
    """One case on one build, with how it ended."""

    label: Label
    language: Language
    runtime: RuntimeMode
    autograd: AutogradMode
    num_threads: Positive
    definition_hash: str
    build: str
    stmt: str
    setup: str
    global_setup: str
    outcome: Outcome
    metadata: dict[str, Any] = attrs.field(factory=dict, hash=False)
    """JSON values that the definition gave with the case; nothing depends on them."""
    subject: Subject | None = None
    """What the case measures, where the definition says so."""
    expected: tuple[ExpectedTensor, ...] = ()
    """What the case has to compute."""
    noise: Noise | None = None
    """What was seen to move the count; None where it was counted once, in one layout."""
    stored: Callable[[], Details] | None = attrs.field(default=None, eq=False, repr=False)
    """Reads the details of the outcome from where they are stored; None: they are here."""

    @classmethod
    def of(cls, case: Case, build: str, outcome: Outcome) -> "Record":
        """The record of a finished case."""
        return cls(
            **attrs.asdict(case.key, recurse=False),
            definition_hash=case.definition_hash,
            build=build,
            stmt=case.timer_args.stmt,
            setup=case.timer_args.setup,
            global_setup=case.timer_args.global_setup,
            outcome=outcome,
            metadata=dict(case.metadata),
            subject=case.subject,
            expected=case.expected,
        )

    def with_details(self, details: Details) -> "Record":
        """The record with the details of its outcome."""
        return attrs.evolve(self, outcome=self.outcome.with_details(details), stored=None)

    def without_details(self, stored: Callable[[], Details] | None = None) -> "Record":
        """The record without the details of its outcome, which ``stored`` reads again."""
        return attrs.evolve(self.with_details(Details()), stored=stored)

    @property
    def completed(self) -> "Record":
        """The record with the details of its outcome, from wherever they are kept.

        Raises:
            DataError: they cannot be read.
        """
        return self if self.stored is None else self.with_details(self.stored())

    @property
    def identity(self) -> Identity:
        """What makes a record the same one in another run."""
        return self.build, self.key

    @property
    def key(self) -> CaseKey:
        """What the case is called, whichever build it ran on."""
        return CaseKey(self.label, self.language, self.runtime, self.autograd, self.num_threads)


@attrs.frozen
class ChangedFiles:
    """Files of a build that were added, removed or written while it was measured."""

    number: Positive
    first: tuple[str, ...]
    """The first ten of them, in alphabetical order."""

    @classmethod
    def of(cls, paths: Sequence[str]) -> "ChangedFiles":
        """Those at ``paths``, which are sorted; not all are named."""
        return cls(len(paths), tuple(paths[:10]))

    @property
    def summary(self) -> str:
        """``/…/torch/a.py, /…/torch/b.py and 3 more``."""
        more = self.number - len(self.first[:3])
        return f"{', '.join(self.first[:3])}{f' and {more:,} more' if more else ''}"


@attrs.frozen
class Run:
    """The records of one run, with the fingerprint of each build by its name."""

    tool_version: str
    engine: str
    builds: dict[str, Fingerprint]
    cases: tuple[Record, ...]
    started_at: str = ""
    """When the run began: UTC, ISO 8601, to the second. Empty where it is not known."""
    machine: Machine | None = None
    """What the machine can do; None where that was not measured."""
    changed_files: dict[str, ChangedFiles] = attrs.field(factory=dict)
    """By build; those of which no file changed are not in it. Other code may have been measured."""
    package_folders: dict[str, str] = attrs.field(factory=dict)
    """By build: where torch was installed, with its packages; those not known are not in it."""
    shard: MeasuredShard | None = None
    """Which part of a whole it is; None where it is a whole."""
    is_finished: bool = True
    """Whether it has all that was ordered; else it was interrupted, or goes on."""
    in_order: bool = True
    """False where its builds did not follow those of earlier runs: a bisection asked for them, or a
    watch measured them again. Histories leave them out."""
    is_stored: bool = attrs.field(default=True, eq=False)
    """False where it was to be stored, and the database does not have all of it."""

    @property
    def is_sound(self) -> bool:
        """Whether, beside that, every build was the same to the end."""
        return self.is_stored and not self.changed_files


# What is known of stored runs without their records


@attrs.frozen
class RunSummary:
    """A stored run without its records."""

    id: int
    started_at: str
    state: str
    """``running``, ``complete``, ``interrupted``, or ``killed``: its process ended before it.

    On a server, a killed run looks like a running one.
    """
    engine: str
    builds: Mapping[str, str]
    """The version of torch of each build, by its name."""
    tags: tuple[str, ...]
    cases: int
    """However many builds each was measured on, as for ``failed``."""
    failed: int
    changed_files: Mapping[str, ChangedFiles] = attrs.field(factory=dict)
    """As `Run` has them."""


@attrs.frozen(kw_only=True)
class CountOfRecord:
    """What a history needs of a record: its count, without all that lies behind it."""

    build: str
    definition_hash: str
    status: Status
    instructions: Instructions | None
    """Without windows; None where the case was not counted."""
    failure: str = ""
    """The first line of why it failed."""
    noise: Noise | None = None
    """What was seen to move the count; None where it was counted once, in one layout."""


@attrs.frozen(kw_only=True)
class StoredCount(CountOfRecord):
    """How a case ended on one build of a stored run."""

    case: CaseKey
    run_id: int
    started_at: str
    """When the run began: UTC, ISO 8601. Empty where it is not known."""
    tags: tuple[str, ...]
    engine: str
    fingerprint: Fingerprint
    has_changed_files: bool = False
    """Whether files of the build changed during the run, so that it may be of other code."""
    in_order: bool = True
    """See `Run`."""
