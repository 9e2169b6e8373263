"""Fork servers: a small script in place of the worker, and the worker with a real torch."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import pytest

from instruction_counts.builds.hermetic import environment, without_aslr
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.build import default_build
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.fork_server import ForkServer, ServerStartError
from instruction_counts.engines.server_folder import ServerFolder
from instruction_counts.system.cache import Cache
from instruction_counts.system.worker_process import (
    PROTOCOL_VERSION,
    WORKER,
    WorkerError,
    WorkerProcess,
)
from instruction_counts.system.worker_tasks import task_named
from tests.fakes import FACTS
from tests.waiting import comes_true, ends_soon

BUILD = default_build()
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
KILL = "os.kill(os.getppid(), signal.SIGKILL)"
"""What a case does to end its server."""


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MAKE]:
    """Make servers from a script, in one folder; they are closed afterwards."""
    made: list[ForkServer] = []

    def make_server(
        code: str = READY + LOOP, fill: Callable[[Path], None] = lambda _: None, **options: Any
    ) -> ForkServer:
        script = tmp_path / "script.py"
        script.write_text(HELLO + textwrap.dedent(code))

        def start(folder: Path) -> WorkerProcess:
            variables = {"PATH": os.defpath}
            return WorkerProcess(sys.executable, variables, folder, script=[str(script)])

        folder = tmp_path / "work" / "server"
        folder.mkdir(parents=True, exist_ok=True)
        place = ServerFolder(folder, fill, lambda: folder.parent.mkdir(exist_ok=True))
        made.append(ForkServer(place, start, {"task": "serve", "role": "any"}, **options))
        return made[-1]

    yield make_server
    for server in made:
        server.close()


def task(stmt: str, **case: Any) -> dict[str, Any]:
    """What a lane asks for: here, to execute ``stmt``."""
    return {"task": "any", "case": {"stmt": textwrap.dedent(stmt), **case}}


def failure_in(server: ForkServer, request: dict[str, Any], timeout_s: float = 60) -> Failure:
    """Why a task has no answer."""
    with pytest.raises(WorkerError) as caught:
        server.run(request, timeout_s)
    return caught.value.failure


def refusal_of(server: ForkServer) -> str:
    """Why a server does not start."""
    with pytest.raises(ServerStartError) as caught:
        server.warm_up()
    return str(caught.value)


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


def test_a_task_is_answered(make: MAKE) -> None:
    """By a child of the server."""
    answer = make().run(task("answer['value'] = 6 * 7"), 60)

    assert {"status": "ok", "value": 42} == answer


def test_one_process_serves_many_tasks(make: MAKE) -> None:
    """It is started with the first, since not every run needs every server, or before it."""
    server = make()
    assert 0 == starts_of(server)
    server.warm_up()
    assert {"type": "ready", "status": "ok", "role": "any"} == server.ready
    parents = {server.run(task("answer['parent'] = os.getppid()"), 60)["parent"] for _ in range(5)}

    assert {pid_of(server)} == parents
    assert 1 == starts_of(server)


def test_a_server_is_ready_when_it_can_fork(make: MAKE) -> None:
    """Not while it starts, nor when it is gone."""
    server = make("time.sleep(0.2)\n" + READY + LOOP)
    seen = [server.is_ready]
    starting = threading.Thread(target=server.warm_up)
    starting.start()
    comes_true(lambda: starts_of(server) == 1)
    seen.append(server.is_ready)
    starting.join()
    seen.append(server.is_ready)
    failure_in(server, task(f"{KILL}; time.sleep(60)"))
    seen.append(server.is_ready)

    assert [False, False, True, False] == seen


def test_lanes_get_their_own_answers(make: MAKE) -> None:
    """Four of them at once, with tasks that end out of order."""
    server = make()

    def value_of(number: int) -> int:
        stmt = f"time.sleep({(number * 7) % 5} / 100); answer['value'] = {number}"
        return int(server.run(task(stmt), 60)["value"])

    with ThreadPoolExecutor(4) as lanes:
        assert list(range(40)) == list(lanes.map(value_of, range(40)))


def test_lanes_start_one_process(make: MAKE) -> None:
    """Whichever is first; the others wait."""
    server = make("time.sleep(0.3)\n" + READY + LOOP)
    with ThreadPoolExecutor(4) as lanes:
        list(lanes.map(lambda _: server.run(task("pass"), 60), range(4)))

    assert 1 == starts_of(server)


def test_a_file_for_the_case_is_found_under_its_name(make: MAKE, tmp_path: Path) -> None:
    """Wherever it really lies."""
    (tmp_path / "a file").write_text("content")
    stmt = "answer['read'] = open(case['library']).read()"
    answer = make().run(task(stmt), 60, {"library": tmp_path / "a file"})

    assert "content" == answer["read"]


def test_a_file_that_the_case_makes_is_moved(make: MAKE, tmp_path: Path) -> None:
    """To where it is wanted."""
    stmt = "open(case['model'], 'w').write('made')"
    make().run(task(stmt), 60, made={"model": tmp_path / "kept"})

    assert "made" == (tmp_path / "kept").read_text()


def test_names_are_of_the_same_length_for_every_case(make: MAKE, tmp_path: Path) -> None:
    """A longer one would move what is allocated after it."""
    server = make()
    stmt = "answer['length'] = len(case['library'])"
    lengths = {
        server.run(task(stmt), 60, {"library": tmp_path / ("x" * number)})["length"]
        for number in range(1, 13)
    }

    assert 1 == len(lengths)


@pytest.mark.parametrize("stmt", ["pass", "print('x' * 1000)", "os._exit(1)", "1 / 0"])
def test_a_task_leaves_no_file(make: MAKE, tmp_path: Path, stmt: str) -> None:
    """However it ends."""
    server = make()
    server.warm_up()
    before = sorted(server.folder.iterdir())
    for _ in range(3):
        try:
            server.run(task(stmt), 60, {"library": tmp_path})
        except WorkerError:
            continue

    assert before == sorted(server.folder.iterdir())


@pytest.mark.parametrize("timeout_s", [1e9, float("inf")])
def test_a_timeout_may_be_longer_than_any_run(make: MAKE, timeout_s: float) -> None:
    """There is no limit that a clock cannot hold."""
    assert {"status": "ok"} == make().run(task("pass"), timeout_s)


# Children that fail


def test_a_child_without_a_result_tells_how_it_ended(make: MAKE) -> None:
    """With what it printed."""
    failure = failure_in(make(), task("print('last words', flush=True); os._exit(0)"))

    assert Failure(FailureKind.EXIT, "the process ended with exit code 0", output="last words") == (
        failure
    )


def test_a_described_failure_is_taken_over(make: MAKE) -> None:
    """As the child tells it."""
    stmt = "answer.update(status='failed', failure={'kind': 'exception', 'message': 'E: bad'})"

    assert Failure(FailureKind.EXCEPTION, "E: bad") == failure_in(make(), task(stmt))


def test_a_child_that_takes_too_long_is_killed(make: MAKE) -> None:
    """The message says how long was waited."""
    failure = failure_in(make(), task("time.sleep(60)"), timeout_s=0.3)

    assert Failure(FailureKind.TIMEOUT, "no result within 0.3 s") == failure


DAEMONS = """
for _ in range({number}):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        open({folder!r} + "/" + str(os.getpid()), "w")
        time.sleep({parent_s})
        os._exit(0)
