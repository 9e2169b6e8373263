"""Asking a build what it is made of."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from instruction_counts.builds import probing
from instruction_counts.builds.missing import missing
from instruction_counts.builds.probing import find_compiler, find_valgrind, first_line, probe
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import BuildError


def stub(folder: Path, text: str, name: str = "python") -> Path:
    """An executable script."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


# Interpreters that cannot be measured


def test_an_interpreter_without_torch_names_the_remedy(tmp_path: Path) -> None:
    """It starts and answers, but has nothing to measure."""
    python = stub(tmp_path, f'exec {shlex.quote(sys.executable)} -S "$@"')
    with pytest.raises(BuildError) as caught:
        probe(Build("bare", str(python)))

    assert 'build "bare": ' in caught.value.message
    assert caught.value.message.endswith(" has no torch")
    assert "-m pip install torch     or name another build" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo I am no Python; exit 3", "the process ended with exit code 3 I am no Python"),
        ("kill -SEGV $$", "the process was killed by SIGSEGV"),
        ("exec true", "the process ended with exit code 0"),
    ],
)
def test_an_interpreter_that_does_not_work_says_how_it_ended(
    tmp_path: Path, text: str, expected: str
) -> None:
    """With the last that it printed, and what is needed."""
    python = stub(tmp_path, text)
    with pytest.raises(BuildError) as caught:
        probe(Build("odd", str(python)))

    assert f'build "odd": {python} does not work: {expected}' == caught.value.message
    assert "Python 3.9" in caught.value.remedy


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise OSError('libtorch: gone')", "cannot import torch: OSError: libtorch: gone"),
        ("import os; os.abort()", "asked to import torch: the process was killed by SIGABRT"),
        ("import time; time.sleep(60)", "asked to import torch: no answer within 0.5 s"),
    ],
)
def test_a_torch_that_cannot_be_imported_is_at_fault_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, expected: str
) -> None:
    """To install torch, or another Python, would not help."""
    monkeypatch.setattr(probing, "_LEAST_TIMEOUT_S", 0.5)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(code)
    build = Build("broken", sys.executable, env={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(BuildError) as caught:
        probe(build, 0.1 if "sleep" in code else 60)

    assert expected in caught.value.message
    assert "pip install" not in caught.value.remedy
    assert "Python 3.9" not in caught.value.remedy


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (
            "No module named 'setuptools.command'",
            "{python} -m pip install setuptools     or apt-get install python3-setuptools",
        ),
        ("no headers", "Install a complete PyTorch, or name another interpreter with --build."),
    ],
)
def test_a_torch_that_cannot_describe_itself_names_the_remedy(
    tmp_path: Path, error: str, remedy: str
) -> None:
    """Debian's needs setuptools to say where its headers are, and does not depend on it."""
    (tmp_path / "torch" / "utils").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "utils" / "__init__.py").touch()
    (tmp_path / "torch" / "utils" / "cpp_extension.py").write_text(f"raise ImportError({error!r})")
    with pytest.raises(BuildError) as caught:
        probe(Build("half", sys.executable, env={"PYTHONPATH": str(tmp_path)}))

    assert (
        f'build "half": {sys.executable} cannot describe its torch: ImportError: {error}'
        == caught.value.message
    )
    assert remedy.format(python=sys.executable) == caught.value.remedy


# Tools


def test_the_compiler_is_the_one_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for torch's own extensions; a build names its own in its variables."""
    theirs, mine = (str(stub(tmp_path, "", name)) for name in ("my-c++", "our-c++"))
    monkeypatch.setenv("CXX", theirs)
    build = Build("b", sys.executable, env={"CXX": "our-c++", "PATH": str(tmp_path)})

    assert theirs == find_compiler(Build("b", sys.executable))
    assert mine == find_compiler(build)


@pytest.mark.parametrize("find", [find_compiler, find_valgrind])
def test_a_tool_is_looked_for_where_measured_processes_look(tmp_path: Path, find: Any) -> None:
    """One that they cannot start is not there."""
    assert "" == find(Build("b", sys.executable, env={"PATH": str(tmp_path)}))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["echo", "tool 1.2"], "tool 1.2"),
        (["printf", "a\\nb\\n"], "a"),
        (["true"], ""),
        (["/nowhere/tool"], ""),
    ],
)
def test_a_tool_is_known_by_its_first_line(command: list[str], expected: str) -> None:
    """Empty where it says nothing or is absent."""
    assert expected == first_line(command)


# The real thing


@pytest.mark.slow
def test_the_current_interpreter_can_be_measured() -> None:
    """It has torch, and the machine Valgrind and a compiler."""
    facts = probe(default_build())

    assert facts.can_count is True
    assert facts.has_cpp_headers is True
    assert [] == list(missing(facts))
