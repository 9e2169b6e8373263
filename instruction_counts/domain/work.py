"""What is asked for: statements as they are typed, and one case on one build with its limits."""

from collections.abc import Iterable

import attrs

from instruction_counts.core.checks import dedented
from instruction_counts.core.labels import WARM_LOOP
from instruction_counts.core.runtimes import runtime_of
from instruction_counts.core.types import Case, Language
from instruction_counts.domain.build import Build


def _each_dedented(stmts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(dedented, stmts))


@attrs.frozen
class Statements:
    """Statements in one language, and what they share; each text is dedented.

    The words are those of ``GroupedStmts``.
    """

    stmts: tuple[str, ...] = attrs.field(converter=_each_dedented)
    """In Python, unless ``is_cpp``; so is ``setup``."""
    is_cpp: bool = False
    setup: str = attrs.field(default="", converter=dedented)
    global_setup: str = ""
    """The top of a C++ file."""
    signature: str | None = None
    """``f(x, y) -> z``; None derives it where it is needed."""
    runtimes: tuple[str, ...] = ()
    """In which they are measured, as options spell them; empty is eager alone."""
    autograd: bool = False
    """Whether forward and backward are measured together, in place of forward alone."""
    gradient: str | None = None
    num_threads: tuple[int, ...] = (1,)
    device: str | None = None
    """Where the tensors are, which the code knows as ``device``; None is the CPU."""


@attrs.frozen
class WorkOrder:
    """What a lane has to do."""

    case: Case
    build: Build
    timeout_s: float = 600.0
    retries: int = 0
    counts: bool = True
    times: bool = True
    output: bool = False
    """Whether what the statement computes is recorded, too, where the engine can; a case in C++ is
    compiled a second time for it."""
    executed: bool = False
    """Whether bytecodes and operators are recorded, too, where the engine can."""
    resources: bool = False
    """Whether memory, operations and moved bytes are recorded, too, where the engine can."""
    cycles: bool = False
    """Whether cycles are estimated, too, where instructions are counted and the engine can."""
    hardware: bool = False
    """Whether the processor's counters are read, too, where the kernel and the engine can."""
    layout: int = 0
    """The memory layout that it is counted in, where the engine has several; 0 is the usual one."""
    beside: Build | None = None
    """The base that the build is timed in turns with, where only that is asked for."""
    refusal: str = ""
    """Why the order cannot be carried out here; empty where it can."""

    @property
    def cores(self) -> int:
        """How many cores the case needs: one for each of its threads."""
        return self.case.num_threads

    @property
    def asks_for_resources(self) -> bool:
        """Whether resources are asked for, of a case that has them: Python in most runtimes."""
        labels = self.case.autolabels
        has_them = labels.language is Language.PYTHON and runtime_of(labels.runtime).has_resources
        return self.resources and has_them

    @property
    def asks_for_cycles(self) -> bool:
        """Whether cycles are asked for, of a case that has them: its statement is repeated."""
        return self.cycles and self.counts and self.case.timer_args.kind == WARM_LOOP

    @property
    def title(self) -> str:
        """The case, for people."""
        return self.case.title
