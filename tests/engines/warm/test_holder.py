"""Holders, with a small script in place of the worker."""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork_processes import Which
from instruction_counts.engines.fork_server import KEPT, ForkServer
from instruction_counts.engines.warm import channel
from instruction_counts.engines.warm.client import told
from instruction_counts.engines.warm.holder import Holder, Order
from tests.engines.test_fork_server import HELLO, LOOP, READY, scripted_server, task
from tests.fakes import FACTS
from tests.small_disk import fill, small_disk
from tests.waiting import comes_true, ends_soon, is_stopped

HOLD: TypeAlias = Callable[..., Path]
TIMES = {"which": Which("times"), "cores": []}
LIMITS: dict[str, Any] = {"timeout_s": 60, "files": {}, "made": {}}
WATCHED = "a module of the build"
SCRIPT = (
    HELLO
    + READY
    + LOOP.replace('case["stmt"]', f'case.get("stmt", "{WATCHED}")').replace(
        f'"{WATCHED}"', """'answer["files"] = [os.path.abspath("../watched.py")]'"""
    )
)
"""It answers what is loaded, too, which is a task without a statement."""


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[HOLD]:
    """Start a holder in a thread; returns its place. It ends with the test."""
    folder, script = tmp_path / "work", tmp_path / "script.py"
    folder.mkdir()
    (folder / "watched.py").write_text("x = 1")
    script.write_text(SCRIPT)
    threads: dict[Path, threading.Thread] = {}

    def start(which: Which, notice: Callable[[str], None]) -> ForkServer:
        return scripted_server(script, folder / which.folder, which.role, notice=notice)

    def held(keep_s: float = 60, memory_is_short: Callable[[], bool] = lambda: False) -> Path:
        place = tmp_path / f"{len(threads)}.socket"
        listener = socket.socket(socket.AF_UNIX)
        with channel.named(place) as name:
            listener.bind(name)
        listener.listen()
        order = Order(FACTS, Profile(), (), place, keep_s)
        holder = Holder(order, folder, start, memory_is_short)

        def serve() -> None:
            with contextlib.closing(holder), listener:
                holder.serve(listener)

        threads[place] = threading.Thread(target=serve, name=str(place))
        threads[place].start()
        return place

    yield held
    for place, thread in threads.items():
        place.unlink(missing_ok=True)
        thread.join()


def asked(place: Path, what: str, **request: Any) -> dict[str, Any]:
    """The answer to a request about the server that takes times."""
    with channel.connected(place) as connection:
        channel.send(connection, {"do": what, **TIMES, **request})
        return channel.receive(connection)


def run(place: Path, stmt: str) -> dict[str, Any]:
    """The answer of a case."""
    return asked(place, "run", task=task(stmt), **LIMITS)


def server_of(place: Path) -> int:
    """The process of the server, from a case."""
    found: int = run(place, 'answer["server"] = os.getppid()')["answer"]["server"]
    return found


@contextlib.contextmanager
def attended(place: Path) -> Iterator[dict[str, Any]]:
    """Use a holder, and what it said."""
    with channel.connected(place) as connection:
        channel.send(connection, {"do": "hello", "stay": True})
        yield channel.receive(connection)


def ends(place: Path) -> bool:
    """Whether a holder ends after a while."""
    return comes_true(lambda: str(place) not in {thread.name for thread in threading.enumerate()})


def test_commands_that_follow_each_other_use_one_server(hold: HOLD) -> None:
    """It is started by the first."""
    place = hold()

    assert server_of(place) == server_of(place)


def test_what_is_ready_is_told(hold: HOLD) -> None:
    """And nothing that is not."""
    place = hold()
    assert {} == told(place, "hello")["ready"]

    asked(place, "warm_up")

    assert {"times": {"type": "ready", "status": "ok", "role": "times"}} == told(place, "hello")[
        "ready"
    ]


def test_what_is_good_for_every_command_is_counted_once(hold: HOLD, tmp_path: Path) -> None:
    """As long as what it dumped is there; what cases dump is removed behind them."""
    place, folder = hold(), tmp_path / "work" / "times" / "dumps"
    code = (
        f'os.makedirs({str(folder)!r}, exist_ok=True); answer["pid"] = os.getpid(); '
        f'open({str(folder / "cg.")!r} + str(os.getpid()) + ".1-01", "w").close()'
    )
    kept = {"task": {**task(code), KEPT: True}, **LIMITS}

    def counted() -> int:
        found: int = asked(place, "run", **kept)["answer"]["pid"]
        return found

    first = counted()
    of_case = run(place, code)["answer"]["pid"]
    assert comes_true(lambda: not list(folder.glob(f"cg.{of_case}.*")))
    assert first == counted()

    for dump in folder.glob(f"cg.{first}.*"):
        dump.unlink()
    assert first != counted()


def test_a_case_that_fails_is_described_and_costs_itself(hold: HOLD) -> None:
    """The server goes on."""
    place = hold()

    answer = run(place, "os._exit(3)")

    assert ("failed", "exit") == (answer["status"], answer["failure"]["kind"])
    assert "ok" == run(place, "pass")["status"]


