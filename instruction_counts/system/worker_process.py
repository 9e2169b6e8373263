"""A worker process and the channel to it: JSON lines over a pair of pipes, with deadlines."""

import contextlib
import errno
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import attrs

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.system.files import text_of
from instruction_counts.system.shortages import shortage_in
from instruction_counts.system.worker_tasks import COUNTED, FOLDER

PROTOCOL_VERSION = 1
WORKER = COUNTED[0]
_KEEPER = FOLDER / "keeper.py"
_TAIL_BYTES = 64 * 1024
_HELLO_TIMEOUT_S = 300.0
_LONGEST_WAIT_MS = 1 << 30  # some days; poll takes no more
_MESSAGE_LIMIT = 4000
NO_STAND_IN = 86
"""The exit code of a process that called a function of CUDA that has no stand-in."""
_NEEDS = re.compile(r"^needs \w+, which has no stand-in$", re.MULTILINE)
"""What it says before that."""
_ORPHANS_TIMEOUT_S = 30.0


@attrs.define(eq=False)
class WorkerError(Exception):
    """The worker did not answer; ``failure`` says why."""

    failure: Failure

    def __str__(self) -> str:
        return self.failure.message


class WorkerProcess:
    """A started worker in a session of its own, with its output drained.

    It runs under a keeper (``worker/keeper.py``), so that nothing below it outlives it.

    Raises `WorkerError` where it dies, times out or answers garbage. Not for several threads at
    once, except `kill`, which any thread may call at any time.
    """

    def __init__(
        self,
        interpreter: str,
        environment: Mapping[str, str],
        folder: Path,
        prefix: Sequence[str] = (),
        script: Sequence[str] = (str(WORKER),),
    ) -> None:
        program = [*prefix, interpreter][0]
        if shutil.which(program, path=environment.get("PATH")) is None:  # a keeper always starts
            raise _not_started(program, errno.EACCES if Path(program).is_file() else errno.ENOENT)
        read_end, worker_write = os.pipe()
        worker_read, write_end = os.pipe()
        # The keeper has the environment of this program: that of a build may not suit its Python.
        command = [sys.executable, "-I", "-S", str(_KEEPER), *prefix, interpreter, *script]
        command += ["--read-fd", f"{worker_read:04d}", "--write-fd", f"{worker_write:04d}"]
        stdin = _file_of(environment)
        try:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(worker_read, worker_write),
                start_new_session=True,
            )
        except OSError as error:
            os.close(read_end)
            os.close(write_end)
            raise _not_started(command[0], error.errno) from error
        finally:
            os.close(stdin)
            os.close(worker_read)
            os.close(worker_write)
        # A worker that reads nothing must not hold its controller.
        os.set_blocking(write_end, False)
        self._read_end, self._write_end = read_end, write_end
        self._pending = b""
        self.pid: int | None = None
        """Of the worker itself, below its keeper; None where it did not say."""
        self._tail = bytearray()
        self._drain = threading.Thread(target=self._drain_output, daemon=True)
        try:
            self._drain.start()
            hello = self.receive(_HELLO_TIMEOUT_S)
            if hello.get("protocol") != PROTOCOL_VERSION:
                spoken = f"protocol {hello.get('protocol')!r} instead of {PROTOCOL_VERSION}"
                raise WorkerError(Failure(FailureKind.REFUSED, f"the worker uses {spoken}"))
            self.pid = hello.get("pid")
        except BaseException:
            self.close()
            raise

    @property
    def output(self) -> str:
        """The last of what the process printed."""
        return bytes(self._tail).decode(errors="replace").strip()

    def ask(self, message: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self.send(message, timeout_s)
        return self.receive(timeout_s)

    def send(self, message: Mapping[str, Any], timeout_s: float) -> None:
        """Send a request."""
        deadline = time.monotonic() + timeout_s
        data = json.dumps(message).encode() + b"\n"
        try:
            while data:
                if not _wait(self._write_end, select.POLLOUT, deadline):
                    raise self._too_late(timeout_s)
                data = data[os.write(self._write_end, data) :]
        except OSError as error:
            raise self._gone() from error

    def receive(self, timeout_s: float) -> dict[str, Any]:
        """The next message of the worker."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            if not _wait(self._read_end, select.POLLIN, deadline):
                raise self._too_late(timeout_s)
            data = os.read(self._read_end, 1 << 20)
            if not data:
                raise self._gone()
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict):
                return message
        shown = f"the worker answered {line[:80].decode(errors='replace')!r}"
        raise WorkerError(Failure(FailureKind.EXIT, shown, output=self.output))

    def kill(self) -> None:
        """Kill the process and all below it; the keeper does, and ends then."""
        # Also where it ended a moment ago: it is waited for in `close` alone.
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def end_orphans(self, max_file_bytes: int) -> int:
        """Kill what a case that has ended left running; returns how many processes there were.

        They are known by the largest file that they may write, a limit that they inherit. Where the
        kernel does not list children, they end with the worker.
        """
        killed: set[int] = set()
        deadline = time.monotonic() + _ORPHANS_TIMEOUT_S
        while time.monotonic() < deadline:
            orphans = filter(_is_running, children_of(self._process.pid))
            found = {pid for pid in orphans if _largest_file(pid) == max_file_bytes}
            if not found:
                break
            for pid in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            killed |= found
            time.sleep(0.001)  # what they had started is the keeper's next
        return len(killed)

    def close(self) -> None:
        """Kill the process, wait for its end, and close the channel."""
        self.kill()
        self._process.wait()
        if self._drain.ident is not None:
            self._drain.join(timeout=5)
        for descriptor in (self._read_end, self._write_end):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        # A second time these numbers may belong to somebody else.
        self._read_end = self._write_end = -1
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _too_late(self, timeout_s: float) -> WorkerError:
        message = f"no answer within {timeout_s:g} s"
        return WorkerError(Failure(FailureKind.TIMEOUT, message, output=self.output))

    def _gone(self) -> WorkerError:
        # The channel closes a moment before the process ends.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        self._drain.join(timeout=1)
        return WorkerError(ending(self._process.returncode, self.output))

    def _drain_output(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(self._process.stdout.fileno(), 1 << 16):
                self._tail += data
                del self._tail[:-_TAIL_BYTES]


def _not_started(program: str, code: int | None) -> WorkerError:
    reason = os.strerror(code or 0)
    remedy = shortage_in(reason)[1]
    message = f"{program} does not start: {reason}{remedy and f'. {remedy}'}"
    return WorkerError(Failure(FailureKind.EXIT, message))


def _file_of(environment: Mapping[str, str]) -> int:
    """A descriptor from which the keeper reads the environment."""
    descriptor = os.memfd_create("environment")
    with os.fdopen(descriptor, "wb", closefd=False) as stream:
        stream.write(b"\0".join(os.fsencode(f"{name}={environment[name]}") for name in environment))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def children_of(pid: int) -> set[int]:
    """The children of a process, also those that have ended and are not waited for yet."""
    found: set[int] = set()
    with contextlib.suppress(OSError):  # it has ended
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):  # the thread has
                found.update(map(int, path.read_text(encoding="ascii").split()))
    return found


def _is_running(pid: int) -> bool:
    status = text_of(Path(f"/proc/{pid}/stat"))
    return status.rpartition(") ")[2][:1] not in {"", "Z", "X"}


def _largest_file(pid: int) -> int | None:
    try:
        return resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    except (ProcessLookupError, PermissionError):
        return None


def _wait(descriptor: int, event: int, deadline: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, event)
    left_ms = max(0.0, deadline - time.monotonic()) * 1000
    return bool(poll.poll(min(left_ms, _LONGEST_WAIT_MS)))


def ending(returncode: int | None, output: str) -> Failure:
    """The failure of a process that ended without an answer (a negative code is a signal)."""
    kind = FailureKind.EXIT
    if returncode == NO_STAND_IN and (needs := _NEEDS.findall(output)):
        kind, message = FailureKind.REFUSED, needs[-1]
    elif returncode is None:
        message = "the process closed its channel"
    elif returncode < 0:
        names = {number.value: number.name for number in signal.Signals}
        name = names.get(-returncode, f"signal {-returncode}")
        by_whom = " (is memory short?)" if name == "SIGKILL" else ""
        kind, message = FailureKind.SIGNAL, f"the process was killed by {name}{by_whom}"
    else:
        words, remedy = shortage_in(output) if returncode else ("", "")
        reason = f": {words}. {remedy}" if words else ""
        message = f"the process ended with exit code {returncode}{reason}"
    return Failure(kind, message, output=output)


def failure_of(message: Mapping[str, Any], output: str = "") -> Failure:
    """The failure that a worker describes in a message."""
    return Failure(
        FailureKind(message["kind"]),
        _printable(message["message"])[:_MESSAGE_LIMIT],
        _printable(message.get("code", "")),
        message.get("place", ""),
        _printable(message.get("output") or output),
    )


def _printable(text: str) -> str:
    # The user's exception may hold surrogates, which no file and no terminal takes.
    return text.encode(errors="replace").decode()
