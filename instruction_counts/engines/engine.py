"""What an engine is, and what it says of itself: the seam between lanes and engines."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import attrs

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.api import TORCH
from instruction_counts.core.labels import CPU
from instruction_counts.core.runtimes import runtime_of
from instruction_counts.core.types import Case
from instruction_counts.domain.build import Fingerprint
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.machine import Machine

Lend: TypeAlias = Callable[[Callable[[], bool]], AbstractContextManager[tuple[int, ...]]]
"""Waits for a core, and lends it; none once the function that it is given says that it is late."""


class Engine(Protocol):
    """Measures work orders of one build; called by several lanes at once.

    A class that has this one as its base need not have the methods that do nothing for it.
    """

    def check(self, orders: Sequence[WorkOrder]) -> None:
        """Find out whether ``orders`` can be carried out, before any is.

        Raises:
            BuildError: the engine cannot start; the error names the reason and the remedy.
        """
        del orders

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """Measure one case on ``cores``, with ``folder`` (empty, private) for its files.

        Never raises for what the case does: a failure is an outcome.
        """

    @property
    def fingerprint(self) -> Fingerprint:
        """What is measured: the build's fingerprint, with what the engine adds to it."""

    def start(self, orders: Sequence[WorkOrder], lend: Lend) -> None:
        """Begin to get ready for ``orders``, on a core from ``lend``; returns at once."""
        del orders, lend

    def wait(self) -> None:
        """Wait until what `start` began is done, whether it succeeded or not."""
        return

    def close(self) -> None:
        """End every process of the engine; from any thread, also while lanes measure."""
        return


MeasureInTurns: TypeAlias = Callable[[Engine, Engine, WorkOrder, tuple[int, ...], Path], Outcome]
"""Times a case on base and on new, as ``measure`` of one build does."""


@attrs.frozen
class Profile:
    """What the hermetic profile leaves to choose.

    ``layout`` perturbs the memory layout on purpose: other addresses on the heap and the stack.
    """

    allocator: str = "steady"
    pinned_isa: str = ""
    layout: int = 0
    device: str = CPU
    """``cuda`` has stand-ins for CUDA's libraries in its servers."""
    min_run_time_s: float = 0.1
    """For the wall times of a case. Medians of processes differ as much with 0.2 s, torch's
    default (``make bench ARGS=--times``)."""
    keeps_servers: bool = True
    """Whether servers may be those of an earlier command, and outlive this one."""
    machine: Machine | None = None
    """Whose caches are simulated for estimated cycles; None: those of the packaged file."""
    callgrind_out: Path | None = None
    """A folder that gets Callgrind's own file of each case, for KCachegrind."""


Notice: TypeAlias = Callable[[str], None]
"""Receives what a person should know, such as what this machine refuses."""


@attrs.frozen
class EngineEntry:
    """An engine as it is registered."""

    name: str
    summary: str
    """A line for ``--engine``."""
    follows_profile: bool
    """Whether there is a choice of allocator, instruction set, layout and Callgrind's files."""
    make: Callable[[BuildFacts, Profile, Notice], Engine] = attrs.field(eq=False, repr=False)
    """Makes the engine for one build; raises BuildError, with the remedy, where it cannot start."""
    measure_in_turns: MeasureInTurns | None = attrs.field(default=None, eq=False, repr=False)
    """How it times two builds in turns; None where it cannot."""
    has_stand_ins: bool = False
    """Whether it can count what code for CUDA costs the CPU, without a device."""


def refusal_of(facts: BuildFacts) -> str:
    """Why a build may not be measured any more: its files changed; empty where it may."""
    files = facts.changed_files()
    return "" if files is None else f"files of the build changed during the run: {files.summary}"


def case_message(case: Case) -> dict[str, Any]:
    """The case as the worker protocol carries it."""
    imports = case.timer_args.imports
    return {
        **({} if imports == TORCH else {"imports": imports}),
        "stmt": case.timer_args.stmt,
        "setup": case.timer_args.setup,
        "global_setup": case.timer_args.global_setup,
        "num_threads": case.num_threads,
        "language": case.autolabels.language.value,
        "artefact_source": artefact_source(case),
    }


def artefact_source(case: Case) -> str | None:
    """Python that makes what only a build of torch can make for a case; None where nothing is."""
    artefact = runtime_of(case.autolabels.runtime).artefact
    if case.model_source is None or artefact is None:
        return None
    return case.model_source + artefact.saving