while len(os.listdir({folder!r})) < {number}:
    time.sleep(0.01)
if not {parent_s}:
    os.wait(), os.wait()
"""


@pytest.mark.parametrize(("parent_s", "number"), [(0, 2), (1000, 4)], ids=["daemons", "families"])
@pytest.mark.parametrize("end", ["pass", "os.abort()", "1 / 0"])
@pytest.mark.faults
def test_what_a_task_leaves_running_ends_with_it(
    make: MAKE, tmp_path: Path, parent_s: int, number: int, end: str
) -> None:
    """In whatever session, and however the task ends; other tasks go on."""
    (tmp_path / "daemons").mkdir()
    left: list[int] = []
    server = make()
    stmt = DAEMONS.format(number=2, folder=str(tmp_path / "daemons"), parent_s=parent_s)
    with ThreadPoolExecutor(1) as lane:
        other = lane.submit(server.run, task(DAEMON_THAT_IS_AWAITED), 60)
        with contextlib.suppress(WorkerError):
            server.run(task(stmt + end), 60, left_running=left.append)

        assert [number] == left
        assert {"status": "ok", "code": 3} == other.result()
    assert server._process is not None
    assert 0 == server._process.left_running()


DAEMON_THAT_IS_AWAITED = """
pid = os.fork()
if pid == 0:
    os.setsid()
    time.sleep(1)
    os._exit(3)
