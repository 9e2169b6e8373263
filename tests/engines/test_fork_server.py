"""Fork servers, with a small script in place of the worker."""

import contextlib
import os
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.fork_server import ForkServer, ServerStartError
from instruction_counts.system.worker_process import PROTOCOL_VERSION, WorkerError, WorkerProcess
from tests.waiting import comes_true, ends_soon

MAKE: TypeAlias = Callable[..., ForkServer]

HELLO = f"""\
import ctypes, json, os, resource, signal, sys, time
read_fd, write_fd = int(sys.argv[2]), int(sys.argv[4])
requests = os.fdopen(read_fd)
def send(message):
    os.write(write_fd, json.dumps(message).encode() + b"\\n")
with open("starts", "a") as stream:
    stream.write("x")
send({{"type": "hello", "protocol": {PROTOCOL_VERSION}, "pid": os.getpid()}})
serve = json.loads(requests.readline())
"""
READY = 'send({"type": "ready", "status": "ok", "role": serve["role"]})\n'
LOOP = """
def child(path):
    os.setsid()
    ctypes.CDLL(None).prctl(1, 9)
    request = json.load(open(path))
    limit = request["max_file_bytes"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    os.dup2(os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
    case, answer = request["case"], {"status": "ok"}
    exec(case["stmt"])
    with open(request["result"] + ".new", "w") as stream:
        json.dump(answer, stream)
    os.rename(request["result"] + ".new", request["result"])

for line in requests:
    message = json.loads(line)
    if message["task"] == "fork":
        pid = os.fork()
        if pid == 0:
            try:
                child(message["request"])
            finally:
                os._exit(7)
        send({"pid": pid})
    else:
        send({"wait_status": os.waitpid(int(message["pid"]), 0)[1]})
"""
OK = {"status": "ok", "left_running": 0}
KILL = "os.kill(os.getppid(), signal.SIGKILL)"
"""What a case does to end its server."""


def scripted_server(script: Path, folder: Path, role: str = "any", **options: Any) -> ForkServer:
    """A server in ``folder`` that executes a script."""

    def start(folder: Path) -> WorkerProcess:
        return WorkerProcess(sys.executable, {"PATH": os.defpath}, folder, script=[str(script)])

    return ForkServer(folder, start, {"task": "serve", "role": role}, **options)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MAKE]:
    """Make servers from a script, in one folder; they are closed afterwards."""
    script = tmp_path / "script.py"
    with contextlib.ExitStack() as made:

        def make_server(code: str = READY + LOOP, **options: Any) -> ForkServer:
            script.write_text(HELLO + textwrap.dedent(code))
            server = scripted_server(script, tmp_path / "server", **options)
            return made.enter_context(contextlib.closing(server))

        yield make_server


def task(stmt: str, **case: Any) -> dict[str, Any]:
    """What a lane asks for: here, to execute ``stmt``."""
    return {"task": "any", "case": {"stmt": textwrap.dedent(stmt), **case}}


def failure_in(server: ForkServer, request: dict[str, Any], timeout_s: float = 60) -> Failure:
    """Why a task has no answer."""
    with pytest.raises(WorkerError) as caught:
        server.run(request, timeout_s)
    return caught.value.failure


def pid_of(server: ForkServer) -> int:
    """The process of a server that runs."""
    assert server._process is not None
    assert server._process.pid is not None
    return server._process.pid


def starts_of(server: ForkServer) -> int:
    """How often the process of a server was started."""
    path = server.folder / "starts"
    return len(path.read_text()) if path.exists() else 0


# Tasks


def test_one_process_serves_many_tasks(make: MAKE) -> None:
    """It is started with the first, since not every run needs every server, or before it."""
    server = make()
    assert (0, False) == (starts_of(server), server.is_ready)
    server.warm_up()
    assert {"type": "ready", "status": "ok", "role": "any"} == server.ready
    # There is no limit that a clock cannot hold.
    stmt, timeouts_s = "answer['parent'] = os.getppid()", (60, 60, float("inf"))
    answers = [server.run(task(stmt), timeout_s) for timeout_s in timeouts_s]

    assert [{**OK, "parent": pid_of(server)}] * 3 == answers
    assert 1 == starts_of(server)
    assert server.is_ready


