"""A process that holds the servers of one build and profile for the commands that come.

It gets its order on the standard input, listens, then leaves the command that started it. It ends
when nobody has asked for so long, when memory gets short, when the build changes, when its socket
is gone, and when it is told to; its servers and their files end with it.
"""

import contextlib
import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import cattrs

from instruction_counts.builds.files import digest_of
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork_processes import ForkProcesses, Which
from instruction_counts.engines.fork_server import KEPT, ForkServer, ServerStartError
from instruction_counts.engines.warm import channel
from instruction_counts.system.files import states_of, text_of
from instruction_counts.system.folders import WorkFolder
from instruction_counts.system.worker_process import WorkerError, children_of
from instruction_counts.system.worker_tasks import request_for

_LOOK_UP_S = 1.0
_FIRST_WITHIN_S = 60.0
"""For so long it waits for the command that started it."""
_LEAST_AVAILABLE = 1 / 20
"""Of the memory of the machine: with less, servers that nobody uses end."""
_LOADED_TIMEOUT_S = 120.0
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@attrs.frozen
class Order:
    """What a holder is started for."""

    facts: BuildFacts
    profile: Profile
    libraries: tuple[Path, ...]
    """What lies beside each worker."""
    place: Path
    """Of its socket."""
    keep_s: float


MakeServer: TypeAlias = Callable[[Which, Callable[[str], None]], ForkServer]
"""Makes a server, which tells somebody what is to be known."""


