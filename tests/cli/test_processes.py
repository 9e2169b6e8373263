"""The program as a process of its own: pipes, interrupts, crashes, and what is left behind."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import jsonschema
import pytest

from instruction_counts.domain.records import ChangedFiles
from instruction_counts.storage import json_files as export
from instruction_counts.storage.json_files import read_json, to_json
from instruction_counts.system.folders import RUNTIME_VARIABLE
from tests.builders import counted
from tests.fakes import make_record, make_run

pytestmark = pytest.mark.faults

ROOT = Path(__file__).resolve().parents[2]
MAIN = [sys.executable, str(ROOT / "main.py")]
SCHEMA = json.loads((Path(export.__file__).parent / "schema.json").read_text())
TIMES = ["--engine", "timer", "--no-counts"]


def run(
    args: Sequence[str], folder: Path | None = None, timeout_s: float = 600
) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        [*MAIN, *args], cwd=folder, capture_output=True, text=True, check=False, timeout=timeout_s
    )


def write_definitions(folder: Path, **statements: str) -> str:
    """A definition file with a case for each statement; its path."""
    path = folder / "cases.py"
    cases = {label: textwrap.dedent(stmt) for label, stmt in statements.items()}
    path.write_text(
        "from core.api import TimerArgs\n"
        f"BENCHMARKS = {{label: TimerArgs(stmt) for label, stmt in {cases!r}.items()}}\n"
    )
    return str(path)


def wait_until(condition: Callable[[], bool], timeout_s: float = 300) -> bool:
    """Whether a condition came true in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):
            if condition():
                return True
        time.sleep(0.02)
    return False


def marked_processes(mark: str) -> list[int]:
    """The processes that have ``mark`` in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def is_running(pid: int) -> bool:
    """Whether a process is there, and not only its exit status."""
    with contextlib.suppress(OSError):
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    return False


# Lists


def test_the_list_imports_nothing_large() -> None:
    """It is there at once, also where torch is not."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *MAIN[1:], "list"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

    assert "core.expand" in imported
    assert set() == imported & {"torch", "numpy", "rich", "multiprocess"}


