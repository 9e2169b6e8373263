"""What a measurement yields: values that engines make and everything after them reads."""

import array
import base64
import enum
import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import attrs

from instruction_counts.core.facts import ExpectedTensor
from instruction_counts.domain.bounds import Bounds, Count, Positive, Seconds, span
from instruction_counts.domain.executed import Executed, ExecutedDigests
from instruction_counts.domain.metrics import NO_AMOUNTS, Amounts
from instruction_counts.domain.paired import PairedTimes


class Status(enum.Enum):
    """How a work order ended."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    SKIPPED = "skipped"

    @property
    def is_failure(self) -> bool:
        """Whether it was measured, and has no result."""
        return self in {Status.FAILED, Status.TIMEOUT}


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


_HERE = "<--- HERE"
"""How TorchScript marks a place in the line above."""


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
        first, *below = self.message.splitlines() or [self.kind.value]
        if first.rstrip().endswith(":"):  # what TorchScript and Dynamo have to say begins below
            said = next((line.strip() for line in below if line.strip()), "")
            first = f"{first.rstrip()} {said}"
        for line, marks in itertools.pairwise(below):
            if _HERE in marks and not self.code:
                return f"{first.rstrip(':')}   ({line.strip()})"
        return f"{first}{where}"


@attrs.frozen
class Window:
    """One counted stretch: ``runs`` iterations of the statement in a loop."""

    runs: Positive
    instructions: Count
    metrics: Amounts = NO_AMOUNTS
    """What else was counted in it, as far as the engine can see that."""


@attrs.frozen
class Instructions:
    """Instructions per iteration, and how sure that is.

    ``exact``: all windows agree to the instruction, a long one costs no more than two short ones,
    and no other thread works. ``spread`` is the difference between the largest and the smallest
    estimate of a run, from any two windows, and ``varying`` names the functions whose share differs
    most. ``loop`` is the cost of the empty loop, already subtracted: a case can cost less.
    """

    per_run: int
    exact: bool
    windows: tuple[Window, ...] = attrs.field(repr=False)
    spread: Count = 0
    loop: Count = 0
    all_threads_per_run: int | None = None
    """Over all threads, where a case has several; ``per_run`` is the calling thread's share."""
    varying: tuple[str, ...] = ()

    @property
    def estimates(self) -> tuple[float, ...]:
        """What any two windows say of a run, of which one is as long as two of the other.

        Any one, where all have one length. None where windows are not known, or where each long one
        holds what no short one does.
        """
        unit = min((window.runs for window in self.windows), default=1)
        short, long = (
            [window.instructions for window in self.windows if window.runs == runs]
            for runs in (unit, 2 * unit)
        )
        if not long:
            return tuple(count / unit - self.loop for count in short)
        if min(long) > 2 * min(short):
            return ()
        return tuple((more - less) / unit - self.loop for more in long for less in short)

    @property
    def is_of_first_runs(self) -> bool:
        """Whether each window is the only run of a process, and not one of a warm loop."""
        return len(self.windows) > 1 and {window.runs for window in self.windows} == {1}


@attrs.frozen
class Times:
    """Wall times of an iteration, in seconds, each a mean over a block of ``runs`` of them.

    There can be thousands of them: ``values_s`` is empty where they are kept elsewhere (`Details`).
    """

    median_s: Annotated[float, Bounds(above=0)]
    iqr_s: Seconds
    mean_s: Seconds
    min_s: Seconds
    max_s: Seconds
    p90_s: Seconds
    """The time that 90% do not exceed; between two values, on the line from one to the next."""
    p99_s: Seconds
    """The same for 99%."""
    median_bounds_s: tuple[Seconds, Seconds] | None
    """Of the median at 95%; None where there are too few values (see `median_interval`)."""
    runs: Positive
    values_s: tuple[Seconds, ...] = attrs.field(default=(), repr=False)

    @classmethod
    def of(cls, values_s: Sequence[float], runs: int) -> "Times":
        """The times ``values_s`` with what sums them up (inclusive quartiles)."""
        values = tuple(values_s)
        # Inclusive ones: interpolated linearly between order statistics, as numpy does by default.
        several = values if len(values) > 1 else values * 2
        percentiles = statistics.quantiles(several, n=100, method="inclusive")
        return cls(
            median_s=statistics.median(values),
            iqr_s=max(0.0, percentiles[74] - percentiles[24]),  # equal ones may be rounded apart
            mean_s=statistics.fmean(values),
            min_s=min(values),
            max_s=max(values),
            p90_s=percentiles[89],
            p99_s=percentiles[98],
            median_bounds_s=median_interval(values),
            runs=runs,
            values_s=values,
        )


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """A confidence interval of the median, from order statistics: no distribution is assumed.

    The number of values below the median is binomial with p = 1/2 (Conover, Practical Nonparametric
    Statistics, section 3.2). With fewer than six values there is none at 95%.
    """
    count = len(values)
    # How many values may be on the outer side of either bound, the bound included: as many as keep
    # both tails within 5% of all 2**count ways to lie.
    outside, ways, tail = 0, 1, 1
    while 40 * tail <= 2**count:
        outside += 1
        ways = ways * (count - outside + 1) // outside
        tail += ways
    if not outside:
        return None
    ordered = sorted(values)
    return ordered[outside - 1], ordered[count - outside]


