"""What a measurement yields: values that engines make and everything after them reads."""

from __future__ import annotations

import enum
import statistics
from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs


class Status(enum.Enum):
    """How a work order ended."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    SKIPPED = "skipped"


class FailureKind(enum.Enum):
    """Where a failure comes from; only the last three may pass on another try."""

    EXCEPTION = "exception"
    COMPILE = "compile"
    REFUSED = "refused"
    EXIT = "exit"
    SIGNAL = "signal"
    TIMEOUT = "timeout"

    @property
    def may_pass_on_retry(self) -> bool:
        """Whether the same case could succeed when it is tried again."""
        return self in {FailureKind.EXIT, FailureKind.SIGNAL, FailureKind.TIMEOUT}


@attrs.frozen
class Failure:
    """Why a case has no result: one line, the user's line if known, and the last of its output."""

    kind: FailureKind
    message: str
    code: str = ""
    """The user's line that failed, as written."""
    place: str = ""
    """Where that line stands: ``stmt line 1``."""
    output: str = ""
    """The tail of what the process printed."""

    @property
    def summary(self) -> str:
        """One line for tables."""
        where = f"   ({self.place}: {self.code})" if self.code else ""
        return f"{self.message.splitlines()[0] if self.message else self.kind.value}{where}"


@attrs.frozen
class Window:
    """One counted stretch: ``runs`` runs of the statement in a loop.

    Allocation calls and bytes are None where the engine cannot see them.
    """

    runs: int
    instructions: int
    allocations: int | None = None
    allocated_bytes: int | None = None


@attrs.frozen
class Instructions:
    """Instructions per run, and how sure that is.

    ``exact``: all windows agree to the instruction. Otherwise ``spread`` is the difference between
    the largest and the smallest estimate of a run, and ``varying`` names the functions whose share
    differs most. ``loop`` is the cost of the empty loop, already subtracted. Allocations are per
    run, like the instructions.
    """

    per_run: int
    exact: bool
    windows: tuple[Window, ...]
    spread: int = 0
    loop: int = 0
    allocations: int | None = None
    allocated_bytes: int | None = None
    all_threads_per_run: int | None = None
    """Over all threads, where a case has several; ``per_run`` is the calling thread's share."""
    varying: tuple[str, ...] = ()


Seconds: TypeAlias = tuple[float, ...] | Callable[[], tuple[float, ...]]
"""Times, or what reads them from where they are kept."""


def read_seconds(values: Seconds) -> tuple[float, ...]:
    """The times themselves."""
    return values() if callable(values) else values


@attrs.frozen
class Times:
    """Wall times of one run, in seconds: one value for each block of ``runs`` runs.

    There can be thousands of values. Where they are kept elsewhere, they are read each time that
    somebody asks for them.
    """

    median_s: float
    iqr_s: float
    _values_s: Seconds = attrs.field(
        eq=read_seconds, repr=lambda values: repr(read_seconds(values))
    )
    runs: int

    @property
    def values_s(self) -> tuple[float, ...]:
        """A value for each block.

        Raises:
            DataError: they are kept elsewhere, and cannot be read.
        """
        return read_seconds(self._values_s)

    @classmethod
    def of(cls, values_s: Sequence[float], runs: int) -> Times:
        """Median and interquartile range of ``values_s`` (inclusive quartiles)."""
        values = tuple(values_s)
        low, high = _quartiles(values)
        return cls(statistics.median(values), high - low, values, runs)

    @property
    def mean_s(self) -> float:
        """The arithmetic mean."""
        return statistics.fmean(self.values_s)

    @property
    def min_s(self) -> float:
        """The shortest."""
        return min(self.values_s)

    @property
    def max_s(self) -> float:
        """The longest."""
        return max(self.values_s)

    @property
    def p90_s(self) -> float:
        """The time that 90% do not exceed; between two values, on the line from one to the next."""
        return _percentile(self.values_s, 90)

    @property
    def p99_s(self) -> float:
        """The same for 99%."""
        return _percentile(self.values_s, 99)


