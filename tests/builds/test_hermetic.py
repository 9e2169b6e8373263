"""The hermetic profile: what a measured process finds in its environment."""

import shutil
import sys
from pathlib import Path

import pytest

from instruction_counts.builds.hermetic import (
    INHERITED,
    environment,
    interpreter_of,
    on_one_core,
    sourced_environment,
)
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError
from tests.process import called

BUILD = Build("default", "/opt/python/bin/python")


def sourcing(command: str) -> Build:
    """A build that a command sets up."""
    return Build("sourced", None, command)


def test_only_the_listed_variables_are_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else is set outside has no effect, not even by its length.

    The interpreter's folder comes first on the path: torch starts the plain command ``python``.
    """
    for name in INHERITED:
        monkeypatch.delenv(name, raising=False)
    before = environment(BUILD)
    for name in (*INHERITED, "PYTHONPATH", "LD_PRELOAD", "OMP_NUM_THREADS", "HOME", "PATH", "ANY"):
        monkeypatch.setenv(name, "from outside")
    after = environment(BUILD)

    assert dict.fromkeys(INHERITED, "from outside") == dict(after.items() - before.items())
    assert before.keys() <= after.keys()
    assert after["PATH"].startswith("/opt/python/bin:")


@pytest.mark.parametrize(
    ("of_build", "of_engine", "name", "value"),
    [
        # Sets and dictionaries would differ from process to process.
        ({}, {}, "PYTHONHASHSEED", "0"),
        ({}, {"LANG": "engine"}, "LANG", "engine"),
        # A build wins over the profile and the engine: its user knows why.
        ({"PYTHONHASHSEED": "7"}, {}, "PYTHONHASHSEED", "7"),
        ({"EXTRA": "build"}, {"EXTRA": "engine"}, "EXTRA", "build"),
        # What is needed for counting is preloaded first; neither takes the place of the other.
        (
            *({"LD_PRELOAD": "/opt/theirs.so"}, {"LD_PRELOAD": "./steady.so"}),
            *("LD_PRELOAD", "./steady.so:/opt/theirs.so"),
        ),
    ],
)
def test_builds_and_engines_add_variables(
    of_build: dict[str, str], of_engine: dict[str, str], name: str, value: str
) -> None:
    """They are part of what is measured."""
    assert value == environment(Build("b", "/p", env=of_build), of_engine)[name]


def test_a_source_command_leaves_the_variables_that_it_exports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever they hold; not what it prints, what was set outside, or the shell's bookkeeping.

    It may be what would be typed, in several lines, but there is nobody to answer what it asks.
    """
    monkeypatch.setenv("FROM_OUTSIDE", "1")
    command = """# the environment
echo F=1; printf 'F=1\\0'; cd /
if true; then
  export A='1 2' B=$'x\\ny' C= D=é; E=not
fi  # done
read -r G || export G=unanswered
"""
    variables = sourced_environment(sourcing(command))

    assert {"A": "1 2", "B": "x\ny", "C": "", "D": "é", "G": "unanswered"} == {
        name: value for name, value in variables.items() if name != "PATH"
    }


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("source /nowhere/env", "failed with exit code 1: .*/nowhere/env: No such file"),
        ("echo why >&2; false", "failed with exit code 1: why"),
        ("if", "failed with exit code 2: .*syntax error"),
        ("source /dev/stdin <<< 'return 4'", "failed with exit code 4: no message"),
    ],
)
def test_a_source_command_that_fails_says_why(command: str, expected: str) -> None:
    """Its last line of output, and the command to try."""
    with pytest.raises(BuildError, match=f'build "sourced": source_cmd {expected}') as caught:
        sourced_environment(sourcing(command))

    assert f"Try it in a shell: {command}" == caught.value.remedy


def test_the_interpreter_is_the_one_that_the_command_puts_first(tmp_path: Path) -> None:
    """Its link, not what it points to; a named one wins, and none is an error."""
    with pytest.raises(BuildError, match=f"no python on PATH after: PATH={tmp_path}"):
        interpreter_of(sourcing(f"PATH={tmp_path}"))
    (tmp_path / "python").symlink_to(sys.executable)

    assert str(tmp_path / "python") == interpreter_of(sourcing(f'PATH="{tmp_path}:$PATH"'))
    assert "/p" == interpreter_of(Build("b", "/p", "true"))


@pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset is not installed")
def test_what_is_imported_before_the_worker_starts_no_thread_for_each_core() -> None:
    """Where site imports torch, numpy would: each lock then costs more in all of its cases."""
    code = (
        "import numpy, os; print(len(os.sched_getaffinity(0)), len(os.listdir('/proc/self/task')))"
    )
    command = [*on_one_core(), sys.executable, "-c", code]

    assert "1 1" == called(command).stdout.strip()
