"""Where the servers of a build and profile are found, and for how long they are kept."""

import socket
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.machine import read_machine
from instruction_counts.engines.warm import channel

BUILD = Build("base", "/usr/bin/python3")


@pytest.mark.parametrize(
    ("variables", "expected_s"),
    [
        ({}, 600),
        ({"CI": "true"}, 0),
        ({"CI": "true", channel.KEEP_VARIABLE: "5m"}, 300),
        ({channel.KEEP_VARIABLE: "0"}, 0),
    ],
)
def test_servers_are_kept_for_ten_minutes_unless_variables_say_how_long(
    variables: dict[str, str], expected_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody comes back to a machine of CI."""
    for name in ("CI", channel.KEEP_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert expected_s == channel.keep_s()


def test_what_is_no_duration_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the forms that are."""
    monkeypatch.setenv(channel.KEEP_VARIABLE, "soon")

    with pytest.raises(UsageError, match="KEEP_SERVERS=soon is not a duration"):
        channel.keep_s()


@pytest.mark.parametrize(
    ("build", "profile"),
    [
        (attrs.evolve(BUILD, python="/usr/bin/python"), Profile()),
        (attrs.evolve(BUILD, env={"OMP_NUM_THREADS": "1"}), Profile()),
        (BUILD, Profile(allocator="system")),
        (BUILD, Profile(pinned_isa="avx2")),
        (BUILD, Profile(machine=read_machine())),
    ],
)
def test_what_a_server_inherits_tells_it_from_others(build: Build, profile: Profile) -> None:
    """Each has servers of its own."""
    assert channel.place_of(BUILD, Profile()) != channel.place_of(build, profile)


def test_limits_of_a_command_are_those_of_its_servers_alone() -> None:
    """A server of a command with too little memory would fail all that come after it."""
    code = (
        "from instruction_counts.domain.build import Build\n"
        "from instruction_counts.engines.engine import Profile\n"
        "from instruction_counts.engines.warm.channel import place_of\n"
        f"print(place_of(Build('b', {sys.executable!r}), Profile()))"
    )
    limits = "true", "ulimit -n 64", "true"
    first, limited, again = (
        subprocess.check_output(["sh", "-c", f'{limit}; exec "$0" -c "$1"', sys.executable, code])
        for limit in limits
    )

    assert first == again != limited


@pytest.mark.parametrize("changed", ["worker/main.py", "instruction_counts/engines/new.py"])
def test_another_state_of_the_program_has_servers_of_its_own(tmp_path: Path, changed: str) -> None:
    """What an edit moves is not measured with what was started before it."""
    program = tmp_path / "program"
    for name in ("worker/main.py", "instruction_counts/main.py"):
        (program / name).parent.mkdir(parents=True, exist_ok=True)
        (program / name).write_text("x = 1\n")
    before = channel.place_of(BUILD, Profile(), program)
    (program / changed).parent.mkdir(exist_ok=True)
    (program / changed).write_text("x = 12\n")

    assert before != channel.place_of(BUILD, Profile(), program)


def test_the_folder_is_private() -> None:
    """As is the one above it."""
    folder = channel.servers_folder()

    assert [0o700, 0o700] == [path.stat().st_mode & 0o777 for path in (folder, folder.parent)]


def test_a_socket_may_lie_at_a_long_path(tmp_path: Path) -> None:
    """The system takes 107 bytes."""
    folder = tmp_path / ("x" * 200)
    folder.mkdir()
    place = folder / "a.socket"
    with socket.socket(socket.AF_UNIX) as listener:
        with channel.named(place) as name:
            listener.bind(name)
        listener.listen()

        with channel.connected(place) as connection:
            channel.send(connection, {"do": "it"})
            other, _ = listener.accept()
            with other:
                assert {"do": "it"} == channel.receive(other)