def test_lanes_get_their_own_answers(make: MAKE) -> None:
    """Four of them at once, with tasks that end out of order; whichever is first starts it."""
    server = make("time.sleep(0.3)\n" + READY + LOOP)

    def value_of(number: int) -> int:
        stmt = f"time.sleep({(number * 7) % 5} / 100); answer['value'] = {number}"
        return int(server.run(task(stmt), 60)["value"])

    with ThreadPoolExecutor(4) as lanes:
        assert list(range(40)) == list(lanes.map(value_of, range(40)))
    assert 1 == starts_of(server)


def test_a_case_finds_its_files_and_makes_others(make: MAKE, tmp_path: Path) -> None:
    """Wherever they lie, by names of one length: a longer one would move what comes after it."""
    server, lengths = make(), set()
    stmt = """
        open(case['model'], 'w').write(open(case['library']).read())
        answer['length'] = len(case['library'])
    """
    for number in range(1, 13):
        file, kept = tmp_path / ("x" * number), tmp_path / f"kept {number}"
        file.write_text(f"content {number}")
        answer = server.run(task(stmt), 60, {"library": file}, {"model": kept})
        lengths.add(answer["length"])
        assert f"content {number}" == kept.read_text()

    assert 1 == len(lengths)


# Children that fail


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        (
            "print('last words', flush=True); os._exit(0)",
            Failure(FailureKind.EXIT, "the process ended with exit code 0", output="last words"),
        ),
        ("time.sleep(60)", Failure(FailureKind.TIMEOUT, "no result within 0.3 s")),
    ],
    ids=["no result", "too long"],
)
def test_a_child_that_fails_says_why(make: MAKE, stmt: str, expected: Failure) -> None:
    """How it ended, with what it printed."""
    timeout_s = 0.3 if expected.kind is FailureKind.TIMEOUT else 60

    assert expected == failure_in(make(), task(stmt), timeout_s)


DAEMONS = """
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        open({folder!r} + "/" + str(os.getpid()), "w")
        time.sleep({parent_s})
        os._exit(0)
while len(os.listdir({folder!r})) < 2:
    time.sleep(0.01)
if not {parent_s}:
    os.wait(), os.wait()
"""


@pytest.mark.parametrize(
    ("parent_s", "end"),
    [(0, "pass"), (0, "1 / 0"), (1000, "os.abort()")],
    ids=["daemons", "daemons of one that failed", "families"],
)
@pytest.mark.faults
def test_what_a_task_leaves_running_ends_with_it(
    make: MAKE, tmp_path: Path, parent_s: int, end: str
) -> None:
    """In whatever session, and however the task ends; other tasks go on."""
    (tmp_path / "daemons").mkdir()
    server, left = make(), None
    stmt = DAEMONS.format(folder=str(tmp_path / "daemons"), parent_s=parent_s)
    with ThreadPoolExecutor(1) as lane:
        other = lane.submit(server.run, task(DAEMON_THAT_IS_AWAITED), 60)
        with contextlib.suppress(WorkerError):
            left = server.run(task(stmt + end), 60)["left_running"]

        assert (2 if end == "pass" else None) == left
        assert 3 == other.result()["code"]
    assert all(ends_soon(int(path.name)) for path in (tmp_path / "daemons").iterdir())


