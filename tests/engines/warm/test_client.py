"""Commands and the process that holds servers for them; no server is started here."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork_processes import Which
from instruction_counts.engines.warm import channel
from instruction_counts.engines.warm.client import WarmServer, WarmServers, holders, told
from instruction_counts.system.worker_process import WorkerError
from tests.fakes import FACTS
from tests.waiting import comes_true, ends_soon, is_stopped


def attending(facts: BuildFacts = FACTS, isa: str = "") -> WarmServers:
    """A command that has found, or started, what holds its servers."""
    servers = WarmServers(facts, Profile(pinned_isa=isa), (), 60, print)
    servers.attend()
    return servers


def idle() -> int:
    """How many nobody uses."""
    return sum(holder["idle_s"] > 0 for _, holder in holders())


def pids() -> list[int]:
    """The processes that hold servers."""
    return [holder["pid"] for _, holder in holders()]


def test_commands_at_the_same_time_start_one_holder() -> None:
    """Each waits for the one that came first."""
    with ThreadPoolExecutor() as pool:
        commands = [*pool.map(lambda _: attending(), range(4))]

    assert 1 == len(pids())
    for command in commands:
        command.close()


def test_the_next_command_finds_it() -> None:
    """Whatever the build is called there."""
    attending().close()
    (before,) = pids()

    attending(attrs.evolve(FACTS, build=attrs.evolve(FACTS.build, name="new"))).close()

    assert [before] == pids()


def test_the_one_that_was_used_least_recently_makes_room() -> None:
    """A bisection over many builds does not fill the memory; what is used stays."""
    first = attending(isa="avx")
    for number, isa in enumerate(("avx2", "avx512", "default", "amx")):
        attending(isa=isa).close()
        assert comes_true(lambda: idle() == min(number + 1, 3))  # noqa: B023 - called at once

    found = [place for place, _ in holders()]

    assert 4 == len(found)
    assert channel.place_of(FACTS.build, Profile(pinned_isa="avx2")) not in found
    assert channel.place_of(FACTS.build, Profile(pinned_isa="avx")) in found
    first.close()


def test_what_cannot_be_started_is_an_error_before_anything_is_measured() -> None:
    """As on a full disk; an engine takes servers of its own then."""
    channel.place_of(FACTS.build, Profile()).with_suffix(".log").mkdir()

    with pytest.raises(OSError, match="Is a directory"):
        attending()


def test_a_build_that_changed_has_a_new_one() -> None:
    """That of the build as it was ends."""
    attending().close()
    (before,) = pids()

    attending(attrs.evolve(FACTS, files={"/nowhere/torch/_C.so": (4711, 1)})).close()

    assert comes_true(lambda: len(pids()) == 1 and pids() != [before])
    assert ends_soon(before)


def test_one_that_was_killed_is_started_again() -> None:
    """The command that notices fails in what it waited for, and in nothing more."""
    command = attending()
    (before,) = pids()
    os.kill(before, signal.SIGKILL)
    assert ends_soon(before)

    with pytest.raises(WorkerError, match="no warm server"):
        command.ask({"do": "status"})

    assert "ok" == command.ask({"do": "status"})["status"]
    command.close()


def test_one_that_retires_goes_on_for_the_command_that_uses_it() -> None:
    """As when somebody stops servers while another command measures; the next finds a new one."""
    command = attending()
    ((place, before),) = holders()
    told(place, "retire")

    assert before["pid"] == command.ask({"do": "status"})["pid"]
    following = attending()
    assert before["pid"] != following.ask({"do": "status"})["pid"]
    command.close()
    assert ends_soon(before["pid"])
    following.close()


@attrs.define
class Held:
    """Servers of a holder, which another one may follow."""

    holder: str

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Whatever it is, with the folder of this holder."""
        return {**request, "folder": f"/{self.holder}", "answer": {}}


def test_a_server_of_another_holder_has_its_folder() -> None:
    """Whichever server of this command noticed first that the holder was gone."""
    held = Held("first")
    server = WarmServer(held, Which("counts"), {})  # type: ignore[arg-type]
    server.warm_up()
    before = server.folder
    held.holder = "second"
    server.run({}, 1.0)

    assert [Path("/first"), Path("/second")] == [before, server.folder]


def test_a_command_that_is_closed_asks_nothing() -> None:
    """Nor does it start anything."""
    command = attending()
    command.close()

    with pytest.raises(WorkerError, match="the server was closed"):
        command.ask({"do": "status"})


def test_a_holder_leaves_the_terminal_and_the_streams_of_its_command() -> None:
    """Else whoever reads what a command prints would wait for it."""
    attending().close()
    (pid,) = pids()

    assert pid != os.getsid(0)
    assert os.getsid(pid) != os.getsid(0)
    for stream in (1, 2):
        assert Path(f"/proc/{pid}/fd/{stream}").resolve().suffix == ".log"


def test_a_holder_uses_the_cores_that_its_command_may_use() -> None:
    """Others may be kept free for something else."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})  # as below `taskset`
    try:
        attending().close()
    finally:
        os.sched_setaffinity(0, cores)
    (pid,) = pids()

    assert {min(cores)} == os.sched_getaffinity(pid)


def test_a_command_waits_for_a_holder_that_stands_still() -> None:
    """As after the machine was suspended."""
    command = attending()
    (pid,) = pids()
    os.kill(pid, signal.SIGSTOP)
    assert comes_true(lambda: is_stopped(pid))
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(command.ask, {"do": "status"})
        assert not comes_true(answer.done, within_s=1)
        os.kill(pid, signal.SIGCONT)

    assert pid == answer.result()["pid"]
    command.close()


def test_a_holder_that_stands_still_keeps_no_new_command_waiting() -> None:
    """Another one takes its place; the first ends when it goes on."""
    attending().close()
    (first,) = pids()
    os.kill(first, signal.SIGSTOP)
    assert comes_true(lambda: is_stopped(first))
    command = WarmServers(FACTS, Profile(), (), 60, print, answer_timeout_s=0.2)
    command.attend()
    (second,) = pids()
    command.close()
    os.kill(first, signal.SIGCONT)

    assert first != second
    assert ends_soon(first)


def test_it_says_what_it_is() -> None:
    """As `servers list` prints it."""
    attending().close()

    ((place, holder),) = holders()

    assert place == channel.place_of(FACTS.build, Profile())
    assert ("default", "2.13.0+cpu", []) == (holder["build"], holder["torch"], holder["servers"])
    assert 0 < holder["memory_bytes"] < 1 << 30
