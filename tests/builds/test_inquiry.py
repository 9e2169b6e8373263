"""Asking a build: what is answered, and what is said where there is no answer."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from instruction_counts.builds.inquiry import inquire
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError


def answering(folder: Path, text: str) -> Build:
    """A build whose interpreter is a shell script: $2 is the request, $3 the answer."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return Build("odd", str(path))


# Answers


def test_an_answer_is_what_the_script_left(tmp_path: Path) -> None:
    """Without the status, and whatever was printed meanwhile."""
    build = answering(tmp_path, """echo noise; echo '{"status": "ok", "a": [1, null]}' > "$3" """)

    assert {"a": [1, None]} == inquire(build, "catalogue", {})


def test_the_script_reads_the_request(tmp_path: Path) -> None:
    """As JSON."""
    build = answering(tmp_path, 'cp "$2" "$3"')

    assert {"name": "é", "n": 2} == inquire(
        build, "catalogue", {"status": "ok", "name": "é", "n": 2}
    )


ANSWER_FOLDER = """printf '{"status": "ok", "cwd": "%s", "files": "%s"}' "$PWD" "$(ls)" > "$3" """


def test_a_script_runs_in_an_empty_folder_or_where_its_caller_says(tmp_path: Path) -> None:
    """Nothing that lies about is imported, unless the question is about it."""
    build = answering(tmp_path, ANSWER_FOLDER)

    assert "" == inquire(build, "catalogue", {})["files"]
    assert {"cwd": str(tmp_path), "files": "python"} == (
        inquire(build, "catalogue", {}, cwd=tmp_path)
    )


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Its folder goes."""
    build = answering(tmp_path, """printf '{"status": "ok", "file": "%s"}' "$3" > "$3" """)
    path = Path(inquire(build, "catalogue", {})["file"])

    assert not path.parent.exists()


# No answer


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("exit 0", "the process ended with exit code 0", "It printed nothing."),
        ("echo one >&2; echo two >&2; exit 3", "the process ended with exit code 3", "two"),
        ("kill -SEGV $$", "the process was killed by SIGSEGV", "It printed nothing."),
    ],
)
def test_an_end_without_an_answer_shows_the_last_line(
    tmp_path: Path, text: str, message: str, remedy: str
) -> None:
    """It is what Python says last."""
    with pytest.raises(BuildError) as caught:
        inquire(answering(tmp_path, text), "catalogue", {})

    assert f'build "odd": catalogue did not answer: {message}' == caught.value.message
    assert remedy == caught.value.remedy


def test_a_script_that_never_ends_is_ended(tmp_path: Path) -> None:
    """With everything that it started."""
    build = answering(tmp_path, "echo waiting >&2; sleep 60 & sleep 60")
    with pytest.raises(BuildError, match=r"did not answer within 0\.3 s\n  waiting"):
        inquire(build, "catalogue", {}, timeout_s=0.3)


def test_an_interpreter_that_cannot_start_is_named(tmp_path: Path) -> None:
    """With the reason of the system."""
    with pytest.raises(BuildError, match=r'"gone": .*/nowhere does not start: No such file'):
        inquire(Build("gone", str(tmp_path / "nowhere")), "catalogue", {})


@pytest.mark.parametrize("answer", ["", "[]", "{}", "{", '{"status": "odd"}', "\\377"])
def test_an_answer_that_was_not_agreed_is_shown(tmp_path: Path, answer: str) -> None:
    """Whatever it is."""
    with pytest.raises(DataError, match=r'build "odd": catalogue answered .*\n  Expected a JSON'):
        inquire(answering(tmp_path, f"printf '{answer}' > \"$3\""), "catalogue", {})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"status": "failed", "message": "no", "hint": "do"}', ("no", "do")),
        ('{"status": "failed", "message": "no"}', ("no", "")),
    ],
)
def test_a_refusal_is_an_error_with_its_hint(
    tmp_path: Path, answer: str, expected: tuple[str, str]
) -> None:
    """In the words of the script."""
    with pytest.raises(DataError) as caught:
        inquire(answering(tmp_path, f"""echo '{answer}' > "$3" """), "catalogue", {})

    assert f'build "odd": {expected[0]}' == caught.value.message
    assert expected[1] == caught.value.remedy


# The catalogue in a build without a good torch


@pytest.mark.parametrize("question", ["locate", "schemas"])
def test_a_build_without_torch_names_the_remedy(tmp_path: Path, question: str) -> None:
    """Whichever question it is asked."""
    build = answering(tmp_path, f'exec {shlex.quote(sys.executable)} -S "$@"')
    with pytest.raises(DataError, match=r"has no torch\n  .* -m pip install torch"):
        inquire(build, "catalogue", {"question": question})


def test_a_torch_that_cannot_be_imported_says_why(tmp_path: Path) -> None:
    """Its own error is shown."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise OSError('libtorch.so: not found')")
    build = Build("broken", sys.executable, env={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(DataError, match=r"cannot import torch: OSError: libtorch\.so: not found"):
        inquire(build, "catalogue", {"question": "schemas"})


def test_torch_is_located_without_importing_it(tmp_path: Path) -> None:
    """So that what is kept is found at once."""
    package = tmp_path / "torch"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").write_text("raise OSError('imported')")
    (package / "version.py").write_text("__version__ = '1'\n")
    (package / "lib" / "libtorch_cpu.so").write_bytes(b"12345")
    build = Build("made", sys.executable, env={"PYTHONPATH": str(tmp_path)})
    found: dict[str, Any] = inquire(build, "catalogue", {"question": "locate"})

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
    request = {"question": "absent", "names": ["torch.a", "torch.b", "torch.c"]}

    assert {"names": ["torch.c"]} == inquire(build, "catalogue", request)