DAEMON_THAT_IS_AWAITED = """
pid = os.fork()
if pid == 0:
    os.setsid()
    time.sleep(1)
    os._exit(3)
answer["code"] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def test_what_a_failed_child_left_behind_is_swept(make: MAKE, tmp_path: Path) -> None:
    """By its number, under which Callgrind wrote its files; what a good one left is its result."""
    swept: list[int] = []
    server = make(sweep=swept.append)
    path = tmp_path / "pid"
    failure_in(server, task(f"open({str(path)!r}, 'w').write(str(os.getpid())); os.abort()"))
    server.run(task("pass"), 60)

    assert [int(path.read_text())] == swept


# Servers that die


@pytest.mark.faults
def test_a_server_that_died_is_started_again(make: MAKE) -> None:
    """A task that did not notice succeeds; one that was carried out is tried once more.

    The second time it fails with the reason. That a server is started again is said.
    """
    notices: list[str] = []
    server = make(notice=notices.append)
    server.run(task("pass"), 60)
    assert [] == notices
    os.kill(pid_of(server), signal.SIGKILL)
    once = f"if not os.path.exists('tried'): open('tried', 'w').close(); {KILL}; time.sleep(60)"

    assert OK == server.run(task("pass"), 60)
    assert OK == server.run(task(once), 60)
    assert 3 == starts_of(server)
    failure = failure_in(server, task(f"{KILL}; time.sleep(60)"))
    assert (
        Failure(FailureKind.SIGNAL, "the process was killed by SIGKILL (is memory short?)")
        == failure
    )
    assert OK == server.run(task("pass"), 60)
    assert 5 == starts_of(server)
    assert [failure.message] * 4 == notices


DELETIONS = {
    "the folder": "shutil.rmtree(os.getcwd())",
    "what is in it": "os.system('rm -rf *')",
    "it is moved": "os.rename(os.getcwd(), os.getcwd() + ' elsewhere')",
    "a file in it": "os.remove('worker.py')",
}


def fill(folder: Path) -> None:
    """What a server needs."""
    (folder / "dumps").mkdir(exist_ok=True)
    (folder / "worker.py").touch()


@pytest.mark.parametrize("delete", DELETIONS.values(), ids=DELETIONS)
@pytest.mark.faults
def test_a_task_whose_folder_is_deleted_fails(make: MAKE, delete: str) -> None:
    """Whoever did it, so another try may pass; the next ones are carried out in a new folder."""
    notices: list[str] = []
    server = make(fill=fill, notice=notices.append)
    failure = failure_in(server, task(f"import shutil; {delete}"))
    answers = [server.run(task("answer['found'] = sorted(os.listdir('dumps'))"), 60)] * 2

    assert "the folder that it was measured in was deleted" == failure.message
    assert failure.kind.may_pass_on_retry
    assert [{**OK, "found": []}] * 2 == answers
    assert [failure.message] == notices
    # Where somebody else does, such as a program that tidies up, it costs no task.
    shutil.rmtree(server.folder)
    assert OK == server.run(task("pass"), 60)


@pytest.mark.parametrize("starts", range(3))
def test_a_server_does_not_start_while_there_is_a_reason(make: MAKE, starts: int) -> None:
    """Nor is it used, if the reason came up while it started; one that runs goes on."""
    reasons = iter([*[""] * starts, "changed"])
    server = make(refusal=lambda: next(reasons))
    if starts == 2:
        assert [OK] * 2 == [server.run(task("pass"), 60) for _ in range(2)]
        os.kill(pid_of(server), signal.SIGKILL)
    with pytest.raises(ServerStartError, match="changed"):
        server.run(task("pass"), 60)

    assert min(starts, 1) == starts_of(server)
    assert not server.is_ready


def test_a_result_that_was_written_counts_although_the_server_died(make: MAKE) -> None:
    """Nothing has to be measured again."""
    server = make(READY + LOOP.replace('send({"wait_status"', 'os._exit(1); send({"wait_status"'))

    assert OK == server.run(task("pass"), 60)
    assert 1 == starts_of(server)


def test_lanes_whose_server_dies_share_the_new_one(make: MAKE) -> None:
    """One starts it; the other does not take it for the dead one."""
    server = make()
    stmt = f"""
        first = not os.path.exists("killed")
        open(case["name"], "w").close()
        while not (os.path.exists("a") and os.path.exists("b")):
            time.sleep(0.01)
        if first:
            if case["name"] == "a":
                time.sleep(0.1)
                open("killed", "w").close()
                {KILL}
            time.sleep(60)
    """
    with ThreadPoolExecutor(2) as lanes:
        answers = list(lanes.map(lambda name: server.run(task(stmt, name=name), 60), "ab"))

    assert [OK] * 2 == answers
    assert 2 == starts_of(server)


# Servers that do not start


TALK = "print('\\n'.join(map(str, range(1000))), flush=True)\n"
TAIL = "\n995\n996\n997\n998\n999"
SAYING = """
failure = {"kind": "refused", "message": "client requests have no effect"}
send({"type": "ready", "status": "failed", "failure": failure})
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (SAYING, "client requests have no effect"),
        # Tables show the first line alone, and an error ends with what it is.
        ("sys.exit(1)", f"the process ended with exit code 1: 999{TAIL}"),
    ],
    ids=["it says so", "it ends"],
)
def test_a_server_that_does_not_start_says_why(make: MAKE, end: str, reason: str) -> None:
    """With the last of what it printed, which says most, and no more than people read.

    It is tried again with the next task: what was missing may be there now.
    """
    once = f"if len(open('starts').read()) == 1:\n{textwrap.indent(TALK + end, ' ' * 4)}\n"
    server = make(once + READY + LOOP)
    with pytest.raises(ServerStartError) as caught:
        server.warm_up()

    # Of a process that goes on, it may not have been read yet.
    assert reason in {str(caught.value), str(caught.value).removesuffix(TAIL)}
    assert OK == server.run(task("pass"), 60)


