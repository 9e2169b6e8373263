"""What a controller and Dask's workers tell each other: values as JSON, and nothing pickled."""

from __future__ import annotations

from typing import TypeVar

import attrs

from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Profile
from instruction_counts.execution.local_lanes import DEFAULT
from instruction_counts.storage.json_files import loads

T = TypeVar("T")


@attrs.frozen
class Hello:
    """Which program a worker has: that of the controller, or it is not used."""

    version: str
    counted_by: str
    """A digest of what counting processes execute."""


@attrs.frozen
class Asked:
    """Something to find out about a build."""

    build: Build
    timeout_s: float
    task: str = ""
    request: str = "{}"


@attrs.frozen
class Wanted:
    """The lanes of a run."""

    run: str
    """Names them; no two are alike."""
    engine: str
    builds: tuple[Build, ...]
    profile: Profile
    timeout_s: float
    jobs: int | None = None
    cores: str | None = None
    lanes: str = DEFAULT
    """Their kind, on the worker."""
    silent_s: float = 300.0
    """They are closed when nothing was heard of the controller for so long."""


@attrs.frozen
class Opened:
    """What lanes a worker has opened."""

    number: int
    widest: int
    """The most contiguous cores that a case can have there."""
    fingerprints: dict[str, Fingerprint]
    """By the name of the build."""


@attrs.frozen
class Orders:
    """Orders for the lanes of a run."""

    run: str
    orders: tuple[WorkOrder, ...]
    slot: str = ""
    """Which of its lanes measures; it keeps its cores while orders of the same case follow."""


@attrs.frozen
class Measured:
    """What became of an order."""

    outcome: Outcome
    fingerprints: dict[str, Fingerprint] | None = None
    """As they are known by now, where that is new."""
    notices: tuple[str, ...] = ()
    """What a person should know."""


@attrs.frozen
class Answer:
    """What came of a request: a value, or why there is none."""

    value: str = ""
    error: str = ""
    remedy: str = ""
    is_of_build: bool = False


def refusal(error: UsageError) -> Answer:
    """The answer that says why there is no value."""
    return Answer("", error.message, error.remedy, isinstance(error, BuildError))


def value_of(answer: Answer, kind: type[T]) -> T:
    """The value of an answer.

    Raises:
        BuildError, UsageError: there is none.
    """
    if answer.error:
        raise (BuildError if answer.is_of_build else UsageError)(answer.error, answer.remedy)
    return loads(answer.value, kind)


def for_a_worker(order: WorkOrder) -> WorkOrder:
    """An order without what only its controller reads."""
    case = attrs.evolve(order.case, metadata={}, subject=None, expected=())
    return attrs.evolve(order, case=case)
