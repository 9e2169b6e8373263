"""Asking a build a question: a script of ours, run in the build's interpreter and environment.

A script is a module in ``worker/`` that runs on Python 3.9 and later. ``worker/answer.py`` starts
it with the path of a JSON file that holds the request and the path where it leaves its answer:
``{"status": "ok", ...}``, or ``{"status": "failed", "message": ..., "hint": ...}`` where it
refuses. stdout and stderr are not part of it, so that whatever torch or the user's code prints
does no harm.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from instruction_counts.builds.hermetic import environment, interpreter_of, start_remedy
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError
from instruction_counts.system.work_folders import WorkFolder
from instruction_counts.system.worker_process import WORKER, ending

DEFAULT_TIMEOUT_S = 300.0
_TAIL_BYTES = 64 * 1024


def scripts_text() -> str:
    """What answers questions, as text: with another one, answers may be others."""
    paths = sorted(set(WORKER.parent.glob("*.py")) - {WORKER})
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def inquire(
    build: Build,
    script: str,
    request: Mapping[str, Any],
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    cwd: Path | None = None,
) -> dict[str, Any]:
    """What ``worker/<script>.py`` answers to ``request`` in ``build``, less its status.

    The key ``question`` names a function of the script, which runs in ``cwd``, or in an empty
    private folder.

    Raises:
        BuildError: the interpreter does not start, or ends or runs on without an answer.
        DataError: the script refuses, or answers something else than was agreed.
    """
    with WorkFolder() as folder:
        (folder / "empty").mkdir(mode=0o700)
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        _run(build, script, folder, timeout_s, cwd or folder / "empty")
        return _answer(build, script, folder / "answer.json")


def _run(build: Build, script: str, folder: Path, timeout_s: float, cwd: Path) -> None:
    interpreter = interpreter_of(build)
    answerer = WORKER.with_name("answer.py")
    with (folder / "errors").open("wb") as errors:
        try:
            process = subprocess.Popen(
                [interpreter, answerer, folder / "request.json", folder / "answer.json", script],
                env=environment(build),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise BuildError(
                f'build "{build.name}": {interpreter} does not start: {error.strerror}',
                start_remedy(str(error)),
            ) from error
    try:
        returncode = process.wait(timeout_s)
    except subprocess.TimeoutExpired as error:
        raise BuildError(
            f'build "{build.name}": {script} did not answer within {timeout_s:g} s',
            _last_line(folder / "errors"),
        ) from error
    finally:
        # Whatever the script started ends with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if returncode != 0 or not (folder / "answer.json").exists():
        raise BuildError(
            f'build "{build.name}": {script} did not answer: {ending(returncode, "").message}',
            _last_line(folder / "errors"),
        )


def _last_line(errors: Path) -> str:
    with errors.open("rb") as stream:
        stream.seek(max(0, errors.stat().st_size - _TAIL_BYTES))
        lines = stream.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "It printed nothing."


def _answer(build: Build, script: str, path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8", errors="replace")
    with contextlib.suppress(ValueError):
        answer = json.loads(text)
        match answer:
            case {"status": "ok"}:
                return {name: value for name, value in answer.items() if name != "status"}
            case {"status": "failed", "message": message}:
                raise DataError(f'build "{build.name}": {message}', str(answer.get("hint") or ""))
    raise DataError(
        f'build "{build.name}": {script} answered {text[:80]!r}',
        'Expected a JSON object with the status "ok" or "failed".',
    )