# Closing


def close_soon(server: ForkServer, condition: Callable[[], bool]) -> None:
    """Close a server from another thread as soon as something is so."""
    threading.Thread(target=lambda: (comes_true(condition), server.close())).start()


def test_closing_ends_what_lanes_wait_for(make: MAKE, tmp_path: Path) -> None:
    """An interrupt does not wait for cases, tries nothing again, and leaves no process."""
    server, path = make(), tmp_path / "pids"
    close_soon(server, lambda: path.exists() and " " in path.read_text())
    stmt = f"open({str(path)!r}, 'w').write(f'{{os.getppid()}} {{os.getpid()}}'); time.sleep(1000)"
    begin = time.monotonic()
    failure_in(server, task(stmt), timeout_s=900)
    server.close()  # the second time there is nothing to do

    assert time.monotonic() - begin < 500
    assert 1 == starts_of(server)
    assert [True, True] == [ends_soon(int(number)) for number in path.read_text().split()]


def test_closing_ends_a_server_that_is_starting(make: MAKE) -> None:
    """Under Valgrind that takes a quarter of a minute; a lane that comes late starts nothing."""
    server = make("time.sleep(1000)")
    close_soon(server, lambda: starts_of(server) == 1)
    begin = time.monotonic()
    with pytest.raises(WorkerError):
        server.warm_up()

    assert time.monotonic() - begin < 500
    assert "the server was closed" == failure_in(server, task("pass")).message
    assert 1 == starts_of(server)


def test_a_folder_that_is_made_again_is_whole_when_its_server_is_closed(make: MAKE) -> None:
    """Else it would be there again after it was removed."""
    is_filling, may_fill = threading.Event(), threading.Event()
    fills: list[Path] = []

    def fill(folder: Path) -> None:
        fills.append(folder)
        if len(fills) > 1:
            is_filling.set()
            may_fill.wait(60)

    server = make(fill=fill)
    shutil.rmtree(server.folder)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(server.run, task("pass"), 60)
        assert is_filling.wait(60)
        closing = pool.submit(server.close)
        with pytest.raises(TimeoutError):
            closing.result(timeout=0.2)
        may_fill.set()
        closing.result(timeout=60)
        with contextlib.suppress(WorkerError, ServerStartError):
            running.result(timeout=60)

    assert 2 == len(fills)
