"""Machines and streams that are short of something: one line, the remedy, and nothing left.

A fault is a row: what causes it around the program, and how the program ends.
"""

import functools
import os
import pwd
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.builders import counted, run_of, to_json
from tests.fakes import make_record, make_run
from tests.process import MAIN, ROOT, called, executable, in_shell, run, write_definitions

pytestmark = pytest.mark.faults

Ended: TypeAlias = subprocess.CompletedProcess[str]
Inject: TypeAlias = Callable[[Path, Sequence[str]], Ended]
"""Runs the program with these arguments in a folder, while something is wrong."""

# What is full or forbidden

NAMESPACE = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--user", "--map-root-user"])]
FULL_SHM = """
mount -t tmpfs -o size=64k tmpfs /dev/shm
head -c 1000000 /dev/zero > /dev/shm/full 2> /dev/null
exec "$@"
"""
READ_ONLY_SHM = """
mount -t tmpfs -o ro tmpfs /dev/shm
exec "$@"
"""
NOEXEC_TMP = """
mount --bind "$ROOT" /mnt
mount -t tmpfs -o noexec tmpfs /tmp
cd /mnt
exec "$@"
"""
READ_ONLY_TMP = """
mount --bind "$ROOT" /mnt
mount -t tmpfs -o ro tmpfs /tmp
cd /mnt
export TMPDIR="$XDG_DATA_HOME" INSTRUCTION_COUNTS_RUNTIME="$XDG_DATA_HOME/runtime"
exec "$@"
"""
FULL_TMP = """
mount --bind "$ROOT" /mnt
mount -t tmpfs -o nr_inodes=1 tmpfs /tmp
cd /mnt
"$@"
code=$?
ls -A /tmp >&2
exit $code
"""