answer["code"] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


@pytest.mark.parametrize("stmt", ["os.abort()", "time.sleep(60)"])
def test_what_a_failed_child_left_behind_is_swept(make: MAKE, stmt: str, tmp_path: Path) -> None:
    """By its number, under which Callgrind wrote its files; what a good one left is its result."""
    swept: list[int] = []
    server = make(sweep=swept.append)
    path = tmp_path / "pid"
    failure_in(server, task(f"open({str(path)!r}, 'w').write(str(os.getpid()))\n{stmt}"), 1)
    server.run(task("pass"), 60)

    assert [int(path.read_text())] == swept
    assert 1 == starts_of(server)


# Servers that die


@pytest.mark.faults
def test_a_server_that_died_between_tasks_is_started_again(make: MAKE) -> None:
    """The task does not notice; that it is started again is said, unlike the first start."""
    notices: list[str] = []
    server = make(notice=notices.append)
    server.run(task("pass"), 60)
    assert [] == notices
    os.kill(pid_of(server), signal.SIGKILL)
    answers = [server.run(task("pass"), 60) for _ in range(2)]

    assert [{"status": "ok"}] * 2 == answers
    assert 2 == starts_of(server)
    assert ["the process was killed by SIGKILL"] == notices


DELETIONS = {
    "the folder": "shutil.rmtree(os.getcwd())",
    "what is in it": "os.system('rm -rf *')",
    "it is moved": "os.rename(os.getcwd(), os.getcwd() + ' elsewhere')",
    "all above it": "shutil.rmtree(os.path.dirname(os.getcwd()))",
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
    assert [{"status": "ok", "found": []}] * 2 == answers
    assert [failure.message] == notices


@pytest.mark.faults
def test_a_folder_that_somebody_else_deleted_costs_no_task(make: MAKE) -> None:
    """Such as a program that tidies up."""
    server = make(fill=fill)
    server.run(task("pass"), 60)
    shutil.rmtree(server.folder)

    assert {"status": "ok"} == server.run(task("pass"), 60)


@pytest.mark.parametrize("answers", [["changed"], ["", "changed"]], ids=["before", "meanwhile"])
def test_a_server_does_not_start_while_there_is_a_reason(make: MAKE, answers: list[str]) -> None:
    """Nor is it used, if the reason came up while it started."""
    reasons = iter(answers)
    server = make(refusal=lambda: next(reasons))

    assert "changed" == refusal_of(server)
    assert len(answers) - 1 == starts_of(server)
    assert not server.is_ready


@pytest.mark.faults
def test_a_server_does_not_start_again_while_there_is_a_reason(make: MAKE) -> None:
    """The task that the old one was to carry out fails with it."""
    reason = ""
    server = make(refusal=lambda: reason)
    server.run(task("pass"), 60)
    os.kill(pid_of(server), signal.SIGKILL)
    reason = "changed"
    with pytest.raises(ServerStartError, match="changed"):
        server.run(task("pass"), 60)


@pytest.mark.faults
def test_a_server_that_dies_during_a_task_is_started_again(make: MAKE) -> None:
    """The task is tried once more."""
    server = make()
    answer = server.run(
        task(f"""
            if not os.path.exists("tried"):
                open("tried", "w").close()
                {KILL}
                time.sleep(60)
        """),
        60,
    )

    assert {"status": "ok"} == answer
    assert 2 == starts_of(server)


@pytest.mark.faults
def test_a_task_that_kills_its_server_each_time_fails(make: MAKE) -> None:
    """After the second try, with the reason; the next one gets a new server."""
    server = make()
    failure = failure_in(server, task(f"{KILL}; time.sleep(60)"))

    assert Failure(FailureKind.SIGNAL, "the process was killed by SIGKILL") == failure
    assert 2 == starts_of(server)
    assert {"status": "ok"} == server.run(task("pass"), 60)


def test_a_result_that_was_written_counts_although_the_server_died(make: MAKE) -> None:
    """Nothing has to be measured again."""
    server = make(READY + LOOP.replace('send({"wait_status"', 'os._exit(1); send({"wait_status"'))

    assert {"status": "ok"} == server.run(task("pass"), 60)
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

    assert [{"status": "ok"}] * 2 == answers
    assert 2 == starts_of(server)


# Servers that do not start


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("sys.exit('no such tool')", "the process ended with exit code 1\nno such tool"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the process was killed by SIGKILL"),
        (
            """
            print("last words", flush=True)
            failure = {"kind": "refused", "message": "client requests have no effect"}
            send({"type": "ready", "status": "failed", "failure": failure})
            time.sleep(60)
            """,
            "client requests have no effect",
        ),
    ],
)
def test_a_server_that_does_not_start_says_why(make: MAKE, code: str, reason: str) -> None:
    """Whatever it managed to say."""
    assert reason == refusal_of(make(code)).removesuffix("\nlast words")


