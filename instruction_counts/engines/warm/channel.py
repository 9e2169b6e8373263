"""Where a command finds the servers of earlier ones, and how the two talk.

For each build and profile there is at most one holder, which listens at a socket in a private
folder of the user. A connection carries one request and its answer, both a line of JSON; it is also
the sign that somebody waits. One that stays carries further ones.
"""

import contextlib
import json
import os
import resource
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import cattrs

from instruction_counts import __version__
from instruction_counts.builds.files import digest_of
from instruction_counts.builds.hermetic import environment
from instruction_counts.domain.bounds import DURATION, seconds_of
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.engines.engine import Profile
from instruction_counts.system.cache import key_of
from instruction_counts.system.files import states_of
from instruction_counts.system.folders import make_runtime_folder
from instruction_counts.system.program import HOME

KEEP_VARIABLE = "INSTRUCTION_COUNTS_KEEP_SERVERS"
_KEEP_S = 600.0
_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
"""What `ulimit` sets."""
_FURTHER = b"+"
"""What comes with a further connection."""


def keep_s() -> float:
    """For how long servers that nobody uses are kept; 0 where they end with their command.

    Raises:
        UsageError: the variable that says it holds no duration.
    """
    written = os.environ.get(KEEP_VARIABLE)
    if not written:
        return 0.0 if os.environ.get("CI") else _KEEP_S
    try:
        return 0.0 if written.strip() == "0" else seconds_of(written)
    except ValueError as error:
        message = f"{KEEP_VARIABLE}={written} is not a duration"
        raise UsageError(message, f"Set it to 0, or to {DURATION}.") from error


def servers_folder() -> Path:
    """The folder of the sockets.

    Raises:
        UsageError: it cannot be made, or is not ours.
    """
    folder = make_runtime_folder() / "servers"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def place_of(build: Build, profile: Profile, program: Path = HOME) -> Path:
    """The socket of the holder for a build and a profile, of this version of the program.

    All that a server inherits takes part in the name, and not what the build is called or what
    compiles its C++.

    Raises:
        BuildError: the build sets its environment by a command that fails.
        UsageError: see `servers_folder`.
    """
    asked = attrs.evolve(build, name="", compiler=""), environment(build)
    machine = "" if profile.machine is None else profile.machine.identity
    of_profile = profile.allocator, profile.pinned_isa, profile.device, machine
    inherited = os.nice(0), [resource.getrlimit(limit) for limit in _LIMITS]
    parts = (repr(asked), __version__, _state_of(program), *of_profile, repr(inherited))
    return servers_folder() / f"{key_of(*parts)[:20]}.socket"


def _state_of(program: Path) -> str:
    """What tells one state of a program from another: sizes and times of its files."""
    folders = (program / name for name in ("instruction_counts", "worker", "core"))
    return digest_of(states_of(str(path) for folder in folders for path in folder.rglob("*.py")))


@contextlib.contextmanager
def named(place: Path) -> Iterator[str]:
    """A name for a socket that is short enough, wherever it lies: the system takes 107 bytes."""
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{place.name}"
    finally:
        os.close(folder)


def connected(place: Path) -> socket.socket:
    """A connection to the holder at ``place``.

    Raises:
        OSError: there is none, or it is another user's.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with named(place) as name:
            connection.connect(name)
        check_peer(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def connected_through(presence: socket.socket) -> socket.socket:
    """A further connection to the holder that one leads to.

    Raises:
        OSError: it is gone.
    """
    mine, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(presence, [_FURTHER], [theirs.fileno()])
    return mine


def further(presence: socket.socket) -> socket.socket | None:
    """The next connection that comes through one; None once the other end is gone."""
    _, descriptors, _, _ = socket.recv_fds(presence, len(_FURTHER), 1)
    return socket.socket(fileno=descriptors[0]) if descriptors else None


def check_peer(connection: socket.socket) -> None:
    """Refuse a process of another user.

    Raises:
        PermissionError: it is one.
    """
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack(
        "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    )
    if user != os.getuid():
        raise PermissionError(f"the process at the other end belongs to user {user}")


def send(connection: socket.socket, message: Mapping[str, Any]) -> None:
    """Write one message."""
    connection.sendall(json.dumps(cattrs.unstructure(message)).encode() + b"\n")


def receive(connection: socket.socket) -> dict[str, Any]:
    """The message of the other end.

    Raises:
        OSError: it is gone, or says something else.
    """
    with connection.makefile("rb") as stream:
        line = stream.readline()
    if not line.endswith(b"\n"):
        raise ConnectionResetError("the other end is gone")
    message: dict[str, Any] = json.loads(line)
    return message
