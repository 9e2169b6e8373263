"""Asking a build what it is made of, and more: the answer, and what is said where there is none."""

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts.builds import probing
from instruction_counts.builds.probing import inquire, probe
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from tests.process import executable

HELLO = """\
import json, os, sys, time
read_fd, write_fd = int(sys.argv[3]), int(sys.argv[5])
def send(text):
    os.write(write_fd, text.encode() + b"\\n")
send('{"type": "hello", "protocol": 1}')
request = json.loads(os.read(read_fd, 1000))
"""


def answering(folder: Path, text: str) -> Build:
    """A build whose interpreter executes ``text`` where the worker is asked for."""
    code = folder / "code.py"
    code.write_text(f"{HELLO}{text}\n")
    script = f'exec {shlex.quote(sys.executable)} {code} "$@"'
    return Build("odd", executable(folder / "python", script))


def with_torch(folder: Path, text: str, **variables: str) -> Build:
    """A build that finds a torch whose whole text this is."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(text)
    return Build("made", sys.executable, env={"PYTHONPATH": str(folder), **variables})


def test_an_answer_is_what_the_task_returned(tmp_path: Path) -> None:
    """Without the status, and whatever was printed meanwhile; the request names task and module."""
    build = answering(tmp_path, "print('noise'); send(json.dumps({'status': 'ok', **request}))")
    expected = {"task": "schemas", "module": "catalogue", "name": "é", "n": None}

    assert expected == inquire(build, "schemas", {"name": "é", "n": None})


def test_a_task_runs_in_an_empty_folder_or_where_its_caller_says(tmp_path: Path) -> None:
    """Nothing that lies about is imported, unless the question is about it; nothing is left."""
    text = "send(json.dumps({'status': 'ok', 'cwd': os.getcwd(), 'files': os.listdir()}))"
    build = answering(tmp_path, text)
    found = inquire(build, "schemas", {})

    assert [] == found["files"]
    assert not Path(found["cwd"]).exists()
    assert str(tmp_path) == inquire(build, "schemas", {}, cwd=tmp_path)["cwd"]


def failing(**failure: str) -> str:
    """Code that answers so."""
    return f"send(json.dumps({{'status': 'failed', 'failure': {failure}}}))"


ASKED = ".*/python, asked to schemas: "


@pytest.mark.parametrize(
    ("text", "error", "expected"),
    [
        ("sys.exit('one\\ntwo')", BuildError, rf"{ASKED}the process ended with exit code 1\n  two"),
        (
            "print('waiting', flush=True); time.sleep(60)",
            *(BuildError, rf"{ASKED}no answer within 1 s\n  waiting"),
        ),
        ("send('odd')", BuildError, rf"{ASKED}the worker answered 'odd'\n  It printed nothing\."),
        (failing(kind="refused", message="no", hint="do"), DataError, r"no\n  do"),
        (failing(kind="refused", message="no"), DataError, "no"),
        (
            failing(kind="exception", message="KeyError: 'a'"),
            *(BuildError, r"KeyError: 'a'\n  In the task schemas of the worker\."),
        ),
    ],
)
def test_a_failure_is_an_error(
    tmp_path: Path, text: str, error: type[UsageError], expected: str
) -> None:
    """A refusal has its own hint; an end without an answer shows what Python says last."""
    with pytest.raises(error, match=f'^build "odd": {expected}$'):
        inquire(answering(tmp_path, text), "schemas", {}, timeout_s=1 if "sleep" in text else 60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "does not start: No such file or directory"),
        ("echo I am no Python; exit 3", "the process ended with exit code 3 I am no Python"),
    ],
)
def test_an_interpreter_that_does_not_work_says_how_it_ended(
    tmp_path: Path, text: str | None, expected: str
) -> None:
    """With the last that it printed, and what is needed."""
    python = str(tmp_path / "python") if text is None else executable(tmp_path / "python", text)
    with pytest.raises(BuildError, match=rf'"odd": {python} .*{expected}\n  Python 3\.9'):
        inquire(Build("odd", python), "schemas", {})


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (probe, BuildError),
        (lambda build: inquire(build, "locate", {}), DataError),
        (lambda build: inquire(build, "schemas", {}), DataError),
    ],
    ids=["probe", "locate", "schemas"],
)
def test_a_build_without_torch_names_the_remedy(
    tmp_path: Path, ask: Callable[[Build], object], error: type[UsageError]
) -> None:
    """It starts and answers, but has nothing to measure."""
    script = f'exec {shlex.quote(sys.executable)} -S "$@"'
    bare = Build("bare", executable(tmp_path / "python", script))
    with pytest.raises(error, match=r'"bare": .* has no torch\n  .* -m pip install torch'):
        ask(bare)


PYTHON = re.escape(sys.executable)
DESCRIBING = f"{PYTHON} cannot describe its torch: ImportError: "
SETUPTOOLS = f"{PYTHON} -m pip install setuptools\n  \\(uv pip install --python {PYTHON} "


@pytest.mark.parametrize(
    ("code", "of_extensions", "expected"),
    [
        # To install torch, or another Python, would not help.
        (
            *("raise OSError('libtorch: gone')", ""),
            rf"cannot import torch: OSError: libtorch: gone\n  .*:  {PYTHON} -c 'import torch'",
        ),
        (
            *("import time; time.sleep(60)", ""),
            rf"{PYTHON}, asked to import torch: no answer within 0.5 s\n  It printed nothing",
        ),
        # Debian's needs setuptools to say where its headers are, and does not depend on it.
        (
            *("", "No module named 'setuptools.command'"),
            rf"{DESCRIBING}No module named 'setuptools.command'\n  {SETUPTOOLS}",
        ),
        (
            *("", "no headers"),
            rf"{DESCRIBING}no headers\n  Install a complete PyTorch, or name another",
        ),
    ],
)
def test_a_torch_that_is_of_no_use_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, of_extensions: str, expected: str
) -> None:
    """And what would help."""
    monkeypatch.setattr(probing, "_LEAST_TIMEOUT_S", 0.5)
    build = with_torch(tmp_path, code)
    (tmp_path / "torch" / "utils").mkdir()
    (tmp_path / "torch" / "utils" / "__init__.py").touch()
    extensions = tmp_path / "torch" / "utils" / "cpp_extension.py"
    extensions.write_text(f"raise ImportError({of_extensions!r})")

    with pytest.raises(BuildError, match=f'^build "made": {expected}'):
        probe(build, 0.1 if "sleep" in code else 60)


def test_variables_of_a_build_are_part_of_its_fingerprint_without_their_values() -> None:
    """Counts of before hold for the same ones alone, and a value can be a password."""
    found = [
        probe(attrs.evolve(default_build(), env=env), 60).fingerprint.environment
        for env in ({}, {"TOKEN": "secret", "A": "1"}, {"A": "1", "TOKEN": "another"})
    ]

    assert found[0] == ""
    assert re.fullmatch(r"A \([0-9a-f]{8}\), TOKEN \([0-9a-f]{8}\)", found[1])
    assert found[1].split()[:2] == found[2].split()[:2]
    assert found[1] != found[2]


def test_torch_is_located_without_importing_it(tmp_path: Path) -> None:
    """So that what is kept is found at once."""
    build, package = with_torch(tmp_path, "raise OSError('imported')"), tmp_path / "torch"
    (package / "lib").mkdir()
    (package / "version.py").write_text("__version__ = '1'\n")
    library = package / "lib" / "libtorch_cpu.so"
    library.write_bytes(b"12345")
    found: dict[str, Any] = inquire(build, "locate", {})

    assert {
        "root": str(package),
        "version": "__version__ = '1'\n",
        "files": [[str(library), 5, library.stat().st_mtime_ns]],
    } == found


def test_modules_of_a_user_may_have_the_names_of_ours(tmp_path: Path) -> None:
    """Also on Pythons that put the folder of a script on the path."""
    schemas = "from types import SimpleNamespace as _; _C = _(_jit_get_all_schemas=list)"
    text = f"from catalogue import a; from worker import b; {schemas}"
    build = with_torch(tmp_path, text, PYTHONSAFEPATH="")
    (tmp_path / "catalogue.py").write_text("a = 1")
    (tmp_path / "worker.py").write_text("b = 1")

    assert {"schemas": []} == inquire(build, "schemas", {})
