"""Running compilers, killed when they hang or when measuring is stopped, and what they say."""

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.cpp.source import CppSource
from instruction_counts.system.worker_process import ending

_OUTPUT_CHARACTERS = 4000
"""How much of a compiler's output a failure keeps, from its end."""

_ERROR = re.compile(r"\berror: .*|undefined reference to .*")
_USERS_LINE = re.compile(r"(?:^|from )(?P<part>global_setup|setup|stmt):(?P<line>\d+)\b")
_KILLED = re.compile(r"fatal error: (?P<signal>\w+) signal terminated program")


class CompileError(Exception):
    """A source does not compile; ``failure`` says why and where.

    ``remedy`` is what to do where it is not the source that is at fault.
    """

    def __init__(self, failure: Failure, remedy: str = "") -> None:
        super().__init__(failure.summary)
        self.failure, self.remedy = failure, remedy


class CompilerProcesses:
    """Runs compilers, each in a session of its own, until it is closed."""

    def __init__(self, environment: Mapping[str, str], timeout_s: float) -> None:
        # Messages in English, and no date of today in what is compiled.
        fixed = {"LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "0"}
        self.environment = {**environment, **fixed}
        self._timeout_s = timeout_s
        self._running: set[subprocess.Popen[str]] = set()
        self.is_closed = False
        self._lock = threading.Lock()

    def run(
        self, command: Sequence[str], folder: Path, cores: tuple[int, ...] = ()
    ) -> tuple[int, str]:
        """The exit code and the output of a command in ``folder``, which gets its temporary files.

        Raises:
            CompileError: it was killed, or took too long.
        """
        with self._lock:
            self.check_open()
            process = _start(command, folder, self.environment)
            self._running.add(process)
        try:
            if cores:
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(process.pid, cores)
            output, _ = process.communicate(timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            output, _ = process.communicate()
            message = f"the compiler did not end within {self._timeout_s:g} s"
            raise CompileError(_failure(FailureKind.TIMEOUT, message, output)) from None
        finally:
            _kill(process)  # an interrupt came while it ran
            with self._lock:
                self._running.discard(process)
        self.check_open()
        if process.returncode < 0:
            raise CompileError(ending(process.returncode, output[-_OUTPUT_CHARACTERS:]))
        killed = _KILLED.search(output)
        if killed:
            message = f"the compiler was ended by a signal: {killed['signal']}"
            raise CompileError(_failure(FailureKind.SIGNAL, message, output))
        return process.returncode, output

    def check_open(self) -> None:
        """Raise if compilers may no longer run."""
        if self.is_closed:
            raise CompileError(Failure(FailureKind.EXIT, "the compiler was stopped"))

    def close(self) -> None:
        """Kill what runs; nothing is started after that."""
        with self._lock:
            self.is_closed = True
            for process in self._running:
                _kill(process)


def _start(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        message = f"{command[0]} does not start: {error.strerror}"
        remedy = "Make it executable, or name another compiler with CC."
        raise CompileError(Failure(FailureKind.REFUSED, message), remedy) from error


def _kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:  # with its session
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def diagnosis(output: str, source: CppSource | None = None) -> Failure:
    """The first error of a compiler's output, placed at the line of ``source`` that leads to it.

    An error in a header is placed at the line that included it or asked for an instantiation,
    which g++ names on a line before, and clang on one after.
    """
    lines = output.splitlines()
    for number, line in enumerate(lines):
        error = _ERROR.search(line)
        if error:
            around = [line, *reversed(lines[:number]), *lines[number + 1 :]]
            place, code = ("", "") if source is None else _users_line(around, source)
            return _failure(FailureKind.COMPILE, error[0], output, place, code)
    return _failure(FailureKind.COMPILE, "the compiler failed", output)


def _users_line(lines: Sequence[str], source: CppSource) -> tuple[str, str]:
    for line in lines:
        found = _USERS_LINE.search(line)
        if found:
            written = getattr(source, found["part"]).splitlines()
            number = int(found["line"])
            code = written[number - 1].strip() if number <= len(written) else ""
            return f"{found['part']} line {number}", code
    return "", ""


def _failure(
    kind: FailureKind, message: str, output: str, place: str = "", code: str = ""
) -> Failure:
    return Failure(kind, message, code, place, output[-_OUTPUT_CHARACTERS:])
