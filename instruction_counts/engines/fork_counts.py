"""Counts cases in children of the counting server of the fork engine."""

import hashlib
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from instruction_counts.core.types import Case, Language
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines import counting
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.cpp.source import CppSource
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork_processes import remove_dumps
from instruction_counts.engines.fork_server import KEPT
from instruction_counts.engines.kinds import WARM, Kind, kind_of
from instruction_counts.engines.warm.client import Server
from instruction_counts.system.worker_process import WorkerError

Child: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Carries out a task of a case in a forked child."""

_LOOP_TIMEOUT_S = 600.0
_EMPTY_LOOP = {
    Language.PYTHON: "pass",
    # Without this the compiler drops the loop; with it, it is the loop that every case has.
    Language.CPP: 'asm volatile("" ::: "memory");',
}
_REMOVED = "the statement takes no time: the compiler removes it, since nothing uses it"
"""The worker says the same where it is timed."""


class Once:
    """Makes a value for each key once, whichever lane asks first; the others wait."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._values: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, *args: Any) -> Any:
        """The value of ``key``, made by ``make(key, *args)``."""
        with self._lock:
            if key not in self._values:
                self._values[key] = self._make(key, *args)
            return self._values[key]


class CaseCounts:
    """What ``server`` counts in a case, less what the same number of empty loops costs."""

    def __init__(
        self, server: Server, compiler: Compiler, profile: Profile, build_name: str
    ) -> None:
        self._server, self._compiler, self._profile = server, compiler, profile
        self._build_name = build_name
        self._loops = Once(self._measure_loop)

    @property
    def allocator_name(self) -> str:
        """What allocates in the counted process: what was asked for, unless that was refused."""
        return self._profile.allocator if self._server.ready.get("preloaded", True) else "system"

    def of(
        self, case: Case, run: Child, lookups: Sequence[Any] = (), layout: int = 0
    ) -> counting.Counted:
        """Count ``case``, for which ``run`` carries out tasks.

        ``lookups`` is what it looks up on types, as far as that is known: none evicts another one.
        ``layout`` is another memory layout for the case; 0 is that of the server.

        Raises:
            WorkerError, ServerStartError, CompileError: the case or the empty loop fails.
            CallgrindFormatError, OSError: Callgrind left no usable dump.
        """
        kind = kind_of(case)
        loop = self._loops.get(case.autolabels.language) if kind.has_windows else counting.Loop()
        request, answers = kind.asked(lookups, layout), list[Mapping[str, Any]]()
        try:
            answers.extend(self._answers(run, kind, request))
            answer, folder = answers[-1], self._server.folder
            counted = kind.evaluate(answers, folder, loop)
            if counted.instructions.per_run + loop.per_run == 0:  # not even the loop is left
                raise WorkerError(Failure(FailureKind.COMPILE, _REMOVED))
            others = counting.others_in(folder / "dumps", answer["pid"]) if kind.has_windows else 0
            if self._profile.callgrind_out is not None:
                last = [answer, *answer.get("windows", ())][-1]["dump"]
                path = self._profile.callgrind_out / callgrind_name(case, self._build_name)
                shutil.copy(folder / f"{last}-01", path)
        finally:
            for answered in answers:
                remove_dumps(self._server.folder / "dumps", answered["pid"])
        if self.allocator_name != "steady":
            counted = counted.unallocated()
        if not others:
            return counted
        # Callgrind dumps other threads only at the end of a process. A second process with fewer
        # runs has the same costs around them.
        shorter = run({**request, "pattern": (), "dumped": 0, KEPT: False})
        fewer = counting.others_in(folder / "dumps", shorter["pid"])
        remove_dumps(folder / "dumps", shorter["pid"])
        return counted.with_others((others - fewer) / (answer["runs"] - shorter["runs"]))

    def _answers(
        self, run: Child, kind: Kind, request: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        if not kind.has_windows:
            yield from (run(request) for _ in range(kind.children))
            return
        answer = run({**request, "dumped": counting.FEWEST_DUMPED})
        if not counting.are_alike(answer["windows"]):
            # Which functions vary, the dumps of all windows tell.
            remove_dumps(self._server.folder / "dumps", answer["pid"])
            answer = run(request)
        yield answer

    def _measure_loop(self, language: Language) -> counting.Loop:
        # Its dumps stay: where a server is held for others, they read them, too.
        run = empty_loop(self._server, self._compiler, language)
        answers = [*self._answers(run, WARM, WARM.asked((), 0))]
        counted = WARM.evaluate(answers, self._server.folder, counting.Loop())
        return counting.Loop.of(counted.profile, counted.functions.runs)


def empty_loop(server: Server, compiler: Compiler, language: Language) -> Child:
    """What carries out tasks of a case that is nothing but its loop, in children of ``server``."""
    stmt = _EMPTY_LOOP[language]
    case = {"stmt": stmt, "setup": "", "global_setup": "", "language": language.value}
    task = {"case": {**case, "num_threads": 1}, "cores": []}
    is_compiled = language is Language.CPP
    files = {"library": compiler.case(CppSource("", "", stmt))} if is_compiled else {}
    return lambda request: server.run({**task, KEPT: True, **request}, _LOOP_TIMEOUT_S, files)


def callgrind_name(case: Case, build_name: str) -> str:
    """The name of the file that ``--callgrind-out`` writes for a case: readable, and unique."""
    title, build = (
        re.sub(r"[^A-Za-z0-9+]+", "-", text).strip("-") for text in (case.title, build_name)
    )
    digest = hashlib.sha256(f"{case.definition_hash} {build_name}".encode()).hexdigest()
    return f"callgrind.out.{title[:150]}.{build[:40]}.{digest[:8]}"
