"""Asking a build: what is answered, and what is said where there is no answer."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from instruction_counts.builds.inquiry import inquire
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError

HELLO = """\
import json, os, sys, time
read_fd, write_fd = int(sys.argv[3]), int(sys.argv[5])
def send(text):
    os.write(write_fd, text.encode() + b"\\n")
send('{"type": "hello", "protocol": 1}')
request = json.loads(os.read(read_fd, 1000))
"""


def answering(folder: Path, text: str, hello: str = HELLO) -> Build:
    """A build whose interpreter executes ``text`` where the worker is asked for."""
    path, code = folder / "python", folder / "code.py"
    code.write_text(f"{hello}{text}\n")
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {code} "$@"\n')
    path.chmod(0o755)
    return Build("odd", str(path))


# Answers


def test_an_answer_is_what_the_task_returned(tmp_path: Path) -> None:
    """Without the status, and whatever was printed meanwhile."""
    build = answering(tmp_path, """print("noise"); send('{"status": "ok", "a": [1, null]}')""")

    assert {"a": [1, None]} == inquire(build, "schemas", {})


def test_a_request_names_its_task_and_the_module(tmp_path: Path) -> None:
    """Beside what else it says."""
    build = answering(tmp_path, "send(json.dumps({'status': 'ok', **request}))")
    expected = {"task": "schemas", "module": "catalogue", "name": "é", "n": 2}

    assert expected == inquire(build, "schemas", {"name": "é", "n": 2})


def test_a_task_runs_in_an_empty_folder_or_where_its_caller_says(tmp_path: Path) -> None:
    """Nothing that lies about is imported, unless the question is about it; nothing is left."""
    text = "send(json.dumps({'status': 'ok', 'cwd': os.getcwd(), 'files': os.listdir()}))"
    build = answering(tmp_path, text)
    found = inquire(build, "schemas", {})

    assert [] == found["files"]
    assert not Path(found["cwd"]).exists()
    assert str(tmp_path) == inquire(build, "schemas", {}, cwd=tmp_path)["cwd"]


# No answer

ASKED = r'build "odd": .*/python, asked to schemas: '


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("os._exit(0)", "the process ended with exit code 0", "It printed nothing."),
        ("sys.exit('one\\ntwo')", "the process ended with exit code 1", "two"),
        ("os.kill(os.getpid(), 11)", "the process was killed by SIGSEGV", "It printed nothing."),
        ("print('waiting', flush=True); time.sleep(60)", r"no answer within 0\.3 s", "waiting"),
        ("send('odd')", "the worker answered 'odd'", "It printed nothing."),
    ],
)
def test_an_end_without_an_answer_shows_the_last_line(
    tmp_path: Path, text: str, message: str, remedy: str
) -> None:
    """It is what Python says last."""
    with pytest.raises(BuildError, match=ASKED + message) as caught:
        inquire(answering(tmp_path, text), "schemas", {}, timeout_s=0.3 if "sleep" in text else 60)

    assert remedy == caught.value.remedy


def test_an_interpreter_that_cannot_start_is_named(tmp_path: Path) -> None:
    """With the reason of the system."""
    with pytest.raises(BuildError, match=r'"gone": .*/nowhere does not start: No such file'):
        inquire(Build("gone", str(tmp_path / "nowhere")), "schemas", {})


def test_an_interpreter_that_is_no_python_is_named(tmp_path: Path) -> None:
    """With what it says, and what is needed."""
    build = answering(tmp_path, "", "import sys; sys.exit('I am no Python')\n")
    with pytest.raises(BuildError, match=r"does not work: .* exit code 1 I am no Python\n  Python"):
        inquire(build, "schemas", {})


@pytest.mark.parametrize(
    ("failure", "error", "expected"),
    [
        ({"kind": "refused", "message": "no", "hint": "do"}, DataError, ("no", "do")),
        ({"kind": "refused", "message": "no"}, DataError, ("no", "")),
        (
            {"kind": "exception", "message": "KeyError: 'a'"},
            BuildError,
            ("KeyError: 'a'", "In the task schemas of the worker."),
        ),
    ],
)
def test_a_failure_is_an_error(
    tmp_path: Path,
    failure: dict[str, str],
    error: type[UsageError],
    expected: tuple[str, str],
) -> None:
    """A refusal has its own hint."""
    answer = json.dumps({"status": "failed", "failure": failure})
    with pytest.raises(error) as caught:
        inquire(answering(tmp_path, f"send({answer!r})"), "schemas", {})

    assert (f'build "odd": {expected[0]}', expected[1]) == (
        caught.value.message,
        caught.value.remedy,
    )


# The catalogue in a build without a good torch


@pytest.mark.parametrize("question", ["locate", "schemas"])
def test_a_build_without_torch_names_the_remedy(tmp_path: Path, question: str) -> None:
    """Whichever question it is asked."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S "$@"\n')
    path.chmod(0o755)
    build = Build("bare", str(path))
    with pytest.raises(DataError, match=r"has no torch\n  .* -m pip install torch"):
        inquire(build, question, {})


def test_a_torch_that_cannot_be_imported_says_why(tmp_path: Path) -> None:
    """Its own error is shown."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise OSError('libtorch.so: not found')")
    build = Build("broken", sys.executable, env={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(DataError, match=r"cannot import torch: OSError: libtorch\.so: not found"):
        inquire(build, "schemas", {})


def test_torch_is_located_without_importing_it(tmp_path: Path) -> None:
    """So that what is kept is found at once."""
    package = tmp_path / "torch"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").write_text("raise OSError('imported')")
    (package / "version.py").write_text("__version__ = '1'\n")
    (package / "lib" / "libtorch_cpu.so").write_bytes(b"12345")
    build = Build("made", sys.executable, env={"PYTHONPATH": str(tmp_path)})
    found: dict[str, Any] = inquire(build, "locate", {})

    library = package / "lib" / "libtorch_cpu.so"
    assert {
        "root": str(package),
        "version": "__version__ = '1'\n",
        "files": [[str(library), 5, library.stat().st_mtime_ns]],
        "sources": "",
    } == found


def test_modules_of_a_user_may_have_the_names_of_ours(tmp_path: Path) -> None:
    """Also on Pythons that put the folder of a script on the path."""
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("from catalogue import a; from worker import b")
    (tmp_path / "catalogue.py").write_text("a = 1")
    (tmp_path / "worker.py").write_text("b = 1")
    build = Build("made", sys.executable, env={"PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": ""})
    request = {"names": ["torch.a", "torch.b", "torch.c"]}

    assert {"names": ["torch.c"]} == inquire(build, "absent", request)