@functools.cache
def no_mounts() -> str:
    """Why this machine does not let tests mount anything; empty where it does."""
    try:
        mount = ["mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        return called([*NAMESPACE, *mount]).stderr.strip()
    except OSError as error:
        return str(error)


def after(script: str) -> Inject:
    """Mount something first, which only the program sees."""

    def inject(folder: Path, args: Sequence[str]) -> Ended:
        if no_mounts():
            pytest.skip(f"nothing can be mounted: {no_mounts()}")
        python = Path(sys.prefix).resolve() / "bin" / "python"
        if python.is_relative_to(ROOT):
            python = python.relative_to(ROOT)  # this checkout is seen elsewhere
        elif Path("/tmp") in python.parents:  # noqa: S108 - it is hidden
            pytest.skip(f"{python} is below /tmp, which is hidden here")
        variables = {"ROOT": str(ROOT), "INSTRUCTION_COUNTS_CACHE": str(folder / "cache")}
        variables["INSTRUCTION_COUNTS_KEEP_SERVERS"] = "0"  # it needs a folder in /tmp first
        if os.getuid():  # in the namespace it is another user
            variables["INSTRUCTION_COUNTS_RUNTIME"] = str(folder / "runtime")
        command = [*NAMESPACE, "sh", "-c", script, "sh", str(python), "main.py", *args]
        return called(command, ROOT, {**variables, "XDG_DATA_HOME": str(folder)})

    return inject


USER = "nobody"
SEARCHED = f"{ROOT}:{sysconfig.get_path('purelib')}"


def as_user(*command: str, **variables: str) -> Ended:
    """A command of a user who owns nothing, and has no other process; root has no limit."""
    become = ["setpriv", f"--reuid={USER}", "--regid=65534", "--clear-groups", "env", "-i"]
    known = {"PATH": os.defpath, "PYTHONPATH": SEARCHED, "PYTHONDONTWRITEBYTECODE": "1"}
    # Otherwise what holds servers may stay for a minute, with its folder.
    known["INSTRUCTION_COUNTS_KEEP_SERVERS"] = "0"
    return called(
        [*become, *(f"{name}={value}" for name, value in {**known, **variables}.items()), *command],
        ROOT,
    )


@functools.cache
def interpreter() -> str:
    """One that this user can start the program with; skips the test where there is none."""
    reason = "only root can run a program as a user without other processes"
    own = "/usr/bin/python{}.{}".format(*sys.version_info)
    for python in (sys.executable, own) if os.getuid() == 0 else ():
        try:
            done = as_user("prlimit", "--nproc=9", python, "main.py", "list", "--help")
        except OSError as error:
            pytest.skip(str(error))
        if not done.returncode:
            return python
        reason = f"{USER} cannot run {python}: {done.stderr.strip()[-200:]}"
    pytest.skip(reason)


def limited(processes: int) -> Inject:
    """As a user who may have so many processes and threads."""

    def inject(folder: Path, args: Sequence[str]) -> Ended:
        python = interpreter()
        folder.chmod(0o777)
        searched, program = shlex.quote(SEARCHED), shlex.quote(python)
        executable(folder / "python", f'PYTHONPATH={searched} exec {program} "$@"')
        places = ("HOME", "XDG_DATA_HOME", "INSTRUCTION_COUNTS_CACHE")
        return as_user(
            *("prlimit", f"--nproc={processes}", python, "main.py", *args),
            *(f"--build={folder / 'python'}", "--jobs=8"),
            **{name: str(folder / name.lower()) for name in places},
        )

    return inject


def homeless(folder: Path, args: Sequence[str]) -> Ended:
    """As a daemon does, whose home takes no folder."""
    command = ["env", "-i", f"PATH={os.environ['PATH']}", "HOME=/proc", *MAIN, *args]
    return called(command, ROOT)


TIMED = ["run", "--no-counts", "--engine=timer"]
NO_PROCESS = (
    r".*(no further thread can be started|Resource temporarily unavailable).*\n"
    r"  Stop other processes, or raise the limit: ulimit -u; in a container, pids\.max"
)
FAULTS: dict[str, tuple[Inject, list[str], str]] = {
    "full shared memory": (
        *(after(FULL_SHM), TIMED),
        (
            r"No space left on device\n"
            r"  Free some space there; for temporary files: df -h /tmp /dev/shm"
        ),
    ),
    "read-only shared memory": (
        *(after(READ_ONLY_SHM), TIMED),
        r"^locks need /dev/shm: Read-only file system\n  Mount it, and let this user write.*",
    ),
    "temporary files that cannot be executed": (
        *(after(NOEXEC_TMP), TIMED),
        r"^no library can be loaded from /tmp: .*\n  Set TMPDIR to a folder .*",
    ),
    "full temporary files": (
        *(after(FULL_TMP), TIMED),
        r"^No space left on device: /tmp/instruction-counts\..*\n.*df -h /tmp.*",
    ),
    # What cannot be started: a probe, its keeper, a reader of output, a lane.
    **{f"processes: {n}": (limited(n), TIMED, NO_PROCESS) for n in (1, 2, 3, 4)},
    "processes of servers": (limited(4), ["run", "--no-counts", "--engine=fork"], NO_PROCESS),
    "no data folder": (homeless, ["runs", "list"], r"^the folder /proc/\..*\n.*XDG_DATA_HOME.*"),
    "no cache folder": (
        *(homeless, ["cache", "show"]),
        r"^the folder /proc/\..*\n.*INSTRUCTION_COUNTS_CACHE.*",
    ),
}


@pytest.mark.parametrize(
    ("inject", "args", "said"),
    [
        pytest.param(*row, id=name, marks=pytest.mark.slow if "run" in row[1] else ())
        for name, row in FAULTS.items()
    ],
)
def test_what_is_missing_is_named(inject: Inject, args: list[str], said: str, folder: Path) -> None:
    """With the remedy in the last line; no folder is left."""
    before = temporary_folders()
    asked = ["--definitions", write_definitions(folder, a="torch.ones(1)")]
    done = inject(folder, [*args, *(asked if args[0] == "run" else [])])

    assert 1 == done.returncode, done.stderr
    assert re.search(rf"{said}\n\Z", done.stderr, re.MULTILINE), done.stderr
    assert "Traceback" not in done.stderr
    assert temporary_folders() <= before


@pytest.mark.slow
@pytest.mark.thorough
def test_cases_are_counted_where_only_another_folder_can_be_written_to(folder: Path) -> None:
    """Valgrind, too, writes to TMPDIR instead of /tmp."""
    done = after(READ_ONLY_TMP)(folder, ["time", "torch.ones(1)", "--no-times"])

    assert 0 == done.returncode, done.stdout + done.stderr


def test_who_may_not_write_to_a_database_reads_it_and_leaves_nothing_there(folder: Path) -> None:
    """Files of SQLite that another user made would keep its owner from writing."""
    (folder / "run.json").write_text(to_json(run_of({"a": 1000})), encoding="utf-8")
    assert 0 == run(["runs", "import", "run.json", "--db", "runs.db"], folder).returncode
    folder.chmod(0o777)
    before = set(folder.iterdir())
    done = as_user(interpreter(), "main.py", "runs", "show", "1", "--db", str(folder / "runs.db"))

    assert 0 == done.returncode, done.stderr
    assert "1,000" in done.stdout
    assert before == set(folder.iterdir())


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that any user can reach, where nothing is mounted over."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def temporary_folders() -> set[Path]:
    """The temporary folders that the program made for that user."""
    user = pwd.getpwnam(USER).pw_uid
    found = Path(tempfile.gettempdir()).glob("instruction-counts.*")
    return {path for path in found if path.lstat().st_uid == user}


# Output that nobody reads, or that a terminal cannot show

OUTPUTS = {
    "a pipe that is closed at once": "{} | true; exit ${PIPESTATUS[0]}",
    "a pipe that is closed after a line": "{} | head -1 >&2; exit ${PIPESTATUS[0]}",
    "a closed stream": "{} >&-",
    "two closed streams": "{} >&- 2>&-",
    "a full disk": "{} >/dev/full",
    "a full disk for remarks": "{} 2>/dev/full",
    "a full disk for both": "{} >/dev/full 2>/dev/full",
}


@pytest.fixture(scope="module")
def failing_check(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder, and the arguments of a check in it that fails and shows many cases."""
    folder = tmp_path_factory.mktemp("failing")
    for name, count in (("accepted", 1000), ("new", 2000)):
        # Some more than what a pipe holds.
        (folder / f"{name}.json").write_text(to_json(run_of({f"{n}": count for n in range(1000)})))
    done = run(["baseline", "accept", "baseline.json", "accepted.json", "--db", "runs.db"], folder)
    assert "" == done.stderr
    check = ["baseline", "check", "baseline.json", "new.json", "--db", "runs.db", "--limit", "0"]
    return folder, [*check, "--output", "check.md", "--output", "check.xml"]


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_failing_check_fails_whatever_becomes_of_its_output(
    output: str, failing_check: tuple[Path, list[str]]
) -> None:
    """Its files are written, and nobody sees a traceback."""
    folder, args = failing_check
    files = [folder / name for name in ("check.md", "check.xml")]
    for file in files:
        file.unlink(missing_ok=True)
    done = in_shell(OUTPUTS[output], args, folder)

    assert 3 == done.returncode
    assert "Traceback" not in done.stderr
    assert all(file.exists() for file in files)


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_list_fails_only_if_it_is_lost(output: str) -> None:
    """A reader that has seen enough is no error, a disk that is full is one."""
    is_lost = output in {"a full disk", "a full disk for both"}
    done = in_shell(OUTPUTS[output], ["list"])
    lost = "Part of the output was lost: No space left on device"

    assert is_lost == done.returncode
    assert (lost in done.stderr) == (output == "a full disk")
    assert "Traceback" not in done.stderr
    if output == "a pipe that is closed at once":
        assert "300 cases\n" == done.stderr


def test_a_regression_is_reported_in_ascii(tmp_path: Path) -> None:
    """To a terminal that knows nothing else; with its exit code."""
    files = [tmp_path / "bäse.json", tmp_path / "new.json"]
    for file, count in zip(files, (1000, 2000), strict=True):
        made = make_run(make_record("Töp", "add → sub", outcome=counted(count)))
        file.write_text(to_json(made), encoding="utf-8")
    done = run(["compare", *files], PYTHONIOENCODING="ascii")

    assert 3 == done.returncode, done.stderr
    assert r"T\xf6p" in done.stdout
    assert (done.stdout + done.stderr).isascii()