def test_a_server_that_did_not_start_is_tried_again(make: MAKE) -> None:
    """With the next task: what was missing may be there now."""
    fails_once = "if not os.path.exists('tried'): open('tried', 'w').close(); sys.exit(1)\n"
    server = make(fails_once + READY + LOOP)
    with pytest.raises(ServerStartError, match="exit code 1"):
        server.run(task("pass"), 60)

    assert {"status": "ok"} == server.run(task("pass"), 60)


@pytest.mark.parametrize(
    ("interpreter", "launcher", "reason"),
    [
        ("/no/python", None, "/no/python does not start: No such file or directory"),
        (
            sys.executable,
            "#!/bin/sh\necho 'valgrind: Fatal error at startup' >&2\nexit 1\n",
            "the process ended with exit code 1\nvalgrind: Fatal error at startup",
        ),
    ],
    ids=["interpreter", "launcher"],
)
def test_a_program_that_does_not_start_is_quoted(
    tmp_path: Path, interpreter: str, launcher: str | None, reason: str
) -> None:
    """As Valgrind is where it lacks what it needs."""
    path = tmp_path / "valgrind"
    path.write_text(launcher or "")
    path.chmod(0o755)
    prefix = [str(path)] if launcher else []
    server = ForkServer(
        ServerFolder(tmp_path), lambda folder: WorkerProcess(interpreter, {}, folder, prefix), {}
    )

    assert reason == refusal_of(server)


def test_a_reason_is_no_longer_than_people_read(make: MAKE) -> None:
    """The last of what was printed says most."""
    reason = refusal_of(make("print('\\n'.join(map(str, range(1000)))); sys.exit(1)"))

    assert ["995", "996", "997", "998", "999"] == reason.splitlines()[1:]


# Closing


def close_soon(server: ForkServer, condition: Callable[[], bool]) -> None:
    """Close a server from another thread as soon as something is so."""

    def close() -> None:
        comes_true(condition)
        server.close()

    threading.Thread(target=close).start()


def test_closing_ends_what_lanes_wait_for(make: MAKE) -> None:
    """An interrupt does not wait for cases, and tries nothing again."""
    server = make()
    close_soon(server, (server.folder / "running").exists)
    begin = time.monotonic()
    failure_in(server, task("open('running', 'w').close(); time.sleep(1000)"), timeout_s=900)

    assert time.monotonic() - begin < 500
    assert 1 == starts_of(server)


def test_closing_leaves_no_process(make: MAKE, tmp_path: Path) -> None:
    """Neither the server nor its children."""
    server = make()
    path = tmp_path / "pids"
    close_soon(server, path.exists)
    stmt = f"open({str(path)!r}, 'w').write(f'{{os.getppid()}} {{os.getpid()}}'); time.sleep(60)"
    failure_in(server, task(stmt))
    pids = [int(number) for number in path.read_text().split()]

    assert [True, True] == [ends_soon(pid) for pid in pids]


def channels() -> set[str]:
    """The pipes that this process holds open; each has a number that no other one ever has."""
    links = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # another thread closed it just now
            links.add(str(descriptor.readlink()))
    return {link for link in links if link.startswith("pipe:")}


