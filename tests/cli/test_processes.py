"""The program as a process of its own: pipes, interrupts, crashes, and what is left behind."""

import contextlib
import importlib.util
import shlex
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from instruction_counts.domain.records import ChangedFiles
from instruction_counts.storage.json_files import read_json
from instruction_counts.system.folders import RUNTIME_VARIABLE
from tests.process import MAIN, ROOT, called, executable, run, running, write_definitions
from tests.waiting import comes_true, is_running

pytestmark = pytest.mark.faults

TIMES = ["--engine", "timer", "--no-counts"]


def marked_processes(mark: str) -> list[int]:
    """The processes that have ``mark`` in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


# Starts


def test_what_is_there_at_once_imports_nothing_large(tmp_path: Path) -> None:
    """The list, where torch is not, too, and the same from any folder; and what stores nothing."""
    command = [sys.executable, "-X", "importtime", *MAIN[1:], "list"]
    done = called(command, tmp_path)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    script = "import sys, instruction_counts.cli.time_command; print(*sys.modules)"
    of_time = called([sys.executable, "-c", script], ROOT).stdout.split()

    assert "instruction_counts.core.expand" in imported
    assert set() == imported & {"torch", "numpy", "rich", "multiprocess", "sqlalchemy"}
    assert run(["list"]).stdout == done.stdout
    # SQLAlchemy would be a fifth of the start of `time`.
    assert ["click"] == [name for name in ("click", "sqlalchemy") if name in of_time]


# Runs

CRASHES = {
    "good": ("x = 1", ""),
    "killed": (
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "the process was killed by SIGKILL (is memory short?)",
    ),
    "exit": ("import os; os._exit(3)", "the process ended with exit code 3"),
    "raises": ("raise ValueError('half a character: \\udc80')", "ValueError: half a character: ?"),
    "last": ("x = 2", ""),
}
"""Cases that end in every bad way, with what is said of each."""


@pytest.mark.slow
def test_each_bad_case_costs_its_own_row(tmp_path: Path) -> None:
    """With the reason, in the file and below the table; all others are measured.

    The run has an exit code of its own. In a pipe nothing but reasons is wider than the smallest
    terminal.
    """
    statements = {label: stmt for label, (stmt, _) in CRASHES.items()}
    definitions = write_definitions(tmp_path, **statements)
    files = ("--output", "r.json", "--output", "r.csv", "--output", "r.md")
    args = ["run", *TIMES, "--timeout", "300", "--definitions", definitions, *files]
    done = run(args, tmp_path)
    lines = done.stdout.splitlines()
    outcomes = {case.label[0]: case.outcome for case in read_json(tmp_path / "r.json").cases}

    assert 4 == done.returncode
    for label, (_, message) in CRASHES.items():
        failure = outcomes[label].failure
        assert message == (failure.message if failure else "")
        assert ("failed" if message else "ok") == outcomes[label].status.value
        assert bool(message) == sum(line.startswith(f"failed  {label} · ") for line in lines)
    wide = [line for line in lines if len(line) > 80]
    assert [] == [line for line in wide if not line.startswith(("failed ", "Saved"))]


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """An interpreter whose torch can be written to: a folder of links to the real one."""
    torch = tmp_path / "site" / "torch"
    torch.mkdir(parents=True)
    real = Path(str(importlib.util.find_spec("torch").origin)).parent  # type: ignore[union-attr]
    for path in real.iterdir():
        (torch / path.name).symlink_to(path)
    program = shlex.quote(sys.executable)
    script = f'PYTHONPATH={torch.parent} exec {program} "$@"'
    return Path(executable(tmp_path / "python", script))


@pytest.mark.slow
def test_a_statement_that_writes_into_torch_marks_its_run(overlay: Path, tmp_path: Path) -> None:
    """What is measured then may be other code: a process that starts later imports it."""
    write = "open(torch.__path__[0] + '/written.py', 'w').close()"
    definitions = write_definitions(tmp_path, first=write, second="torch.ones(1)")
    options = ["--build", str(overlay), "--definitions", definitions, "--jobs", "1"]
    done = run([*TIMES, *options, "--output", str(tmp_path / "o.json")])
    written = str(overlay.parent / "site" / "torch" / "written.py")
    changed = read_json(tmp_path / "o.json")

    assert 4 == done.returncode
    assert "results may be of other code: " + written in done.stderr
    assert {"default": ChangedFiles(1, (written,))} == changed.changed_files
    assert ["ok", "failed"] == [record.outcome.status.value for record in changed.cases]
    assert f"files of the build changed during the run: {written}" in done.stdout


# A budget of time


@pytest.mark.slow
@pytest.mark.thorough
def test_what_there_was_no_time_for_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case that had begun is finished, nothing has failed, and the run can go on."""
    # No other test holds a core, for which it would wait longer than it has.
    monkeypatch.setenv(RUNTIME_VARIABLE, str(tmp_path))
    definitions = write_definitions(tmp_path, first="x = 1.5", second="x = 2.5", third="x = 3.5")
    args = ["run", *TIMES, "--jobs", "1", "--definitions", definitions]
    done = run([*args, "--time-budget", "1", "--output", "r.json"], tmp_path)
    resumed = run([*args, "--resume", "r.json", "--output", "all.json"], tmp_path)
    statuses = [
        [record.outcome.status.value for record in read_json(tmp_path / name).cases]
        for name in ("r.json", "all.json")
    ]

    assert [["ok", "skipped", "skipped"], ["ok"] * 3] == statuses
    assert [0, 0] == [done.returncode, resumed.returncode]
    assert "1 of 3 cases measured within 1 s; skipped: 2" in done.stdout


