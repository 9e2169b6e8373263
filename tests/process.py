"""The program as a process of its own, and what it is given."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs" / "examples"
MAIN = [sys.executable, str(ROOT / "main.py")]


def run(
    args: Sequence[str | Path], folder: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the program to its end, with these variables beside those of the environment."""
    return called([*MAIN, *map(str, args)], folder, variables)


@contextlib.contextmanager
def running(
    args: Sequence[str | Path], folder: Path, **variables: str
) -> Iterator[subprocess.Popen[str]]:
    """The program while it runs, in a session of its own, which is killed at the end."""
    with subprocess.Popen(
        [*MAIN, *map(str, args)],
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def in_shell(
    script: str, args: Sequence[str | Path], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script of bash in which ``{}`` is the program with its arguments."""
    command = shlex.join([*MAIN, *map(str, args)])
    return called(["bash", "-c", script.replace("{}", command)], folder)


def called(
    command: Sequence[str], folder: Path | None = None, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run any command to its end."""
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def in_ci(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script, as a runner of GitHub runs it; its database and its summary are in a folder."""
    given = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "INSTRUCTION_COUNTS_DB": str(folder / "runs.db"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    return called(["bash", "-e", "-o", "pipefail", "-c", script], folder, {**given, **variables})


def workflow_steps(name: str = "github-actions", job: str = "check") -> list[dict[str, Any]]:
    """The steps of an example workflow."""
    text = (EXAMPLES / f"{name}.yml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = yaml.safe_load(text)["jobs"][job]["steps"]
    return found


def executable(path: Path, script: str) -> str:
    """A script of the shell that can be executed; its path."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def write_definitions(folder: Path, setup: str = "pass", **statements: str) -> str:
    """A definition file with a case for each statement, after this setup; its path."""
    path = folder / "cases.py"
    cases = {label: textwrap.dedent(stmt) for label, stmt in statements.items()}
    path.write_text(
        "from core.api import TimerArgs\n"
        f"BENCHMARKS = {{label: TimerArgs(stmt, {setup!r}) for label, stmt in {cases!r}.items()}}\n"
    )
    return str(path)