def _percentile(values: tuple[float, ...], percent: int) -> float:
    """Interpolated linearly between order statistics, as numpy does unless told otherwise."""
    if len(values) < 2:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _quartiles(values: tuple[float, ...]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


@attrs.frozen
class FunctionCost:
    """Instructions of one function over the ``runs`` of a `FunctionCosts`."""

    library: str
    file: str
    function: str
    exclusive: int
    inclusive: int | None = None
    """None where the engine does not tell."""


@attrs.frozen
class CallCost:
    """All calls from one function to another, over the ``runs`` of a `FunctionCosts`."""

    caller: int
    """Position in `FunctionCosts.costs`."""
    callee: int
    calls: int
    instructions: int
    """Inclusive: of the callee and of everything below it."""


@attrs.frozen
class FunctionCosts:
    """Where the instructions of ``runs`` runs went, largest first; loop and hooks cancel out.

    The exclusive costs add up to the instructions of these runs. ``calls`` is empty where the
    engine does not tell.
    """

    runs: int
    costs: tuple[FunctionCost, ...]
    calls: tuple[CallCost, ...] = ()


@attrs.frozen
class TensorValue:
    """What a statement computed in one tensor."""

    name: str
    """The variable, such as ``z``; ``w.grad`` for a gradient."""
    shape: tuple[int, ...]
    dtype: str
    """As torch writes it, without ``torch.``: ``float32``."""
    digest: str
    """SHA-256 of all values in order, 16 digits; equal only if every bit is."""
    nans: int
    sample: str
    """Values at evenly spaced places, the first included: little-endian float64 in base64, two for
    each complex number. All values, where there are few."""


@attrs.frozen
class Output:
    """What one run of a statement computed, to tell a faster build from a wrong one."""

    inputs: str
    """Digest of all tensors that the setup made: outputs compare only if it is equal."""
    tensors: tuple[TensorValue, ...]
    repeatable: bool = True
    """Whether a run in other memory, with other random numbers, computed the same."""


_TIME_BUDGET = "time budget of "


@attrs.frozen
class Resources:
    """What one run of a statement uses beside instructions and time.

    None is what could not be told: ``reason`` says why. ``flops`` is None without a reason where
    torch has a formula for no operator of the statement.
    """

    allocated_bytes: int | None = None
    """All that torch allocates for tensors."""
    peak_bytes: int | None = None
    """The most of it that is held at once."""
    flops: int | None = None
    """Floating point operations, of the operators that torch has a formula for."""
    moved_bytes: int | None = None
    """The tensors that are read or made, each once: about the least that memory has to move."""
    reason: str = ""


@attrs.frozen
class Machine:
    """What one core of the machine can do, as torch measured it."""

    copy_bytes_per_s: int
    """Bytes read and bytes written, while tensors larger than the caches are copied."""
    matmul_flops_per_s: int
    """Of products of float32 matrices."""


Costs: TypeAlias = FunctionCosts | Callable[[], FunctionCosts | None] | None
"""Costs per function, or what reads them from where they are kept."""


def read_costs(costs: Costs) -> FunctionCosts | None:
    """The costs themselves."""
    return costs() if callable(costs) else costs


@attrs.frozen
class Outcome:
    """How one work order ended: a value, whatever happened.

    Costs per function are nine tenths of it, and seldom asked for: where they are kept elsewhere,
    they are read each time that somebody does.
    """

    status: Status
    instructions: Instructions | None = None
    times: Times | None = None
    _functions: Costs = attrs.field(
        default=None, eq=read_costs, repr=lambda costs: repr(read_costs(costs))
    )
    output: Output | None = None
    failure: Failure | None = None
    duration_s: float = 0.0
    attempts: int = 1
    resources: Resources | None = None
    """None where they were not asked for, or the case is not eager Python."""

    @property
    def left_out(self) -> str:
        """The budget of time that was used up before this could start; empty for all else."""
        if self.status is not Status.SKIPPED or self.failure is None:
            return ""
        message = self.failure.message
        return message.removeprefix(_TIME_BUDGET) if message.startswith(_TIME_BUDGET) else ""

    @classmethod
    def out_of_time(cls, budget: str) -> Outcome:
        """The outcome of what did not start within ``budget``: ``60 s``."""
        failure = Failure(FailureKind.REFUSED, f"{_TIME_BUDGET}{budget}")
        return cls(Status.SKIPPED, failure=failure)

    @property
    def functions(self) -> FunctionCosts | None:
        """Where the instructions went; None where that is not known.

        Raises:
            DataError: they are kept elsewhere, and cannot be read.
        """
        return read_costs(self._functions)

    @classmethod
    def failed(cls, failure: Failure) -> Outcome:
        """The outcome that a failure gives."""
        status = Status.TIMEOUT if failure.kind is FailureKind.TIMEOUT else Status.FAILED
        return cls(status, failure=failure)