@attrs.frozen
class FunctionCost:
    """What one function costs over the ``runs`` of a `FunctionCosts`."""

    library: str
    file: str
    function: str
    exclusive: int
    inclusive: int | None = None
    """None where the engine does not tell."""


@attrs.frozen
class CallCost:
    """All calls from one function to another, over the ``runs`` of a `FunctionCosts`."""

    caller: Count
    """Position in `FunctionCosts.costs`."""
    callee: Count
    calls: int
    instructions: int
    """Inclusive: of the callee and of everything below it; cycles where costs are these."""


@attrs.frozen
class FunctionCosts:
    """Where the instructions of ``runs`` iterations went, largest first; loop and hooks cancel out.

    The exclusive costs add up to the instructions of these runs. ``calls`` is empty where the
    engine does not tell. Estimated cycles are laid out likewise.
    """

    runs: Positive
    costs: tuple[FunctionCost, ...]
    calls: tuple[CallCost, ...] = ()


@attrs.frozen
class TensorValue:
    """What a statement computed in one tensor."""

    name: str
    """The variable, such as ``z``; ``w.grad`` for a gradient."""
    shape: tuple[Count, ...]
    dtype: str
    """As torch writes it, without ``torch.``: ``float32``."""
    digest: str
    """SHA-256 of all values in order, 16 digits; equal only if every bit is."""
    nans: Count
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
    """Whether a run in other memory, with other random numbers, computed the same; of one that
    differed from another build's, also whether a fresh server did."""


@attrs.frozen
class Machine:
    """What one core of the machine can do, as torch measured it."""

    copy_bytes_per_s: Count
    """Bytes read and bytes written, while tensors larger than the caches are copied."""
    matmul_flops_per_s: Count
    """Of products of float32 matrices."""


@attrs.frozen
class Details:
    """What is large in an outcome, and seldom asked for."""

    functions: FunctionCosts | None = None
    times_s: tuple[Seconds, ...] = ()
    executed: Executed | None = None
    cycle_costs: FunctionCosts | None = None


@attrs.frozen
class EstimatedCycles:
    """Of one iteration, as caches and branches were simulated: never exact, layouts move them."""

    machine: str
    """The caches that were simulated: with others, cycles are not comparable."""
    layouts: tuple[Count, ...]
    """Cycles in each layout."""

    def __attrs_post_init__(self) -> None:
        """Refuse cycles of no layout."""
        if not self.layouts:
            raise ValueError("cycles in at least one layout")

    @property
    def median(self) -> float:
        """The cycles that are reported."""
        return statistics.median(self.layouts)

    @property
    def range(self) -> int:
        """By how much the layouts differ."""
        return max(self.layouts) - min(self.layouts)


