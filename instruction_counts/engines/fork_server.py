"""A fork server, seen from the controller: one import of torch, and a child for each task."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from instruction_counts.measurements import Failure, FailureKind
from instruction_counts.process import WorkerError, WorkerProcess, ending, failure_of

_CHANNEL_TIMEOUT_S = 60.0
_START_TIMEOUT_S = 600.0
_OUTPUT_TAIL_BYTES = 64 * 1024
MAX_FILE_BYTES = 1 << 30
"""The largest file that a case may write, its own output included."""


class ServerStartError(Exception):
    """A server cannot start; the message is the reason, with what the process printed."""


class ForkServer:
    """Starts its process when it is first needed, again when it has died; for several lanes.

    ``start`` makes the process; ``serve`` is the request that makes it a server.
    """

    def __init__(self, start: Callable[[], WorkerProcess], serve: Mapping[str, Any]) -> None:
        self._start, self._serve = start, serve
        self._lock = threading.Lock()
        self._process: WorkerProcess | None = None
        self._ready: dict[str, Any] = {}
        self._children: set[int] = set()
        self._numbers = itertools.count(1)
        self._closed = False

    @property
    def ready(self) -> dict[str, Any]:
        """What the server told of itself when it was ready."""
        return self._ready

    def warm_up(self) -> None:
        """Start the process, unless it runs; returns when it can fork.

        Raises:
            ServerStartError: it does not start.
        """
        with self._lock:
            self._running()

    def run(self, task: Mapping[str, Any], folder: Path, timeout_s: float) -> dict[str, Any]:
        """Carry out a task in a forked child, with ``folder`` for its files; returns its answer.

        A server that has died is started again, and the task tried once more.

        Raises:
            WorkerError: the child crashed, timed out, or described a failure.
            ServerStartError: the server does not start.
        """
        request = self._write_request(task, folder)
        try:
            pid = self._fork(request)
        except WorkerError:
            if self._closed:
                raise
            self._forget()
            pid = self._fork(request)
        try:
            return self._await(pid, request, timeout_s)
        finally:
            self._children.discard(pid)

    def close(self) -> None:
        """Kill the server and its children, from any thread."""
        self._closed = True
        for pid in list(self._children):
            _kill_group(pid)
        process = self._process
        if process is not None:
            process.kill()

    def _write_request(self, task: Mapping[str, Any], folder: Path) -> Path:
        # All names have the same length: what the server does for a fork has to be the same.
        request = folder / f"request-{next(self._numbers):06d}.json"
        body = {
            **task,
            "folder": str(folder),
            "result": str(request.with_suffix(".result")),
            "output": str(request.with_suffix(".output")),
            "max_file_bytes": MAX_FILE_BYTES,
        }
        request.write_text(json.dumps(body), encoding="utf-8")
        return request

    def _running(self) -> WorkerProcess:
        if self._process is None:
            try:
                process = self._start()
            except WorkerError as error:
                raise ServerStartError(_reason(error.failure)) from error
            try:
                self._ready = process.ask(self._serve, _START_TIMEOUT_S)
            except WorkerError as error:
                process.close()
                raise ServerStartError(_reason(error.failure)) from error
            if self._ready["status"] != "ok":
                output = process.output
                process.close()
                raise ServerStartError(_reason(failure_of(self._ready["failure"], output)))
            self._process = process
            if self._closed:
                process.kill()
        return self._process

    def _fork(self, request: Path) -> int:
        with self._lock:
            process = self._running()
            answer = process.ask({"type": "fork", "request": str(request)}, _CHANNEL_TIMEOUT_S)
            pid = int(answer["pid"])
            self._children.add(pid)
        if self._closed:
            _kill_group(pid)
        return pid

    def _forget(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.close()
                self._process = None

    def _await(self, pid: int, request: Path, timeout_s: float) -> dict[str, Any]:
        in_time = _wait_for_end(pid, timeout_s)
        # Also after a good end: whatever the case left running in its session ends here.
        _kill_group(pid)
        if not in_time:
            _wait_for_end(pid, _CHANNEL_TIMEOUT_S)
        code = self._reap(pid)
        output = _tail(request.with_suffix(".output"))
        if not in_time:
            message = f"no result within {timeout_s:g} s"
            raise WorkerError(Failure(FailureKind.TIMEOUT, message, output=output))
        result = request.with_suffix(".result")
        if not result.exists():
            raise WorkerError(ending(code, output))
        answer: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        if answer["status"] != "ok":
            raise WorkerError(failure_of(answer["failure"], output))
        return answer

    def _reap(self, pid: int) -> int | None:
        with self._lock:
            if self._process is None:
                return None
            try:
                answer = self._process.ask({"type": "reap", "pid": pid}, _CHANNEL_TIMEOUT_S)
            except WorkerError:
                return None
        return os.waitstatus_to_exitcode(int(answer["wait_status"]))


def _wait_for_end(pid: int, timeout_s: float) -> bool:
    """Wait until a process that is nobody's child here has ended; False if it has not in time."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)


def _kill_group(pid: int) -> None:
    # A child that was forked a moment ago may not lead its session yet.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _OUTPUT_TAIL_BYTES))
            return stream.read().decode(errors="replace").strip()
    except OSError:
        return ""


def _reason(failure: Failure) -> str:
    last = "\n".join(failure.output.splitlines()[-5:])
    return f"{failure.message}\n{last}".strip()
