"""Builds that are made by a command of the user, one for each commit."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable

from instruction_counts.builds.configured import find_interpreter
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError

PLACEHOLDER = "{commit}"
"""What stands for the commit in a build command."""
VARIABLE = "COMMIT"
"""The environment variable that holds the commit while a build command runs."""


def check_build_command(command: str) -> None:
    """Refuse a build command that makes the same build of each commit.

    Raises:
        UsageError: it does not say the commit.
    """
    if PLACEHOLDER not in command and f"${VARIABLE}" not in command.replace("{", ""):
        raise UsageError(
            f"--build-cmd does not contain {PLACEHOLDER}",
            f'It stands for the commit, like "${VARIABLE}".',
        )


def made_build(
    command: str, commit: str, made: dict[str, str], notice: Callable[[str], None]
) -> Build:
    """The build that a build command makes of a commit; ``made`` holds where others are.

    The shell gets the commit in its environment, and never as text of the command: whatever it
    holds, it cannot end quotes of the command, or add to it.

    Raises:
        BuildError: the command fails, or no interpreter where it says.
        UsageError: it made two builds in one place.
    """
    notice(f"Making {commit}")
    script = command.replace(PLACEHOLDER, f'"${VARIABLE}"')
    done = subprocess.run(
        ["/bin/bash", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        errors="replace",
        env={**os.environ, VARIABLE: commit},
    )
    if done.returncode:
        raise BuildError(
            f"{commit}: the build command ends with {done.returncode}",
            f"Try it: export {VARIABLE}={shlex.quote(commit)}; {script}",
        )
    printed = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    if not printed:
        raise BuildError(
            f"{commit}: the build command prints nothing",
            "Its last line has to be an interpreter or a virtual environment.",
        )
    python = find_interpreter(commit, printed[-1])
    other = made.setdefault(python, commit)
    if other != commit:
        raise UsageError(
            f"the build command made {other} and {commit} in one place: {python}",
            "Make a virtual environment for each commit: both builds are needed at once.",
        )
    return Build(commit, python)
