"""Builds that a command of the user makes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.session.made_builds import made_build


def test_a_build_command_makes_the_build_of_a_commit(tmp_path: Path) -> None:
    """What it prints last is where the build is; the commit is one word to the shell."""
    (tmp_path / "a b").touch()
    command = f"echo log; echo {tmp_path}/{{commit}}"

    assert str(tmp_path / "a b") == made_build(command, "a b", {}, print).python


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("exit 3 # {commit}", "c1: the build command ends with 3"),
        ("true {commit}", "c1: the build command prints nothing"),
        ("echo /nowhere/{commit}", 'build "c1": no interpreter at /nowhere/c1'),
    ],
)
def test_a_commit_that_cannot_be_built_is_broken(command: str, message: str) -> None:
    """The search goes on without it."""
    with pytest.raises(BuildError) as caught:
        made_build(command, "c1", {}, print)

    assert message == caught.value.message


@pytest.mark.parametrize("template", ["echo {commit}", "echo '{commit}'", 'echo "{commit}"'])
@pytest.mark.parametrize("quote", ["'", '"', "", "$(", "`"])
def test_a_commit_cannot_end_the_quotes_of_a_command(
    template: str, quote: str, tmp_path: Path
) -> None:
    """Nor run anything: it is in the environment, and no text of the command."""
    mark = tmp_path / "mark"
    with pytest.raises(BuildError, match="no interpreter"):
        made_build(template, f"{quote};touch {mark};{quote}", {}, print)

    assert not mark.exists()


def test_a_command_in_a_command_gets_the_commit() -> None:
    """It inherits the variable."""
    with pytest.raises(BuildError, match="no interpreter at /nowhere/c1"):
        made_build("""bash -c 'echo "/nowhere/$COMMIT"'""", "c1", {}, print)


def test_a_build_command_that_reuses_one_place_is_refused() -> None:
    """Two builds are measured side by side, so that each needs a place of its own."""
    made: dict[str, str] = {}
    made_build(f"echo {sys.executable}", "c1", made, print)
    with pytest.raises(UsageError, match="made c1 and c2 in one place"):
        made_build(f"echo {sys.executable}", "c2", made, print)