@attrs.frozen
class Outcome:
    """How one work order ended: a value, whatever happened."""

    status: Status
    instructions: Instructions | None = None
    times: Times | None = None
    functions: FunctionCosts | None = attrs.field(default=None, repr=False)
    """Where the instructions went; None where that is not known, or kept elsewhere."""
    output: Output | None = None
    failure: Failure | None = None
    duration_s: Seconds = 0.0
    attempts: Positive = 1
    metrics: Amounts = NO_AMOUNTS
    """What else is known of one run; see `instruction_counts.domain.metrics`."""
    resources_reason: str | None = None
    """Why memory, operations or moved bytes are not among ``metrics``; empty where they are.

    None where they were not asked for, or the case is not eager Python.
    """
    skipped_by_budget_s: Seconds | None = None
    """The budget of time that was used up before this could start; None for all else."""
    executed: Executed | None = attrs.field(default=None, repr=False)
    """What one iteration executes; None where that is not known, or kept elsewhere."""
    executed_digests: ExecutedDigests | None = None
    """What tells whether another build executes the same; None where that is not known."""
    paired: PairedTimes | None = attrs.field(default=None, repr=False)
    """Of two builds that were timed in turns, the same for both; ``times`` are of this one."""
    cycles: EstimatedCycles | None = None
    """What caches and branches cost; None where that was not asked for. ``metrics`` has medians."""
    cycle_costs: FunctionCosts | None = attrs.field(default=None, repr=False)
    """Where the cycles of the median layout went; None as for ``functions``."""

    @property
    def details(self) -> Details:
        """What is large in it, as far as it is here."""
        times_s = () if self.times is None else self.times.values_s
        return Details(self.functions, times_s, self.executed, self.cycle_costs)

    def with_details(self, details: Details) -> "Outcome":
        """The outcome with other details; `Details()` leaves none."""
        times = self.times and attrs.evolve(self.times, values_s=details.times_s)
        return attrs.evolve(
            self,
            functions=details.functions,
            times=times,
            executed=details.executed,
            cycle_costs=details.cycle_costs,
        )

    @property
    def skipped_by_budget(self) -> str:
        """The budget that was used up before this could start: ``60 s``; empty for all else."""
        budget_s = self.skipped_by_budget_s
        return "" if budget_s is None else span(budget_s)

    @classmethod
    def out_of_time(cls, budget_s: float) -> "Outcome":
        """The outcome of what did not start within a budget of so many seconds."""
        failure = Failure(FailureKind.REFUSED, f"time budget of {span(budget_s)}")
        return cls(Status.SKIPPED, failure=failure, skipped_by_budget_s=budget_s)

    @classmethod
    def failed(cls, failure: Failure) -> "Outcome":
        """The outcome that a failure gives."""
        status = Status.TIMEOUT if failure.kind is FailureKind.TIMEOUT else Status.FAILED
        return cls(status, failure=failure)

    def as_expected(self, expected: Iterable[ExpectedTensor]) -> "Outcome":
        """The same, or a failure with its reason where something else was computed.

        What nobody recorded (see docs/explanation/measurement.md) is not checked.
        """
        if self.output is None or self.status is not Status.OK:
            return self
        found = next(_unexpected(expected, self.output), None)
        if found is None:
            return self
        failure = Failure(FailureKind.EXCEPTION, f"unexpected output: {found}")
        return attrs.evolve(
            self,
            status=Status.FAILED,
            failure=failure,
            instructions=None,
            times=None,
            functions=None,
        )


def _unexpected(expected: Iterable[ExpectedTensor], output: Output) -> Iterator[str]:
    tensors = {tensor.name: tensor for tensor in output.tensors}
    for wanted in expected:
        name, found = wanted.name, tensors.get(wanted.name)
        if found is None:
            yield f"there is no tensor {name}, but {', '.join(tensors) or 'none at all'}"
            continue
        if wanted.shape is not None and found.shape != wanted.shape:
            yield f"{name} has the shape {list(found.shape)} instead of {list(wanted.shape)}"
        if wanted.dtype is not None and found.dtype != wanted.dtype:
            yield f"{name} is {found.dtype} instead of {wanted.dtype}"
        if wanted.sum is not None:
            values = array.array("d", base64.b64decode(found.sample))
            count = math.prod(found.shape)
            if len(values) != count:
                problem = "too many to check their sum (or they are complex)"
                yield f"{name} has {count:,} values, {problem}"
            elif not abs(sum(values) - wanted.sum) <= wanted.tolerance:
                yield f"{name} adds up to {sum(values):.9g} instead of {wanted.sum:.9g}"
