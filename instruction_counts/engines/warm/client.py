"""Servers that outlive this command, for the fork engine in place of its own.

Who needs a server asks the holder of the build and profile, and starts one where there is none. A
holder that is gone is started again; one whose build has changed is told to retire.
"""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import cattrs
from filelock import FileLock

import instruction_counts
from instruction_counts.builds.compilers import find_compiler
from instruction_counts.builds.files import digest_of
from instruction_counts.builds.lock_files import mark_used
from instruction_counts.builds.probing import BuildFacts, probe, valgrind_version
from instruction_counts.core.runtimes import needed_names
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork_processes import Which
from instruction_counts.engines.fork_server import ForkServer, ServerStartError
from instruction_counts.engines.warm import channel, holder
from instruction_counts.system.worker_process import WorkerError

_START_TIMEOUT_S = 60.0
_ANSWER_TIMEOUT_S = 10.0
_MOST = 4
"""Holders at a time: each has two servers, of a gigabyte together."""


class HolderGoneError(WorkerError):
    """The process that held the servers cannot be asked any more."""


class WarmServers:
    """The servers of one build and profile, in a holder that is found or started when needed.

    Raises:
        BuildError, UsageError: see `channel.place_of`.
    """

    def __init__(
        self,
        facts: BuildFacts,
        profile: Profile,
        libraries: Sequence[Path],
        keep_s: float,
        notice: Callable[[str], None],
        answer_timeout_s: float = _ANSWER_TIMEOUT_S,
    ) -> None:
        self._order = holder.Order(
            facts,
            attrs.evolve(profile, callgrind_out=None),
            tuple(libraries),
            channel.place_of(facts.build, profile),
            keep_s,
        )
        self._place = self._order.place
        self._notice, self._answer_timeout_s = notice, answer_timeout_s
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._ready: dict[str, Any] = {}
        """What servers had reported before this came, as far as they were ready."""
        self._presence = self._found()
        self.is_closed = False

    def server(self, which: Which) -> "WarmServer":
        """One of them."""
        return WarmServer(self, which, self._ready.get(which.folder, {}))

    def attend(self) -> socket.socket:
        """See that there is a holder, which knows as long as this lives that it is used.

        Raises:
            OSError, SubprocessError: there is none, and none can be started.
        """
        with self._lock:
            if self.is_closed:
                raise ConnectionAbortedError("closed")
            if self._presence is not None:
                return self._presence
            with FileLock(self._place.with_suffix(".lock"), timeout=_START_TIMEOUT_S):
                self._presence = self._found()
                if self._presence is None:
                    self._start()
                    self._presence = self._found()
            if self._presence is None:
                raise ConnectionRefusedError("the process that holds it does not answer")
            return self._presence

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the holder, whatever has to be started for it.

        Raises:
            WorkerError, ServerStartError: as the server in the holder does.
        """
        asked = None
        try:
            asked = self.attend()
            answer = self._answer_to(request, asked)
        except (OSError, subprocess.SubprocessError) as error:
            with self._lock:
                if self._presence is asked:  # no other one was found meanwhile
                    self._leave()
            why = "the server was closed" if self.is_closed else f"no warm server: {error}"
            raise HolderGoneError(Failure(FailureKind.EXIT, why)) from error
        for text in answer["notices"]:
            self._notice(text)
        if answer["status"] == "ok":
            return answer
        if answer["status"] == "not started":
            raise ServerStartError(answer["reason"])
        raise WorkerError(cattrs.structure(answer["failure"], Failure))

    def close(self) -> None:
        """Leave the holder, which ends what this still waits for."""
        self.is_closed = True
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._leave()

    def _found(self) -> socket.socket | None:
        """A connection to the holder that is there; one of a build as it was before retires."""
        with contextlib.suppress(OSError, ValueError):
            hello = {"do": "hello", "stay": True}
            connection, answer = _told(self._place, hello, self._answer_timeout_s)
            expected = "ok", digest_of(self._order.facts.files)
            if (answer["status"], answer["files"]) == expected:
                self._ready = answer["ready"]
                return connection
            connection.close()
            told(self._place, "retire")
        return None

    def _start(self) -> None:
        _make_room()
        self._place.unlink(missing_ok=True)
        with self._place.with_suffix(".log").open("wb") as log:
            subprocess.run(
                [sys.executable, "-m", holder.__name__],
                input=json.dumps(cattrs.unstructure(self._order)).encode(),
                stdout=log,
                stderr=log,
                cwd=Path(instruction_counts.__file__).parents[1],
                start_new_session=True,
                timeout=_START_TIMEOUT_S,
                check=True,
            )

    def _answer_to(self, request: Mapping[str, Any], presence: socket.socket) -> dict[str, Any]:
        # Through the presence: a holder that retires is found by nobody, and serves who is there.
        with channel.connected_through(presence) as connection:
            self._open.add(connection)
            try:
                if self.is_closed:  # `close` may not have seen this one
                    raise ConnectionAbortedError("closed")
                channel.send(connection, request)
                return channel.receive(connection)
            finally:
                self._open.discard(connection)

    def _leave(self) -> None:
        if self._presence is not None:
            self._presence.close()
            self._presence = None


class WarmServer:
    """A `ForkServer` that another process holds."""

    def __init__(self, servers: WarmServers, which: Which, ready: Mapping[str, Any]) -> None:
        self._servers, self._which = servers, which
        self._answered: dict[str, Any] = {"ready": ready}
        """What the server says of itself with each answer."""
        self.cores: Sequence[int] = ()
        """Where it gets ready, if it has to; its children have cores of their own."""

    @property
    def ready(self) -> dict[str, Any]:
        """What the server reported when it was ready; empty where it is not."""
        found: dict[str, Any] = self._answered["ready"]
        return found

    @property
    def is_ready(self) -> bool:
        """Whether the server can fork now."""
        return bool(self.ready)

    @property
    def is_closed(self) -> bool:
        """Whether this side has let go of it."""
        return self._servers.is_closed

    @property
    def folder(self) -> Path:
        """Where the child that answered last left its dumps; that of another holder is another."""
        return Path(self._answered["folder"])

    def warm_up(self) -> None:
        """See that the server can fork; see `ForkServer.warm_up`."""
        self._answered = self._ask("warm_up")

    def run(
        self,
        task: Mapping[str, Any],
        timeout_s: float,
        files: Mapping[str, Path] | None = None,
        made: Mapping[str, Path] | None = None,
    ) -> dict[str, Any]:
        """See `ForkServer.run`; the task ends when this process does."""
        self._answered = self._ask("run", task=task, timeout_s=timeout_s, files=files, made=made)
        found: dict[str, Any] = self._answered["answer"]
        return found

    def close(self) -> None:
        """Let go of it; it goes on for others."""
        self._servers.close()

    def _ask(self, what: str, **request: Any) -> dict[str, Any]:
        return self._servers.ask(
            {"do": what, "which": self._which, "cores": [*self.cores], **request}
        )


Server: TypeAlias = ForkServer | WarmServer


def told(place: Path, what: str) -> dict[str, Any]:
    """The answer of the holder at ``place`` to a request of one word.

    Raises:
        OSError: there is none.
    """
    connection, answer = _told(place, {"do": what}, _ANSWER_TIMEOUT_S)
    connection.close()
    return answer


def _told(
    place: Path, message: Mapping[str, Any], timeout_s: float
) -> tuple[socket.socket, dict[str, Any]]:
    """A connection to the holder at ``place``, and its first answer there.

    One that gives none, as it was stopped, is found by nobody from now on.
    """
    connection = channel.connected(place)
    try:
        connection.settimeout(timeout_s)
        channel.send(connection, message)
        answer = channel.receive(connection)
        connection.settimeout(None)
    except BaseException as error:
        connection.close()
        if isinstance(error, TimeoutError):
            place.unlink(missing_ok=True)
        raise
    return connection, answer


def holders() -> list[tuple[Path, dict[str, Any]]]:
    """The sockets of this user's holders, and what each says of itself."""
    found = []
    for place in sorted(channel.servers_folder().glob("*.socket")):
        with contextlib.suppress(OSError):
            found.append((place, told(place, "status")))
    return found