@pytest.mark.parametrize(
    ("args", "remark"),
    [
        (["list"], "300 cases\n"),
        (["list", "--only", "Empty"], "17 cases\n"),
        (["list", "--help"], ""),
    ],
)
def test_a_reader_that_has_seen_enough_is_no_error(args: list[str], remark: str) -> None:
    """Only the usual remark is made, whether the output fits into the pipe or not."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*MAIN, *args], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)

    assert 0 == done.returncode
    assert remark == done.stderr


def test_the_list_is_the_same_from_any_folder(tmp_path: Path) -> None:
    """The program finds its parts by itself."""
    assert run(["list"]).stdout == run(["list"], tmp_path).stdout


# Runs

CRASHES = {
    "good": "x = 1",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "exit": "import os; os._exit(3)",
    "raises": "raise ValueError('half a character: \\udc80')",
    "chatty": """
        import os
        for _ in range(1000):
            os.write(1, b"x" * 100_000)
        raise ValueError("ok")
    """,
    "last": "x = 2",
}


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, int]:
    """A run of cases that end in every bad way: its folder, its output and its exit code."""
    folder = tmp_path_factory.mktemp("crashed")
    done = run(
        [
            *("run", *TIMES, "--timeout", "300", "--retries", "0"),
            *("--definitions", write_definitions(folder, **CRASHES)),
            *("--output", "r.json", "--output", "r.csv", "--output", "r.md"),
        ],
        folder,
    )
    return folder, done.stdout, done.returncode


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "status", "message"),
    [
        ("good", "ok", ""),
        ("killed", "failed", "the process was killed by SIGKILL"),
        ("segfault", "failed", "the process was killed by SIGSEGV"),
        ("exit", "failed", "the process ended with exit code 3"),
        ("raises", "failed", "ValueError: half a character: ?"),
        ("chatty", "failed", "ValueError: ok"),
        ("last", "ok", ""),
    ],
)
def test_each_bad_case_costs_its_own_row(
    crashed: tuple[Path, str, int], label: str, status: str, message: str
) -> None:
    """With the reason; all others are measured."""
    (record,) = [
        record for record in read_json(crashed[0] / "r.json").cases if record.label == (label,)
    ]
    failure = record.outcome.failure

    assert status == record.outcome.status.value
    assert message == (failure.message if failure else "")


@pytest.mark.slow
def test_failed_cases_make_the_exit_code_4(crashed: tuple[Path, str, int]) -> None:
    """All others were measured."""
    assert 4 == crashed[2]


@pytest.mark.slow
def test_a_real_file_fits_the_schema(crashed: tuple[Path, str, int]) -> None:
    """Whatever went wrong in it."""
    jsonschema.validate(json.loads((crashed[0] / "r.json").read_text()), SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize("label", [label for label in CRASHES if label not in {"good", "last"}])
def test_the_screen_lists_what_failed(crashed: tuple[Path, str, int], label: str) -> None:
    """Below the table, with the reason."""
    assert [label] == [
        line.split()[1]
        for line in crashed[1].splitlines()
        if line.startswith((f"failed  {label} · ", f"timeout  {label} · "))
    ]


@pytest.mark.slow
def test_nothing_on_the_screen_is_wider_than_80_columns_but_reasons(
    crashed: tuple[Path, str, int],
) -> None:
    """In a pipe, which has no width, as in the smallest terminal."""
    wide = [line for line in crashed[1].splitlines() if len(line) > 80]

    assert [] == [line for line in wide if not line.startswith(("failed ", "timeout ", "Saved"))]


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """An interpreter whose torch can be written to: a folder of links to the real one."""
    torch = tmp_path / "site" / "torch"
    torch.mkdir(parents=True)
    real = Path(str(importlib.util.find_spec("torch").origin)).parent  # type: ignore[union-attr]
    for path in real.iterdir():
        (torch / path.name).symlink_to(path)
    python = tmp_path / "python"
    program = shlex.quote(sys.executable)
    python.write_text(f'#!/bin/sh\nPYTHONPATH={torch.parent} exec {program} "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.slow
def test_a_statement_that_writes_into_torch_marks_its_run(overlay: Path, tmp_path: Path) -> None:
    """What is measured then may be other code: a process that starts later imports it."""
    write = "open(torch.__path__[0] + '/written.py', 'w').close()"
    definitions = write_definitions(tmp_path, first=write, second="torch.ones(1)")
    database = ["--db", str(tmp_path / "runs.db")]
    options = ["--build", str(overlay), "--definitions", definitions, "--jobs", "1", *database]
    done = run([*TIMES, *options, "--output", str(tmp_path / "o.json")])
    stored = run(["runs", "show", "1", *database])
    written = str(overlay.parent / "site" / "torch" / "written.py")
    changed = read_json(tmp_path / "o.json")

    assert 4 == done.returncode
    assert "results may be of other code: " + written in done.stderr
    assert {"default": ChangedFiles(1, (written,))} == changed.changed_files
    assert ["ok", "failed"] == [record.outcome.status.value for record in changed.cases]
    assert f"files of the build changed during the run: {written}" in done.stdout
    note = f'note files of build "default" changed during the run: {written}'
    assert note in " ".join(stored.stdout.split())


@pytest.mark.slow
def test_a_case_that_does_not_end_is_a_row_with_the_time_that_it_had(tmp_path: Path) -> None:
    """A run of its own: on a busy machine other cases may need longer than it is given."""
    definitions = write_definitions(tmp_path, endless="while True: pass")
    args = ["run", *TIMES, "--timeout", "8", "--retries", "0", "--definitions", definitions]
    done = run([*args, "--output", "r.json"], tmp_path)

    (record,) = read_json(tmp_path / "r.json").cases
    failure = record.outcome.failure
    assert failure is not None
    assert "timeout" == record.outcome.status.value
    assert "no answer within 8 s" == failure.message
    assert 4 == done.returncode
    assert [line for line in done.stdout.splitlines() if line.startswith("timeout  endless · ")]


# A budget of time


@pytest.fixture(scope="module")
def hurried(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[str], list[str], str, list[int]]:
    """The statuses after a run with too little time and after going on, what it said, the codes."""
    folder = tmp_path_factory.mktemp("hurried")
    definitions = write_definitions(folder, first="x = 1.5", second="x = 2.5", third="x = 3.5")
    args = ["run", *TIMES, "--jobs", "1", "--definitions", definitions]
    with pytest.MonkeyPatch.context() as patch:
        # No other test holds a core, for which it would wait longer than it has.
        patch.setenv(RUNTIME_VARIABLE, str(folder))
        done = run([*args, "--time-budget", "1", "--output", "r.json"], folder)
    resumed = run([*args, "--resume", "r.json", "--output", "all.json"], folder)
    statuses = [
        [record.outcome.status.value for record in read_json(folder / name).cases]
        for name in ("r.json", "all.json")
    ]
    return statuses[0], statuses[1], done.stdout, [done.returncode, resumed.returncode]


@pytest.mark.slow
def test_what_there_was_no_time_for_is_skipped(
    hurried: tuple[list[str], list[str], str, list[int]],
) -> None:
    """The case that had begun is finished, and nothing has failed."""
    assert ["ok", "skipped", "skipped"] == hurried[0]
    assert [0, 0] == hurried[3]
    assert "1 of 3 cases measured within 1 s; skipped: 2" in hurried[2]


@pytest.mark.slow
def test_a_run_goes_on_with_what_there_was_no_time_for(
    hurried: tuple[list[str], list[str], str, list[int]],
) -> None:
    """As after an interrupt."""
    assert ["ok"] * 3 == hurried[1]


# Interrupts


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """What became of a run that was interrupted in its second case, and of its continuation."""
    folder, mark = tmp_path_factory.mktemp("interrupted"), f"mark-{uuid.uuid4()}"
    definitions = write_definitions(
        folder,
        # Code of its own: what no run has timed yet is measured in the order of its definition.
        first="x = 1.25",
        second=f"""
            import os, subprocess, time
            if not os.path.exists({str(folder / "go")!r}):
                subprocess.Popen(["sleep", "300"])
                open({str(folder / "started")!r}, "w").close()
                time.sleep(300)
        """,
        third="x = 3.25",
    )
    builds = folder / "builds.yaml"
    builds.write_text(
        f"builds: [{{name: mine, python: {sys.executable}, env: {{MARK: {mark}}}}}]\n"
    )
    args = ["run", *TIMES, "--definitions", definitions, "--builds", "builds.yaml", "--jobs", "1"]
    process = subprocess.Popen(
        [*MAIN, *args, "--output", "r.json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        started = wait_until((folder / "started").exists)
        running = marked_processes(mark)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=600)
        took_s = time.monotonic() - begin
        wait_until(lambda: not marked_processes(mark))
        left = marked_processes(mark)
        finished = [record.label for record in read_json(folder / "r.json").cases]
        (folder / "go").touch()
        resumed = run([*args, "--resume", "r.json", "--output", "all.json"], folder)
        yield {
            "started": started and len(running) >= 2,
            "took_s": took_s,
            "code": process.returncode,
            "output": output,
            "left": left,
            "finished": finished,
            "first": read_json(folder / "r.json").cases[0],
            "resumed code": resumed.returncode,
            "resumed progress": resumed.stderr,
            "resumed": read_json(folder / "all.json").cases,
        }
    finally:
        for pid in (process.pid, *marked_processes(mark)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("started", True),
        ("code", 130),
        ("left", []),
        ("finished", [("first",)]),
        ("resumed code", 0),
    ],
)
def test_an_interrupt_ends_the_run_in_order(
    interrupted: dict[str, object], what: str, expected: object
) -> None:
    """Its exit code tells, no process is left, what was finished is kept, and it can go on."""
    assert expected == interrupted[what]


@pytest.mark.slow
def test_an_interrupt_does_not_wait_for_the_case(interrupted: dict[str, object]) -> None:
    """The case sleeps for 300 seconds; ending takes some, and more on a busy machine."""
    assert float(str(interrupted["took_s"])) < 150


@pytest.mark.slow
def test_an_interrupt_gives_no_traceback(interrupted: dict[str, object]) -> None:
    """It is no mistake."""
    assert "Traceback" not in str(interrupted["output"])


@pytest.mark.slow
def test_a_resumed_run_is_complete(interrupted: dict[str, object]) -> None:
    """In the order of the definitions."""
    resumed = interrupted["resumed"]
    assert isinstance(resumed, tuple)

    assert [("first",), ("second",), ("third",)] == [record.label for record in resumed]


@pytest.mark.slow
def test_a_resumed_run_keeps_what_was_measured_before(interrupted: dict[str, object]) -> None:
    """To the last digit; it was not measured again."""
    resumed = interrupted["resumed"]
    assert isinstance(resumed, tuple)

    assert interrupted["first"] == resumed[0]


PRECOMPILING = """#!/bin/sh
case "$*" in *c++-header*) sleep 600 & echo $! $$ > {folder}/pids; wait ;; esac
exec g++ "$@"
"""


@pytest.mark.slow
def test_a_program_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """Its processes end with it, daemons of a statement, too; the next start removes its folder."""
    mark, place = f"mark-{uuid.uuid4()}", tmp_path / "place"
    definitions = write_definitions(
        tmp_path,
        first=f"""
            import os, pathlib, time
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(1000)
                os._exit(0)
            os.wait()
            pathlib.Path({str(place)!r} + ".new").write_text(os.getcwd())
            os.rename({str(place)!r} + ".new", {str(place)!r})
            time.sleep(1000)
        """,
        second="x = 7.25",
    )
    builds = tmp_path / "builds.yaml"
    builds.write_text(
        f"builds: [{{name: mine, python: {sys.executable}, env: {{MARK: {mark}}}}}]\n"
    )
    args = ["run", *TIMES, "--definitions", definitions, "--builds", str(builds)]
    process = subprocess.Popen([*MAIN, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started = wait_until(place.exists)
    running = len(marked_processes(mark))
    process.kill()
    process.wait()
    ended = wait_until(lambda: not marked_processes(mark))
    folder = Path(place.read_text())
    stayed = folder.exists()
    again = run([*args, "--only", "second"])

    assert started
    assert running >= 2
    assert ended
    assert stayed
    assert 0 == again.returncode
    assert not folder.exists()


@pytest.mark.parametrize(
    ("command", "code"), [([], 130), (["nohup"], -signal.SIGKILL)], ids=["usual", "nohup"]
)
def test_a_terminal_that_goes_away_interrupts(
    tmp_path: Path, command: list[str], code: int
) -> None:
    """As Ctrl-C does, unless the program was started with nohup."""
    definitions, ready = tmp_path / "cases.py", tmp_path / "ready"
    definitions.write_text(
        f"import pathlib, time\npathlib.Path({str(ready)!r}).touch()\ntime.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [*command, *MAIN, "list", "--definitions", str(definitions)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    started = wait_until(ready.exists)
    process.send_signal(signal.SIGHUP)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(300 if code == 130 else 0.5)
    process.kill()
    process.communicate()

    assert started
    assert code == process.returncode


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_compiler_that_precompiles_headers_ends_with_the_run(number: int, tmp_path: Path) -> None:
    """It takes a minute, in a session of its own. `timeout` sends its signal twice."""
    compiler = tmp_path / "compiler"
    compiler.write_text(PRECOMPILING.format(folder=tmp_path))
    compiler.chmod(0o755)
    (tmp_path / "cases.py").write_text(
        "from core.api import GroupedStmts\n"
        "BENCHMARKS = {'a': GroupedStmts(cpp_stmt='auto x = torch::ones({2});')}\n"
    )
    process = subprocess.Popen(
        [*MAIN, "run", "--definitions", "cases.py", "--no-counts", "--db", "runs.db"],
        cwd=tmp_path,
        env={
            **os.environ,
            "CXX": str(compiler),
            "INSTRUCTION_COUNTS_CACHE": str(tmp_path / "cache"),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert wait_until(lambda: bool((tmp_path / "pids").read_text()))
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        process.send_signal(number)
        process.send_signal(number)

        assert 130 == process.wait(600)
        assert wait_until(lambda: not any(map(is_running, pids)))
    finally:
        process.kill()


# Output that nobody reads


@pytest.fixture(scope="module")
def failing_check(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder, and the arguments of a check in it that fails and shows many cases."""
    folder = tmp_path_factory.mktemp("failing")
    for name, count in (("accepted", 1000), ("new", 2000)):
        # Some more than what a pipe holds.
        records = [make_record("Group", str(n), outcome=counted(count)) for n in range(1000)]
        (folder / f"{name}.json").write_text(to_json(make_run(*records)))
    done = run(["baseline", "accept", "accepted.json", "--db", "runs.db"], folder)
    assert "" == done.stderr
    check = ["baseline", "check", "baseline.json", "new.json", "--db", "runs.db", "--limit", "0"]
    return folder, [*check, "--output", "check.md", "--junit", "check.xml"]