def test_a_closed_server_leaves_neither_zombie_nor_channel(make: MAKE) -> None:
    """A program may open one after the other."""
    server = make()
    before = channels()
    server.warm_up()
    pid, opened = pid_of(server), channels() - before
    server.close()
    server.close()  # the second time there is nothing to do

    assert len(opened) > 0
    assert set() == opened & channels()
    assert not Path(f"/proc/{pid}").exists()


def test_closing_ends_a_server_that_is_starting(make: MAKE) -> None:
    """Under Valgrind that takes a quarter of a minute."""
    server = make("time.sleep(1000)")
    close_soon(server, lambda: starts_of(server) == 1)
    begin = time.monotonic()
    with pytest.raises(WorkerError):
        server.warm_up()

    assert time.monotonic() - begin < 500


def test_a_closed_server_starts_nothing(make: MAKE) -> None:
    """A lane may come late."""
    server = make()
    server.close()
    failure = failure_in(server, task("pass"))

    assert "the server was closed" == failure.message
    assert 0 == starts_of(server)


# The worker as a server, with a real torch


def with_torch(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that drives the worker."""
    no_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
    return pytest.mark.slow(no_compiler(test))


def facts() -> BuildFacts:
    """The current interpreter, as far as the shim needs to know it."""
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    headers = Path(spec.origin).parent / "utils" / "benchmark" / "utils" / "valgrind_wrapper"
    return attrs.evolve(FACTS, build=BUILD, valgrind_headers=str(headers))


def native(folder: Path, shim: str, script: Sequence[str] = (str(WORKER),)) -> ForkServer:
    """A server that takes wall times."""

    def start(folder: Path) -> WorkerProcess:
        shutil.copy(WORKER.with_name("times.py"), folder)
        variables = environment(BUILD)
        return WorkerProcess(sys.executable, variables, folder, without_aslr(), script)

    serve = {"task": "serve", "role": "times", "modules": ["times"]}
    serve |= {"shim": shim, "search_path": {}, "scattered": 0, "prepares": ""}
    return ForkServer(ServerFolder(folder), start, serve)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """A server with torch, for all tests below."""
    compiler = Compiler(facts(), Cache(tmp_path_factory.mktemp("cache")), environment(BUILD))
    folder = tmp_path_factory.mktemp("server")
    shutil.copy(compiler.shim(), folder / "steady.so")
    made = native(folder, "./steady.so")
    yield made
    made.close()


def case(stmt: str, setup: str = "") -> dict[str, Any]:
    """A task: the wall time of a Python statement."""
    parts = {"stmt": stmt, "setup": setup, "global_setup": ""}
    about = {"num_threads": 1, "language": "Python", "artefact_source": None}
    task = {**task_named("times").request, "cores": [], "min_run_time_s": 0.001}
    return {**task, "case": {**parts, **about}}


def succeeds(server: ForkServer) -> bool:
    """Whether the server measures an ordinary case."""
    answer = server.run(case("y = x + 1", "x = torch.ones(4)"), 60)
    return bool(0 < min(answer["times"]["values_s"]) < 1e-2)


CRASHES = {
    "abort": ("import os; os.abort()", "the process was killed by SIGABRT"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "the process was killed by SIGSEGV"),
    "killed": (
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "the process was killed by SIGKILL",
    ),
    "exit 0": ("import os; os._exit(0)", "the process ended with exit code 0"),
    "sys.exit": ("import sys; sys.exit(3)", "SystemExit: the code called sys.exit(3)"),
    "raises": ("1 / 0", "ZeroDivisionError: division by zero"),
    "endless": ("while True: pass", "no result within 3 s"),
    "no memory": (
        """
import resource
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
bytearray(10 << 30)
""",
        "MemoryError",
    ),
    "descriptors": ("import os; os.closerange(3, 256)", "the process ended with exit code 1"),
    "chatty": (
        "import os\nfor _ in range(1000): os.write(1, b'x' * 100_000)\nraise ValueError('ok')",
        "ValueError: ok",
    ),
}


def time_for(name: str) -> float:
    """Little for what never ends; on a busy machine anything else may take long."""
    return 3 if name == "endless" else 300


@with_torch
@pytest.mark.parametrize("name", CRASHES)
@pytest.mark.faults
def test_a_bad_case_costs_itself_alone(server: ForkServer, name: str) -> None:
    """It says what happened in one line, and the server goes on, the same as before."""
    stmt, message = CRASHES[name]
    server.warm_up()
    before = pid_of(server)
    failure = failure_in(server, case(stmt), timeout_s=time_for(name))

    assert message == failure.message
    assert succeeds(server) is True
    assert before == pid_of(server)


@with_torch
@pytest.mark.faults
def test_the_last_of_what_a_case_printed_is_kept(server: ForkServer) -> None:
    """A tail of 64 KiB, of a hundred megabytes."""
    failure = failure_in(server, case(CRASHES["chatty"][0]))

    assert "x" * 64 * 1024 == failure.output


@with_torch
@pytest.mark.parametrize(
    "setup",
    [
        "import os; os.chdir('/')",
        "import sys; sys.stdout.close()",
        "import sys; sys.stderr.close()",
    ],
)
@pytest.mark.faults
def test_a_case_is_measured_whatever_it_does_to_its_process(server: ForkServer, setup: str) -> None:
    """Results have a way of their own."""
    assert "ok" == server.run(case("pass", setup), 60)["status"]


@with_torch
def test_a_background_process_ends_with_its_case(server: ForkServer, tmp_path: Path) -> None:
    """It would disturb the next one."""
    path = tmp_path / "pid"
    setup = f"""\
import pathlib, subprocess
started = subprocess.Popen(["sleep", "60"])
pathlib.Path({str(path)!r}).write_text(str(started.pid))
"""
    server.run(case("pass", setup), 60)

    assert ends_soon(int(path.read_text()))


@with_torch
def test_a_background_thread_ends_with_its_case(server: ForkServer) -> None:
    """Nobody waits for it."""
    setup = "import threading, time; threading.Thread(target=time.sleep, args=(1000,)).start()"
    begin = time.monotonic()
    server.run(case("pass", setup), 900)

    assert time.monotonic() - begin < 500


@pytest.mark.thorough
@with_torch
def test_hundreds_of_cases_leave_nothing_in_the_server(server: ForkServer) -> None:
    """Neither memory nor descriptors nor files."""

    def state() -> tuple[int, int, int]:
        process = Path(f"/proc/{pid_of(server)}")
        status = (process / "status").read_text()
        resident_kib = int(status.partition("VmRSS:")[2].split()[0])
        return (
            resident_kib,
            len(list((process / "fd").iterdir())),
            len(list(server.folder.iterdir())),
        )

    for _ in range(20):
        server.run(case("pass"), 60)
    before = state()
    for _ in range(300):
        server.run(case("pass"), 60)
    after = state()

    assert after[0] - before[0] < 1024
    assert before[1:] == after[1:]


@with_torch
def test_a_missing_shim_is_named(tmp_path: Path) -> None:
    """The server cannot start without it."""
    server = native(tmp_path, "./steady.so")

    assert "OSError: ./steady.so: cannot open shared object file" in refusal_of(server)


WATCHED = """
import os, sys
LOG = open("made", "a")

def watch(event, arguments):
    if event == "tempfile.mkdtemp":
        print(os.path.abspath(arguments[0]), file=LOG, flush=True)

sys.addaudithook(watch)
exec(compile(open(WORKER).read(), WORKER, "exec"))
"""


@pytest.mark.faults
@with_torch
def test_a_server_makes_temporary_folders_only_in_its_own(
    server: ForkServer, tmp_path: Path
) -> None:
    """That one is swept where all are killed; nobody would know that others are of this program."""
    shutil.copy(server.folder / "steady.so", tmp_path)
    script = ("-c", f"WORKER = {str(WORKER)!r}\n{WATCHED}")
    with contextlib.closing(native(tmp_path, "./steady.so", script)) as watched:
        assert succeeds(watched)
    made = [Path(line) for line in (tmp_path / "made").read_text().splitlines()]

    assert made
    assert [] == [path for path in made if not path.is_relative_to(tmp_path) or path.exists()]