# Interrupts


def marked_builds(folder: Path) -> tuple[str, str]:
    """A file with a build whose processes have a mark in their environment, and the mark."""
    mark, path = f"mark-{uuid.uuid4()}", folder / "builds.yaml"
    path.write_text(f"builds: [{{name: mine, python: {sys.executable}, env: {{MARK: {mark}}}}}]\n")
    return str(path), mark


@pytest.mark.slow
def test_an_interrupt_ends_the_run_in_order(tmp_path: Path) -> None:
    """Its exit code tells, no process is left, what was finished is kept, and it can go on.

    It does not wait for the case, which sleeps for 300 seconds.
    """
    builds, mark = marked_builds(tmp_path)
    definitions = write_definitions(
        tmp_path,
        # Code of its own: what no run has timed yet is measured in the order of its definition.
        first="x = 1.25",
        second=f"""
            import os, subprocess, time
            if not os.path.exists({str(tmp_path / "go")!r}):
                subprocess.Popen(["sleep", "300"])
                open({str(tmp_path / "started")!r}, "w").close()
                time.sleep(300)
        """,
        third="x = 3.25",
    )
    args = ["run", *TIMES, "--definitions", definitions, "--build", builds, "--jobs", "1"]
    with running([*args, "--output", "r.json"], tmp_path) as process:
        started = comes_true((tmp_path / "started").exists)
        there = marked_processes(mark)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=150)
        ended = comes_true(lambda: not marked_processes(mark))
    (tmp_path / "go").touch()
    resumed = run([*args, "--resume", "r.json", "--output", "all.json"], tmp_path)
    (kept,), cases = (read_json(tmp_path / name).cases for name in ("r.json", "all.json"))

    assert started
    assert len(there) >= 2
    assert 130 == process.returncode
    assert "Traceback" not in output
    assert ended
    assert 0 == resumed.returncode
    # What was measured before was not measured again: it is the same to the last digit.
    assert kept == cases[0]
    assert [("first",), ("second",), ("third",)] == [record.label for record in cases]


@pytest.mark.slow
def test_a_program_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """Its processes end with it, daemons of a statement, too; the next start removes its folder."""
    place = tmp_path / "place"
    builds, mark = marked_builds(tmp_path)
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
    args = ["run", *TIMES, "--definitions", definitions, "--build", builds]
    process = subprocess.Popen([*MAIN, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started = comes_true(place.exists)
    there = marked_processes(mark)
    process.kill()
    process.wait()
    ended = comes_true(lambda: not marked_processes(mark))
    # Another program may take the name of the folder once it is free.
    stays = Path(place.read_text()) / "stays"
    stays.touch()
    again = run([*args, "--only", "second"])

    assert started
    assert len(there) >= 2
    assert ended
    assert 0 == again.returncode
    assert not stays.exists()


PRECOMPILING = """
case "$*" in *c++-header*) sleep 600 & echo $! $$ > {folder}/pids; wait ;; esac
exec g++ "$@"
"""


@pytest.mark.slow
def test_a_compiler_that_precompiles_headers_ends_with_the_run(tmp_path: Path) -> None:
    """It takes a minute, in a session of its own. `timeout` sends its signal twice."""
    compiler = executable(tmp_path / "compiler", PRECOMPILING.format(folder=tmp_path))
    (tmp_path / "cases.py").write_text(
        "from core.api import GroupedStmts\n"
        "BENCHMARKS = {'a': GroupedStmts(cpp_stmt='auto x = torch::ones({2});')}\n"
    )
    args = ["run", "--definitions", "cases.py", "--no-counts", "--db", "runs.db"]
    cache = str(tmp_path / "cache")
    with running(args, tmp_path, CXX=compiler, INSTRUCTION_COUNTS_CACHE=cache) as process:
        pids_file = tmp_path / "pids"
        assert comes_true(lambda: pids_file.exists() and pids_file.read_text())
        pids = [int(pid) for pid in pids_file.read_text().split()]
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)

        assert 130 == process.wait(600)
        assert comes_true(lambda: not any(map(is_running, pids)))