OUTPUTS = {
    "a pipe that is closed at once": "{} | true; exit ${{PIPESTATUS[0]}}",
    "a pipe that is closed after a line": "{} | head -1 >&2; exit ${{PIPESTATUS[0]}}",
    "a closed stream": "{} >&-",
    "two closed streams": "{} >&- 2>&-",
    "a full disk": "{} >/dev/full",
    "a full disk for remarks": "{} 2>/dev/full",
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_failing_check_fails_whatever_becomes_of_its_output(
    output: str, failing_check: tuple[Path, list[str]]
) -> None:
    """Its files are written, and nobody sees a traceback."""
    folder, args = failing_check
    for name in ("check.md", "check.xml"):
        (folder / name).unlink(missing_ok=True)
    done = in_shell(OUTPUTS[output], args, folder)

    assert 3 == done.returncode
    assert "Traceback" not in done.stderr
    assert (folder / "check.md").exists()
    assert (folder / "check.xml").exists()


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [
        *((output, 0, "") for output in OUTPUTS if output != "a full disk"),
        ("a full disk", 1, "Part of the output was lost: No space left on device\n"),
    ],
)
def test_a_list_fails_only_if_it_is_lost(output: str, code: int, said: str) -> None:
    """A reader that has seen enough is no error, a disk that is full is one."""
    done = in_shell(OUTPUTS[output], ["list"])

    assert code == done.returncode
    assert done.stderr.endswith(said)
    assert "Traceback" not in done.stderr


def in_shell(
    template: str, args: Sequence[str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program as a shell does."""
    return subprocess.run(
        ["bash", "-c", template.format(shlex.join([*MAIN, *args]))],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
