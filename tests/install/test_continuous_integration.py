"""What continuous integration makes of tests that fail, and of those that fail by chance."""

import os
import shutil
from pathlib import Path

import pytest

from tests.process import ROOT, called

# Tests fail as often as its file of failures has lines.
MAKEFILE = """
.RECIPEPREFIX = >
test-ci:
>@echo "$@ $(ARGS)" >> calls
>@test ! -s $@.failures || { \\
>    sed -i 1d $@.failures; mkdir -p .pytest_cache/v/cache; \\
>    echo '{"tests/a.py::b[c d]": true, "tests/a.py::e": true}' \\
>        > .pytest_cache/v/cache/lastfailed; exit 1; }
>@test ! -e $@.broken
"""
AGAIN = " --last-failed --last-failed-no-failures none -n 0"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the script alone, and targets that fail on request."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def run(checkout: Path) -> tuple[int, list[str], list[str]]:
    """The exit code, the calls of make, and the tests that are called unsteady."""
    command = ["env", "-i", f"PATH={os.defpath}", f"HOME={checkout}", "bash", ".ci/run"]
    done = called(command, checkout)
    calls = [line.strip() for line in (checkout / "calls").read_text().splitlines()]
    return done.returncode, calls, [line for line in done.stdout.splitlines() if "unsteady" in line]


@pytest.mark.parametrize(
    ("failures", "passes", "calls", "unsteady"),
    [
        ("", True, ["test-ci"], []),
        ("once\n", True, ["test-ci", "test-ci" + AGAIN], ["tests/a.py::b[c d]", "tests/a.py::e"]),
        ("once\ntwice\n", False, ["test-ci", "test-ci" + AGAIN], []),
    ],
)
def test_tests_that_fail_are_tried_again_alone(
    checkout: Path, failures: str, passes: bool, calls: list[str], unsteady: list[str]
) -> None:
    """Where they pass then, so does the run, which ends with their names."""
    (checkout / "test-ci.failures").write_text(failures)
    code, made, named = run(checkout)

    assert passes is (0 == code)
    assert calls == made
    assert [f"unsteady: {name}" for name in unsteady] == named


def test_what_fails_without_a_test_is_not_tried_again(checkout: Path) -> None:
    """The set-up or a check, say; tests that failed in an earlier run do not matter."""
    (checkout / "test-ci.failures").write_text("once\n")
    assert 0 == run(checkout)[0]
    (checkout / "test-ci.broken").touch()
    code, calls, unsteady = run(checkout)

    assert 0 != code
    assert "test-ci" == calls[-1]
    assert [] == unsteady
