"""The kinds of cases that the fork engine counts; a further one is an entry, registered.

A definition names the kind of a case: ``TimerArgs(..., kind="once")``.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.core.labels import ONCE, WARM_LOOP
from instruction_counts.core.types import Case
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.domain.registry import Registry
from instruction_counts.engines import counting
from instruction_counts.engines.counting import Counted, Loop
from instruction_counts.system.worker_process import WorkerError

Evaluate: TypeAlias = Callable[[Sequence[Mapping[str, Any]], Path, Loop], Counted]
"""Makes a result of the answers of the children, and of what they dumped below a folder."""


@attrs.frozen
class Kind:
    """How cases of a kind are counted, and how it is known what varies in them."""

    name: str
    task: str
    """The task of the worker that counts one, in a child of the counting server."""
    evaluate: Evaluate = attrs.field(eq=False, repr=False)
    request: Mapping[str, Any] = attrs.field(factory=dict)
    """What that task is told beside the case, such as what a child does before the windows."""
    has_windows: bool = True
    """Whether the statement runs in windows of a loop, whose own cost is subtracted.

    Where it does not, it runs once in each process, also where it is timed and observed.
    """
    children: int = 1
    """How many children count it. Without windows, only these can tell whether a count is exact."""

    def asked(self, lookups: Sequence[Any], layout: int) -> dict[str, Any]:
        """What a child is asked for; its dumps lie in the folder of its server."""
        asked = {"task": self.task, "lookups": lookups, "layout": layout, "dumps": "dumps/cg"}
        return {**asked, **self.request}


WARM = Kind(
    WARM_LOOP,
    "counts",
    lambda answers, folder, loop: counting.evaluate(answers[0]["windows"], folder, loop),
    {
        "pilot_runs": counting.PILOT_RUNS,
        "pattern": counting.PATTERN,
        "dumped": len(counting.PATTERN),
        "schedule": counting.SCHEDULE,
    },
)
"""Windows of a loop that is warm."""

FIRST_RUN = Kind(
    ONCE,
    "once",
    lambda answers, folder, _: counting.evaluate_once(answers, folder),
    has_windows=False,
    children=3,
)
"""What happens only once in a process."""

_KINDS = Registry("kind of case", WARM, FIRST_RUN)
register, kind_named = _KINDS.register, _KINDS.named


def kind_of(case: Case) -> Kind:
    """The kind of a case.

    Raises:
        WorkerError: there is none of the name that it states.
    """
    try:
        return kind_named(case.timer_args.kind)
    except UsageError as error:
        message = f"{error.message}. {error.remedy}"
        raise WorkerError(Failure(FailureKind.REFUSED, message)) from error
