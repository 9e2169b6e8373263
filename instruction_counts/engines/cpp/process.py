"""Running compilers: killed when they hang or when measuring is stopped."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.cpp.diagnosis import OUTPUT_CHARACTERS
from instruction_counts.system.worker_process import ending, kill, start

_KILLED = re.compile(r"fatal error: (?P<signal>\w+) signal terminated program")


class CompileError(Exception):
    """A source does not compile; ``failure`` says why and where.

    ``remedy`` is what to do where it is not the source that is at fault.
    """

    def __init__(self, failure: Failure, remedy: str = "") -> None:
        super().__init__(failure.summary)
        self.failure, self.remedy = failure, remedy


@attrs.frozen
class Done:
    """How a compiler ended, and what it printed."""

    code: int
    output: str


class CompilerProcesses:
    """Runs compilers, each in a session of its own, until it is closed."""

    def __init__(self, environment: Mapping[str, str], timeout_s: float) -> None:
        # Messages in English, and no date of today in what is compiled.
        fixed = {"LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "0"}
        self.environment = {**environment, **fixed}
        self._timeout_s = timeout_s
        self._running: set[subprocess.Popen[str]] = set()
        self._closed = False
        self._lock = threading.Lock()

    def run(self, command: Sequence[str], folder: Path, cores: tuple[int, ...] = ()) -> Done:
        """How a command ended in ``folder``, which also gets its temporary files.

        Raises:
            CompileError: it was killed, or took too long.
        """
        with self._started(command, folder, cores) as process:
            try:
                output, _ = process.communicate(timeout=self._timeout_s)
            except subprocess.TimeoutExpired:
                kill(process)
                output, _ = process.communicate()
                message = f"the compiler did not end within {self._timeout_s:g} s"
                raise CompileError(_tail_of(FailureKind.TIMEOUT, message, output)) from None
        self.check_open()
        if process.returncode < 0:
            raise CompileError(ending(process.returncode, output[-OUTPUT_CHARACTERS:]))
        killed = _KILLED.search(output)
        if killed:
            message = f"the compiler was ended by a signal: {killed['signal']}"
            raise CompileError(_tail_of(FailureKind.SIGNAL, message, output))
        return Done(process.returncode, output)

    def check_open(self) -> None:
        """Raise if compilers may no longer run."""
        if self._closed:
            raise CompileError(Failure(FailureKind.EXIT, "the compiler was stopped"))

    def close(self) -> None:
        """Kill what runs; nothing is started after that."""
        with self._lock:
            self._closed = True
            for process in self._running:
                kill(process)

    @contextlib.contextmanager
    def _started(
        self, command: Sequence[str], folder: Path, cores: tuple[int, ...]
    ) -> Iterator[subprocess.Popen[str]]:
        with self._lock:
            self.check_open()
            process = _start(command, folder, self.environment)
            self._running.add(process)
        try:
            if cores:
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(process.pid, cores)
            yield process
        finally:
            kill(process)  # an interrupt came while it ran
            with self._lock:
                self._running.discard(process)


def _start(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    try:
        return start(command, folder, {**environment, "TMPDIR": str(folder)})
    except OSError as error:
        message = f"{command[0]} does not start: {error.strerror}"
        remedy = "Make it executable, or name another compiler with CC."
        raise CompileError(Failure(FailureKind.REFUSED, message), remedy) from error


def _tail_of(kind: FailureKind, message: str, output: str) -> Failure:
    return Failure(kind, message, output=output[-OUTPUT_CHARACTERS:])
