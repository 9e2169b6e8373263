"""The channel to a worker process, with small scripts in place of the worker."""

import os
import resource
import sys
import textwrap
import time
from pathlib import Path

import pytest

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.system.worker_process import (
    PROTOCOL_VERSION,
    WorkerError,
    WorkerProcess,
    failure_of,
)
from tests.waiting import comes_true

PREAMBLE = """\
import json, os, signal, subprocess, sys, time
read_fd, write_fd = int(sys.argv[2]), int(sys.argv[4])
requests = os.fdopen(read_fd)
def send(message):
    os.write(write_fd, json.dumps(message).encode() + b"\\n")
def receive():
    return json.loads(requests.readline())
"""
NO_THREAD = (
    "Resource temporarily unavailable. "
    "Stop other processes, or raise the limit: ulimit -u; in a container, pids.max"
)
LIBGOMP = "libgomp: Resource temporarily unavailable"
HELLO = f'send({{"type": "hello", "protocol": {PROTOCOL_VERSION}}})\n'


def started(folder: Path, code: str, hello: str = HELLO) -> WorkerProcess:
    """A worker, by way of a launcher, that runs a piece of code after its hello."""
    script = folder / "script.py"
    script.write_text(PREAMBLE + hello + textwrap.dedent(code))
    prefix, variables = ("/usr/bin/env", "ADDED=yes"), {"PATH": os.defpath}
    return WorkerProcess(sys.executable, variables, folder, prefix, script=[str(script)])


def failure_in(worker: WorkerProcess) -> Failure:
    """Why the worker does not answer a request."""
    with worker, pytest.raises(WorkerError) as caught:
        worker.ask({"type": "any"}, 300)
    return caught.value.failure


