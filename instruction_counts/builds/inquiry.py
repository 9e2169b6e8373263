"""Asking a build a question: a task of ours, run in the build's interpreter and environment.

stdout and stderr are not part of the answer, so that whatever torch or the user's code prints does
no harm.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from instruction_counts.builds.cuda.stand_ins import StandIns, Versions, stand_ins
from instruction_counts.builds.hermetic import c_compiler, environment, interpreter_of
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError
from instruction_counts.domain.outcomes import FailureKind, Machine
from instruction_counts.system.cache import Cache
from instruction_counts.system.folders import WorkFolder
from instruction_counts.system.shortages import shortage_in
from instruction_counts.system.worker_process import WorkerError, WorkerProcess
from instruction_counts.system.worker_tasks import COUNTED, FOLDER, task_named

DEFAULT_TIMEOUT_S = 300.0

_LACKS_CUDA = re.compile(
    r"\blib(cu|nv|nccl)\w*\.so\S*( not found in|: cannot open shared object file)"
)
"""What torch says that is built with CUDA, and lies there without its libraries."""


def scripts_text() -> str:
    """What answers questions, as text: with another one, answers may be others."""
    paths = sorted({*FOLDER.glob("*.py")} - {*COUNTED})
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def inquire(
    build: Build,
    task: str,
    request: Mapping[str, Any],
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    cwd: Path | None = None,
) -> dict[str, Any]:
    """What the task of the worker answers to ``request`` in ``build``, less its status.

    It runs in ``cwd``, or in an empty private folder.

    Raises:
        BuildError: the interpreter does not start, or ends or runs on without an answer.
        DataError: the task refuses.
    """
    answer = ask(build, task, request, timeout_s=timeout_s, cwd=cwd)
    if answer.pop("status") == "ok":
        return answer
    failure = answer["failure"]
    message = f'build "{build.name}": {failure["message"]}'
    if failure["kind"] == FailureKind.REFUSED.value:
        raise DataError(message, failure.get("hint", ""))
    raise BuildError(message, f"In the task {task} of the worker.")


def ask(
    build: Build,
    task: str,
    request: Mapping[str, Any],
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    cwd: Path | None = None,
) -> dict[str, Any]:
    """The whole answer: with its status, and the failure where there is one.

    Torch that is there without the libraries of CUDA that it needs gets stand-ins for them.

    Raises:
        BuildError: there is none, or stand-ins cannot be made.
    """
    answer = _answer(build, task, request, timeout_s, cwd)
    if answer["status"] == "ok" or not _LACKS_CUDA.search(answer["failure"]["message"]):
        return answer
    where = _answer(build, "cuda_libraries", {}, timeout_s, None)
    if where["status"] != "ok" or where["versions"] is None:
        return answer
    made = made_for(build, Path(where["folder"]), Versions(**where["versions"]), Cache())
    paths = [*map(str, made.paths)]
    return _answer(build, task, {**request, "stand_ins": paths}, timeout_s, cwd)


def made_for(build: Build, folder: Path, versions: Versions, cache: Cache) -> StandIns:
    """Stand-ins for what torch's libraries in ``folder`` need of CUDA's.

    Raises:
        BuildError: they cannot be made.
    """
    try:
        return stand_ins(folder, versions, c_compiler(environment(build)), cache)
    except BuildError as error:
        raise BuildError(f'build "{build.name}": {error.message}', error.remedy) from error


def _answer(
    build: Build, task: str, request: Mapping[str, Any], timeout_s: float, cwd: Path | None
) -> dict[str, Any]:
    interpreter, works = interpreter_of(build), False
    with WorkFolder() as folder:
        try:
            with WorkerProcess(interpreter, environment(build), cwd or folder) as worker:
                works = True
                return worker.ask({**request, **task_named(task).request}, timeout_s)
        except WorkerError as error:
            last = (error.failure.output.splitlines() or [""])[-1]
            if works:
                doing = "import torch" if task == "identify" else task
                message = f'build "{build.name}": {interpreter}, asked to {doing}: {error}'
                raise BuildError(message, last or "It printed nothing.") from error
            what = f"{interpreter} does not work: {error} {last}".rstrip()
            remedy = shortage_in(what)[1] or "Python 3.9 or later on Linux is required."
            raise BuildError(f'build "{build.name}": {what}', remedy) from error


def measure_machine(build: Build, core: int) -> Machine:
    """What ``core`` can do with the torch of ``build``. It takes seconds.

    Raises:
        BuildError, DataError: the build does not work, or has no torch.
    """
    return Machine(**inquire(build, "capability", {"core": core}))