def test_a_case_ends_when_nobody_waits_for_it(hold: HOLD, tmp_path: Path) -> None:
    """However the command went."""
    place, said = hold(), tmp_path / "pid"
    stmt = f"open({str(said)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    with channel.connected(place) as connection:
        request = {"do": "run", **TIMES, "task": task(stmt), **LIMITS, "timeout_s": 1000}
        channel.send(connection, request)
        assert comes_true(lambda: said.exists() and said.read_text())

    assert ends_soon(int(said.read_text()))


def test_who_asks_what_there_is_keeps_nothing(hold: HOLD) -> None:
    """A list of servers is no use of one."""
    place = hold(keep_s=3)
    run(place, "pass")

    assert comes_true(lambda: told(place, "status")["idle_s"] > 0.5)
    assert ends(place)


def test_what_nobody_uses_ends(hold: HOLD) -> None:
    """Its servers, too; what is no request keeps nothing, since its connection has ended."""
    place = hold(keep_s=1)
    with channel.connected(place) as connection:
        connection.sendall(b"what?\n")
        assert b"" == connection.recv(1)
    server = server_of(place)

    assert ends(place)
    assert ends_soon(server)


def test_what_is_used_stays(hold: HOLD) -> None:
    """Also where its command does something else for longer than it is kept."""
    place = hold(keep_s=0.1)

    with attended(place):
        assert not comes_true(lambda: not place.exists(), within_s=2)
        assert "ok" == run(place, "pass")["status"]


def test_a_holder_that_retires_serves_who_is_there(hold: HOLD) -> None:
    """Nobody new finds it."""
    place = hold()

    with channel.connected(place) as waiting:
        channel.send(waiting, {"do": "run", **TIMES, "task": task("time.sleep(1)"), **LIMITS})
        told(place, "retire")
        assert not place.exists()
        assert "ok" == channel.receive(waiting)["status"]


def test_a_module_that_changed_makes_it_retire(hold: HOLD, tmp_path: Path) -> None:
    """What it has imported is not what a new server would."""
    place = hold()
    asked(place, "warm_up")
    (tmp_path / "work" / "watched.py").write_text("x = 12")

    assert "retired" == told(place, "hello")["status"]
    assert ends(place)


def test_a_holder_whose_folder_is_gone_ends(hold: HOLD) -> None:
    """As when the session of a user ends."""
    place = hold()

    place.unlink()

    assert ends(place)


def test_why_a_server_is_started_again_is_told(hold: HOLD) -> None:
    """To whoever asks next."""
    place = hold()
    run(place, "os.kill(os.getppid(), signal.SIGKILL); time.sleep(1000)")

    first, *_ = asked(place, "warm_up")["notices"]

    assert "killed by SIGKILL" in first


def test_what_nobody_uses_ends_when_memory_gets_short(hold: HOLD) -> None:
    """Long before it would for being idle; what is used stays."""
    is_short = threading.Event()
    place = hold(keep_s=600, memory_is_short=is_short.is_set)

    with attended(place):
        is_short.set()
        assert not comes_true(lambda: not place.exists(), within_s=2)

    assert ends(place)


def test_a_full_disk_costs_what_was_asked_for_meanwhile(hold: HOLD, tmp_path: Path) -> None:
    """The reason is told, and the same server goes on when there is room."""
    with small_disk(tmp_path / "work" / "times", "1m") as disk:
        place = hold()
        before = server_of(place)
        filler = fill(disk)
        failed = run(place, "pass")
        filler.unlink()
        after = server_of(place)

    assert "failed" == failed["status"]
    assert "No space left on device" in failed["failure"]["message"]
    assert before == after


def test_a_case_goes_on_when_everything_stood_still(hold: HOLD, tmp_path: Path) -> None:
    """As when the machine is suspended: its server stops, too."""
    place = hold()
    stop = """\
open("stopped.new", "w").write(f"{os.getppid()} {os.getpid()}")
os.rename("stopped.new", "stopped")
os.kill(os.getppid(), signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
answer["goes on"] = True
"""
    note = tmp_path / "work" / "times" / "stopped"
    with ThreadPoolExecutor() as pool:
        answered = pool.submit(run, place, stop)
        assert comes_true(note.exists)
        pids = [int(pid) for pid in note.read_text().split()]
        assert comes_true(lambda: all(map(is_stopped, pids)))
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    assert answered.result()["answer"]["goes on"]


def test_another_user_who_reaches_the_socket_gets_no_answer(
    hold: HOLD, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is one asked. Its own user gets one, before and after."""
    place = hold()
    assert "ok" == told(place, "hello")["status"]
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 4711)
        with pytest.raises(PermissionError, match="belongs to user"):
            channel.connected(place)
        with channel.named(place) as name, socket.socket(socket.AF_UNIX) as connection:
            connection.connect(name)
            with contextlib.suppress(ConnectionError):  # it is closed at once
                connection.sendall(b'{"do": "hello"}\n')
                assert b"" == connection.recv(100)

    assert "ok" == told(place, "hello")["status"]
