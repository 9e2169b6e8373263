"""What is known of stored runs without their records."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from instruction_counts.core.types import CaseKey
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Instructions, Status
from instruction_counts.domain.records import ChangedFiles


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
    failed: int
    changed_files: Mapping[str, ChangedFiles] = attrs.field(factory=dict)
    """As `Run` has them."""


@attrs.frozen
class StoredCount:
    """How a case ended on one build of a stored run: its count, without all that lies behind it."""

    case: CaseKey
    run_id: int
    started_at: str
    """When the run began: UTC, ISO 8601. Empty where it is not known."""
    tags: tuple[str, ...]
    engine: str
    build: str
    fingerprint: Fingerprint
    definition_hash: str
    status: Status
    instructions: Instructions | None
    """Without windows; None where the case was not counted."""
    noise: Noise | None = None
    """What was seen to move the count; None where it was counted once, in one layout."""
    failure: str = ""
    """The first line of why it failed."""
    has_changed_files: bool = False
    """Whether files of the build changed during the run, so that it may be of other code."""