def _make_room() -> None:
    """End what was used least recently, where there are so many that another is too much."""
    idle = [(holder["idle_s"], place) for place, holder in holders()]
    for idle_s, place in sorted(idle, reverse=True)[: max(0, len(idle) + 1 - _MOST)]:
        if idle_s:
            with contextlib.suppress(OSError):
                told(place, "retire")


def known_or_probed(build: Build, timeout_s: float) -> BuildFacts:
    """What a build is: as it was found when its servers were started, where it is that still.

    Raises:
        BuildError: it cannot be used.
    """
    return _known(build) or probe(build, timeout_s)


def _known(build: Build) -> BuildFacts | None:
    if not channel.keep_s():
        return None
    try:
        hello = told(channel.place_of(build, Profile()), "hello")
    except OSError:
        return None
    mark_used(build)
    facts, compiler = cattrs.structure(hello["facts"], BuildFacts), find_compiler(build)
    if not facts.has.keys() >= {*needed_names()}:  # a runtime is registered that was not
        return None
    files = facts.files_now()
    if digest_of(files) != hello["files"]:
        return None
    if valgrind_version(build) != facts.fingerprint.valgrind:
        return None
    # Servers have nothing of the compiler, which may be another one for each command.
    fingerprint = attrs.evolve(facts.fingerprint, compiler=compiler.version)
    return attrs.evolve(facts, build=build, files=files, compiler=compiler, fingerprint=fingerprint)
