"""A fork server, seen from the controller: one import of torch, and a child for each task."""

import contextlib
import itertools
import json
import os
import shutil
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.system.worker_process import WorkerError, WorkerProcess, ending, failure_of

_CHANNEL_TIMEOUT_S = 60.0
_START_TIMEOUT_S = 600.0
_LONGEST_WAIT_S = 1e6
_OUTPUT_TAIL_BYTES = 64 * 1024
CACHES = "caches"
"""What a case needs, or makes, that is a folder."""
_MAX_FILE_BYTES = 1 << 30
"""The largest file that a case may write, its own output included.

A byte more for each task of a server: by this limit, which they inherit, the processes that a case
leaves running are known.
"""


KEPT = "is_kept"
"""In a task: its answer, and what it dumped, are good for whoever asks the same server again."""


class ServerStartError(Exception):
    """A server cannot start; the message is the reason, with what the process printed."""


class _ServerDiedError(WorkerError):
    """The server ended, and with it the child that was waited for; ``failure`` is the server's."""


_DELETED = Failure(FailureKind.EXIT, "the folder that it was measured in was deleted")
"""By the statement itself, or by one beside it: each is tried again."""


class ForkServer:
    """Starts its process when it is first needed, again when it has died; for several lanes.

    ``start`` makes the process; ``serve`` is the request that makes it a server. ``fill`` puts into
    ``folder`` what they need: a case may delete it, and it is made again at the same place, because
    its path is in the memory of counted processes. ``sweep`` is called with the process number of
    each child that failed, to remove what it left behind; ``said`` is what is known of why a
    process ended. ``refusal`` says why no server may start, if there is a reason; it is asked
    before each start, and after it. ``notice`` learns why a server is started again. ``told``
    makes what its cases say that of the build.
    """

    def __init__(
        self,
        folder: Path,
        start: Callable[[Path], WorkerProcess],
        serve: Mapping[str, Any],
        *,
        fill: Callable[[Path], None] = lambda _: None,
        sweep: Callable[[int], None] = lambda _: None,
        said: Callable[[int], str] = lambda _: "",
        refusal: Callable[[], str] = lambda: "",
        notice: Callable[[str], None] = lambda _: None,
        told: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.folder = folder
        self._start, self._serve, self._fill = start, serve, fill
        self._sweep, self._said = sweep, said
        self._refusal, self._notice, self._told = refusal, notice, told
        self.cores: Sequence[int] = ()
        """Where it gets ready and waits; its children have cores of their own."""
        self.ready: dict[str, Any] = {}
        """What the server reported when it was ready."""
        self.is_ready = False
        """Whether the server can fork now."""
        self.is_closed = False
        """Whether the server has been asked to end."""
        self._ended: Failure | None = None
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._process: WorkerProcess | None = None
        self._numbers = itertools.count(1)
        self._make_folder()

    def warm_up(self) -> None:
        """Start the process, unless it runs; returns when it can fork.

        Raises:
            ServerStartError: it does not start.
            WorkerError: it was closed.
        """
        with self._lock:
            self._running()

    def run(
        self,
        task: Mapping[str, Any],
        timeout_s: float,
        files: Mapping[str, Path] | None = None,
        made: Mapping[str, Path] | None = None,
        waiting: int | None = None,
    ) -> dict[str, Any]:
        """Carry out a task in a forked child; returns its answer.

        ``files`` are what the case needs, ``made`` is what it makes and where that is to go; the
        case finds each under a name that is of the same length for every case and machine. A server
        that has died is started again, and the task tried once more. So is one whose folder was
        deleted, with which the task fails. ``left_running`` in the answer is how many processes the
        case left running; they were ended. When the descriptor ``waiting`` becomes readable, nobody
        waits for the answer any more, and the task is ended.

        Raises:
            WorkerError: the child crashed, timed out, or described a failure.
            ServerStartError: the server does not start.
        """
        request = _Request(self.folder, next(self._numbers))

        def carry_out() -> dict[str, Any]:
            try:
                request.write(task, files or {}, made or {})
                answer = self._attempt(request, timeout_s, waiting)
                for name, path in (made or {}).items():
                    shutil.move(request.path_of(name, path.suffix), path)
                return answer
            finally:
                request.remove()

        try:
            return self._in_folder(carry_out)
        except _ServerDiedError:
            if self.is_closed:
                raise
            return self._in_folder(carry_out)

    def close(self) -> None:
        """Kill the server and its children, from any thread; nothing of it is left behind."""
        self.is_closed = True
        with self._making:  # whoever removes the folder now removes what was made again, too
            process = self._process
        if process is not None:
            process.kill()  # and all below it
            # Whoever talks to it finds that it is gone, and lets go of the lock.
            with self._lock:
                self._drop()

    def _in_folder(self, carry_out: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The answer of a task that leaves the folder as it is; an error where it does not."""
        self._ensure_folder()
        made = self._made
        try:
            return carry_out()
        finally:
            self._ensure_folder()
            # Asked last: another lane may have found it gone, and made it again, meanwhile.
            if self._made is not made and not self.is_closed:
                raise WorkerError(_DELETED)

    def _ensure_folder(self) -> None:
        """Start again in a new folder where the old one is gone, or something that was put there.

        What tasks put there comes and goes.
        """
        with self._lock, self._making:
            if not (self.is_closed or self._marks() >= self._made):
                self._drop()
                self._ended = _DELETED
                shutil.rmtree(self.folder, ignore_errors=True)
                self._make_folder()

    def _make_folder(self) -> None:
        for folder in (self.folder.parent, self.folder):  # a case may delete either
            folder.mkdir(mode=0o700, exist_ok=True)
        self._fill(self.folder)
        self._made = self._marks()

    def _marks(self) -> set[str | int]:
        """Which folder this is, and what is in it; nothing where it is gone."""
        try:
            names = {path.name for path in self.folder.iterdir()}
            return {self.folder.stat().st_ino, *names}
        except OSError:
            return set()

    def _attempt(
        self, request: "_Request", timeout_s: float, waiting: int | None
    ) -> dict[str, Any]:
        message = {"task": "fork", "request": request.name_of("request")}
        with self._lock:
            server = self._running()
            pid = int(self._ask(server, message)["pid"])
        try:
            in_time = _wait_for_end(pid, timeout_s, waiting)
            if not in_time:
                _kill_group(pid)
                _wait_for_end(pid, _CHANNEL_TIMEOUT_S)
            left_running = server.end_orphans(request.max_file_bytes)
            _kill_group(pid)  # where the kernel lists no orphans
            answer = self._result(server, pid, request, None if in_time else timeout_s)
        except WorkerError:
            self._sweep(pid)
            raise
        return {**answer, "left_running": left_running}

    def _running(self) -> WorkerProcess:
        if self.is_closed:
            raise WorkerError(Failure(FailureKind.EXIT, "the server was closed"))
        try:
            return self._process or self._started()
        except WorkerError as error:
            failure = self._with_words(error.failure)
            self._drop()
            if self.is_closed:
                raise
            last = failure.output.splitlines()[-5:]
            # A table has room for a line: that of an error, which comes last.
            says_why = failure.kind is not FailureKind.EXIT or ":" in failure.message
            why = "" if says_why or not last else f": {last[-1].strip()}"
            raise ServerStartError("\n".join([f"{failure.message}{why}", *last])) from error

    def _started(self) -> WorkerProcess:
        self._check_allowed()
        if self._ended is not None:
            self._notice(self._ended.summary)
        # From here on it can be killed by another thread.
        self._process = process = self._start(self.folder)
        if self.is_closed:
            process.kill()
        answer = process.ask({**self._serve, "cores": [*self.cores]}, _START_TIMEOUT_S)
        if answer["status"] != "ok":
            raise self._failed(answer, self._told(process.output))
        self.ready, self.is_ready = answer, True
        self._check_allowed()  # what changed meanwhile may have been imported
        return process

    def _check_allowed(self) -> None:
        reason = self._refusal()
        if reason:
            raise WorkerError(Failure(FailureKind.REFUSED, reason))

    def _ask(self, server: WorkerProcess, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of ``server``; without one it is given up, as its next one would come late."""
        try:
            return server.ask(message, _CHANNEL_TIMEOUT_S)
        except WorkerError as error:
            self._ended = self._with_words(error.failure)
            self._drop()
            raise _ServerDiedError(self._ended) from error

    def _with_words(self, failure: Failure, pid: int | None = None) -> Failure:
        """The failure with what is said of that process, or of the server."""
        if pid is None and self._process is not None:
            pid = self._process.pid
        words = "" if pid is None else self._told(self._said(pid))
        return attrs.evolve(failure, output=f"{failure.output}\n{words}".strip())

    def _drop(self) -> None:
        self.is_ready = False
        if self._process is not None:
            self._process.close()
            self._process = None

    def _result(
        self, server: WorkerProcess, pid: int, request: "_Request", exceeded_s: float | None
    ) -> dict[str, Any]:
        """The answer of a child that has ended, or was killed after ``exceeded_s``."""
        result = request.path_of("result")
        try:
            with self._lock:
                if self._process is not server:  # another lane noticed first
                    raise _ServerDiedError(Failure(FailureKind.EXIT, "the server ended"))
                reaped = self._ask(server, {"task": "reap", "pid": f"{pid:010d}"})
            code = os.waitstatus_to_exitcode(int(reaped["wait_status"]))
        except _ServerDiedError:
            if exceeded_s is None and not result.exists():
                raise
            code = None
        output = self._told(_tail(request.path_of("output")))
        if exceeded_s is not None:
            message = f"no result within {exceeded_s:g} s"
            raise WorkerError(Failure(FailureKind.TIMEOUT, message, output=output))
        if not result.exists():
            raise WorkerError(self._with_words(ending(code, output), pid))
        answer: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        if answer["status"] != "ok":
            raise self._failed(answer, output)
        return answer

    def _failed(self, answer: Mapping[str, Any], output: str) -> WorkerError:
        described = {name: self._told(str(value)) for name, value in answer["failure"].items()}
        return WorkerError(failure_of(described, output))


class _Request:
    """The files of one task in the folder of its server, all named by the number of the task."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number = folder, f"{number:06d}"
        self.max_file_bytes = _MAX_FILE_BYTES + number

    def name_of(self, what: str, suffix: str = "") -> str:
        """The name of a file for the case: ``./library-000001.so``."""
        return f"./{what}-{self._number}{suffix}"

    def path_of(self, what: str, suffix: str = "") -> Path:
        """The same for the controller."""
        return self._folder / self.name_of(what, suffix)

    def write(
        self, task: Mapping[str, Any], files: Mapping[str, Path], made: Mapping[str, Path]
    ) -> None:
        """Write what the child reads first, and link the files that it needs."""
        self.remove()
        for what, path in files.items():
            place = self.path_of(what, path.suffix)
            if what == CACHES:  # what is added to them must not reach others
                shutil.copytree(path, place)
            else:
                place.symlink_to(path)
        names = {what: self.name_of(what, path.suffix) for what, path in {**files, **made}.items()}
        body = {
            **task,
            "case": {**task["case"], **names},
            "result": self.name_of("result"),
            "output": self.name_of("output"),
            "max_file_bytes": self.max_file_bytes,
        }
        self.path_of("request").write_text(json.dumps(body), encoding="utf-8")

    def remove(self) -> None:
        """Remove the files of the task."""
        with contextlib.suppress(FileNotFoundError):  # the folder, deleted meanwhile
            for path in self._folder.glob(f"*-{self._number}*"):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _wait_for_end(pid: int, timeout_s: float, waiting: int | None = None) -> bool:
    """Wait until a process that is nobody's child here has ended; False if it has not in time.

    Nor has it where ``waiting`` becomes readable before.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        awaited = [descriptor] if waiting is None else [descriptor, waiting]
        return descriptor in connection.wait(awaited, min(timeout_s, _LONGEST_WAIT_S))
    finally:
        os.close(descriptor)


def _kill_group(pid: int) -> None:
    # A child that was forked a moment ago may not lead its session yet.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
            return


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _OUTPUT_TAIL_BYTES))
            return stream.read().decode(errors="replace").strip()
    except OSError:
        return ""