def open_descriptors() -> int:
    """How many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_large_message_goes_both_ways(tmp_path: Path) -> None:
    """A pipe holds far less than a megabyte at once, or several answers; no timeout is too long."""
    text = "x" * 3_000_000
    code = "send(receive()); send({'n': 1}); send({'n': 2}); time.sleep(60)"
    with started(tmp_path, code) as worker:
        assert {"text": text} == worker.ask({"text": text}, float("inf"))
        assert [{"n": 1}, {"n": 2}] == [worker.receive(300), worker.receive(300)]


def test_a_worker_inherits_nothing(tmp_path: Path) -> None:
    """It has the environment that was given, its folder, no input, and a session of its own."""
    code = """
        send({
            "names": sorted({*os.environ} - {"LC_CTYPE"}),  # Python sets it itself
            "folder": os.getcwd(),
            "input": sys.stdin.read(),
            "leads its session": os.getsid(0) == os.getpid(),
        })
    """
    with started(tmp_path, code) as worker:
        answer = worker.receive(300)

    assert answer == {
        "names": ["ADDED", "PATH"],
        "folder": str(tmp_path.resolve()),
        "input": "",
        "leads its session": True,
    }


@pytest.mark.parametrize(
    ("hello", "version"), [("'protocol': 99", "99 instead of 1"), ("", "None")]
)
def test_another_protocol_is_refused(tmp_path: Path, hello: str, version: str) -> None:
    """A worker of another version, or that is not ours, would misunderstand requests."""
    with pytest.raises(WorkerError, match=f"uses protocol {version}") as caught:
        started(tmp_path, "time.sleep(60)", hello=f"send({{{hello}}})\n")

    assert FailureKind.REFUSED is caught.value.failure.kind


@pytest.mark.parametrize(
    ("interpreter", "reason"),
    [("/nowhere/python", "No such file"), ("/etc/passwd", "Permission denied")],
)
def test_what_is_no_interpreter_is_named(tmp_path: Path, interpreter: str, reason: str) -> None:
    """With the reason of the system; neither failures nor closed workers leave descriptors open."""
    before = open_descriptors()
    worker = started(tmp_path, "time.sleep(60)")
    worker.close()
    worker.close()
    for _ in range(5):
        with pytest.raises(WorkerError, match=f"^{interpreter} does not start: {reason}"):
            WorkerProcess(interpreter, {}, tmp_path)

    assert before == open_descriptors()


@pytest.mark.parametrize(
    "line", ["hello world", "[1, 2]", "", '{"half": ', "\\x00\\xff", "x" * 5000]
)
def test_garbage_on_the_channel_is_shown(tmp_path: Path, line: str) -> None:
    """What is no object in JSON is no answer; a failure stays readable."""
    code = f"os.write(write_fd, b'{line}' + b'\\n'); time.sleep(60)"
    failure = failure_in(started(tmp_path, code))

    assert FailureKind.EXIT == failure.kind
    assert failure.message.startswith("the worker answered ")
    assert len(failure.message) < 120


ENDED = "the process ended with exit code"


@pytest.mark.parametrize(
    ("code", "kind", "message", "output"),
    [
        ("os._exit(0)", FailureKind.EXIT, f"{ENDED} 0", ""),
        # Standard output and standard error alike; bytes that are no text as far as they are.
        (
            "os.write(1, b'\\xff out\\n'); os.write(2, b'err'); os._exit(42)",
            *(FailureKind.EXIT, f"{ENDED} 42", "\ufffd out\nerr"),
        ),
        *(
            (f"os.kill(os.getpid(), {number})", FailureKind.SIGNAL, said, "")
            for number, said in (
                (9, "the process was killed by SIGKILL (is memory short?)"),
                (60, "the process was killed by signal 60"),
            )
        ),
        # What it was short of is the cause, as where no thread can be started.
        (
            f"print({LIBGOMP!r}, flush=True); os._exit(1)",
            *(FailureKind.EXIT, f"{ENDED} 1: {NO_THREAD}", LIBGOMP),
        ),
        # Nothing more can be heard from a process that closed its channel.
        (
            "requests.close(); os.close(write_fd); time.sleep(0.2); os._exit(9)",
            *(FailureKind.EXIT, f"{ENDED} 9", ""),
        ),
    ],
)
def test_an_end_without_an_answer_is_reported(
    tmp_path: Path, code: str, kind: FailureKind, message: str, output: str
) -> None:
    """Also a successful one, with what was printed last; signals have names, where there are."""
    worker = started(tmp_path, f"receive(); {code}")

    assert Failure(kind, message, output=output) == failure_in(worker)


@pytest.mark.parametrize(
    ("code", "size", "timeout_s", "message"),
    [
        ("time.sleep(60)", 1, 0.2, "no answer within 0.2 s"),
        ("os.write(write_fd, b'{'); time.sleep(60)", 1, 0.2, "no answer within 0.2 s"),
        # What is larger than the pipe, and nobody reads, is waited for no longer.
        ("time.sleep(60)", 3_000_000, 0.3, "no answer within 0.3 s"),
        ("os._exit(5)", 3_000_000, 300, f"{ENDED} 5"),
    ],
)
def test_no_answer_in_time_is_a_timeout(
    tmp_path: Path, code: str, size: int, timeout_s: float, message: str
) -> None:
    """The message says how long was waited, be it for the end of a line."""
    with started(tmp_path, code) as worker:
        time.sleep(0.2)
        with pytest.raises(WorkerError, match=f"^{message}$"):
            worker.ask({"text": "x" * size}, timeout_s)


# What a worker says about a failure


def test_a_failure_holds_nothing_that_cannot_be_written() -> None:
    """Half a character, which files and terminals refuse, or a whole tensor."""
    message = {"kind": "exception", "message": "bad \udc80 é" + "x" * 10**7, "code": "'\udc80'"}
    expected = Failure(
        FailureKind.EXCEPTION, "bad ? é" + "x" * 3993, "'?'", "stmt line 1", "printed"
    )

    assert expected == failure_of({**message, "place": "stmt line 1"}, "printed")
    # A compiler's output says more than the process's.
    assert "compiler" == failure_of({**message, "output": "compiler"}, "printed").output


# Output


def test_output_is_drained_and_only_its_tail_kept(tmp_path: Path) -> None:
    """100 MB block nobody and fill no memory."""
    code = """
        block = b"x" * 999 + b"\\n"
        for _ in range(100):
            os.write(1, block * 1000)
        os.write(1, b"the end")
        send({})
        time.sleep(60)
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with started(tmp_path, code) as worker:
        worker.receive(300)
        comes_true(lambda: worker.output.endswith("the end"))
        grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

        assert worker.output.endswith("the end")
        assert len(worker.output) <= 64 * 1024
        assert grown_kib < 20_000