class Holder:
    """Answers requests, each in a thread; see `instruction_counts.engines.warm.client`."""

    def __init__(
        self,
        order: Order,
        folder: Path,
        make: MakeServer,
        memory_is_short: Callable[[], bool],
    ) -> None:
        self._order, self._folder, self._make = order, folder, make
        self._memory_is_short = memory_is_short
        self._place = order.place
        self._files = digest_of(order.facts.files)
        self._servers: dict[Which, ForkServer] = {}
        self._loaded: dict[str, tuple[int, int]] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._notices: list[str] = []
        self._lock = threading.Lock()
        self._connections = 0
        self._began = time.monotonic()
        self._used = self._began + _FIRST_WITHIN_S
        self._is_retired = False
        self._own_inode = self._inode()
        self._tasks: Mapping[str, Callable[[socket.socket, Any], dict[str, Any]]] = {
            "hello": self._hello,
            "warm_up": self._warm_up,
            "run": self._run,
            "retire": self._retire,
            "status": self._status,
        }

    def serve(self, listener: socket.socket) -> None:
        """Answer until this is not wanted any more."""
        listener.settimeout(_LOOK_UP_S)
        while self._is_wanted():
            with contextlib.suppress(TimeoutError):
                self._attend_to(listener.accept()[0])

    def _attend_to(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections += 1
        threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _inode(self) -> int:
        """Of the socket; another one has its name where another holder took the place."""
        try:
            return self._place.stat().st_ino
        except OSError:
            return 0

    def close(self) -> None:
        """End all servers; nobody finds this any more."""
        if self._inode() == self._own_inode:
            self._place.unlink(missing_ok=True)
        for server in list(self._servers.values()):
            server.close()

    def _is_wanted(self) -> bool:
        self._is_retired |= self._inode() != self._own_inode
        if self._connections:
            return True
        idle_s = time.monotonic() - self._used
        return not (self._is_retired or idle_s > self._order.keep_s or self._memory_is_short())

    def _answer(self, connection: socket.socket) -> None:
        is_use = False
        try:
            with contextlib.suppress(OSError, ValueError), connection:
                connection.settimeout(None)
                channel.check_peer(connection)
                request = channel.receive(connection)
                is_use = request["do"] != "status"
                try:
                    answer = self._tasks[request["do"]](connection, request)
                except WorkerError as error:
                    answer = {"status": "failed", "failure": error.failure}
                except ServerStartError as error:
                    answer = {"status": "not started", "reason": str(error)}
                except OSError as error:  # a full disk, say: it costs this request alone
                    failure = Failure(FailureKind.EXIT, str(error))
                    answer = {"status": "failed", "failure": failure}
                with self._lock:
                    notices = [*self._notices]
                    del self._notices[: len(notices)]
                channel.send(connection, {**answer, "notices": notices})
                if request.get("stay"):  # until the other end goes
                    while (more := channel.further(connection)) is not None:
                        self._attend_to(more)
        finally:
            self._gone(is_use=is_use)

    def _gone(self, *, is_use: bool) -> None:
        """Note that a connection has ended, however it did."""
        with self._lock:
            self._connections -= 1
            if is_use:  # who lists servers keeps none of them
                self._used = time.monotonic()
            if not self._connections:  # those who have gone may have left some
                pids = [answer["pid"] for answer in list(self._kept.values())]
                kept = {path for pid in pids for path in self._folder.glob(f"*/dumps/cg.{pid}.*")}
                for dump in self._folder.glob("*/dumps/*"):
                    if dump not in kept and dump.suffix != ".log":
                        dump.unlink(missing_ok=True)

    def _hello(self, *_: object) -> dict[str, Any]:
        """What there is; with ``stay`` it is used for as long as the connection is there."""
        loaded = dict(self._loaded)  # a server that gets ready meanwhile adds to it
        if states_of(loaded) != loaded:
            self._retire()
        return {
            "status": "retired" if self._is_retired else "ok",
            "facts": attrs.evolve(self._order.facts, files={}),
            "files": self._files,
            "ready": {
                which.folder: one.ready
                for which, one in list(self._servers.items())
                if one.is_ready
            },
        }

    def _warm_up(self, _: socket.socket, request: Mapping[str, Any]) -> dict[str, Any]:
        server = self._server(request)
        was_ready = server.is_ready
        server.warm_up()
        if not was_ready:
            self._note_loaded(server, request["which"]["role"])
        return {"status": "ok", "ready": server.ready, "folder": str(server.folder)}

    def _run(self, connection: socket.socket, request: Mapping[str, Any]) -> dict[str, Any]:
        warm = self._warm_up(connection, request)
        server, task, files = self._server(request), request["task"], request["files"]
        given, wanted = (
            {name: Path(path) for name, path in (paths or {}).items()}
            for paths in (files, request["made"])
        )
        place = json.dumps([request["which"], task, files], sort_keys=True)
        answer = self._kept.get(place)
        if answer is None or not any(server.folder.glob(f"dumps/cg.{answer['pid']}.*")):
            waiting = connection.fileno()
            answer = server.run(task, request["timeout_s"], given, wanted, waiting)
            if task.get(KEPT):
                self._kept[place] = answer
        return {**warm, "answer": answer}

    def _retire(self, *_: object) -> dict[str, Any]:
        """End as soon as nobody uses it; nobody new finds it."""
        self._is_retired = True
        self._place.unlink(missing_ok=True)
        return {"status": "ok"}

    def _status(self, *_: object) -> dict[str, Any]:
        now = time.monotonic()
        return {
            "status": "ok",
            "pid": os.getpid(),
            "build": self._order.facts.build.name,
            "interpreter": self._order.facts.interpreter,
            "torch": self._order.facts.fingerprint.torch,
            "servers": [which.title for which, one in list(self._servers.items()) if one.is_ready],
            "age_s": now - self._began,
            "idle_s": 0.0 if self._connections > 1 else max(0.0, now - self._used),
            "memory_bytes": _memory_below(os.getpid()),
        }

    def _server(self, request: Mapping[str, Any]) -> ForkServer:
        key = cattrs.structure(request["which"], Which)
        with self._lock:
            server = self._servers.get(key)
            if server is None:
                server = self._servers[key] = self._make(key, self._notices.append)
                server.cores = request["cores"]
            return server

    def _note_loaded(self, server: ForkServer, role: str) -> None:
        """Remember the files of which a server's memory was made."""
        name = "loaded" if role == "times" else "loaded_while_counting"
        try:
            paths = server.run(request_for(name), _LOADED_TIMEOUT_S)["files"]
        except WorkerError:
            self._retire()  # what it was made of cannot be watched
            return
        self._loaded |= states_of(paths)


def _memory_is_short() -> bool:
    """Whether little is left of the memory of this machine."""
    found = dict(re.findall(r"^(\w+): +(\d+)", text_of(Path("/proc/meminfo")), re.MULTILINE))
    total, available = (int(found.get(name, 0)) for name in ("MemTotal", "MemAvailable"))
    return available < total * _LEAST_AVAILABLE


def _memory_below(pid: int) -> int:
    """Bytes of memory of a process and all below it; what they share counts for each."""
    total = 0
    with contextlib.suppress(OSError):
        total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    return total + sum(map(_memory_below, children_of(pid)))


def main() -> None:
    """Hold the servers that the standard input asks for."""
    order = cattrs.structure(json.load(sys.stdin), Order)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with channel.named(order.place) as name:
        listener.bind(name)
    listener.listen(64)
    if os.fork():  # whoever started it waits for this, and for nothing else
        os._exit(0)
    with WorkFolder() as folder:
        processes = ForkProcesses(order.facts, order.profile, folder, order.libraries)
        holder = Holder(order, folder, processes.server, _memory_is_short)
        try:
            holder.serve(listener)
        finally:
            listener.close()
            holder.close()


if __name__ == "__main__":
    main()
