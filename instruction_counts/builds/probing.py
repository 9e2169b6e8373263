"""Asking a build a question, and what it is made of: a task of ours in its interpreter.

It runs in the environment of the build. stdout and stderr are not part of the answer, so that
whatever torch or the user's code prints does no harm.
"""

import hashlib
import platform
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from instruction_counts import __version__
from instruction_counts.builds.compilers import CppCompiler, find_compiler, first_line
from instruction_counts.builds.cuda.stand_ins import StandIns, Versions, stand_ins
from instruction_counts.builds.files import Files, changed, files_of
from instruction_counts.builds.hermetic import (
    PROFILE_VERSION,
    c_compiler,
    environment,
    interpreter_of,
    without_aslr,
)
from instruction_counts.builds.links import Links, Places, links_of
from instruction_counts.builds.lock_files import REMEDY, make_environment
from instruction_counts.core.runtimes import needed_names
from instruction_counts.domain.build import Build, Fingerprint
from instruction_counts.domain.errors import BuildError, DataError
from instruction_counts.domain.outcomes import FailureKind, Machine
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.system.cache import Cache
from instruction_counts.system.files import text_of
from instruction_counts.system.folders import WorkFolder
from instruction_counts.system.shortages import shortage_in
from instruction_counts.system.worker_process import WorkerError, WorkerProcess
from instruction_counts.system.worker_tasks import COUNTED, FOLDER, counting_digest, task_named

_TIMEOUT_S = 300.0
_PROBE_TIMEOUT_S = 120.0
_LEAST_TIMEOUT_S = 20.0
"""Importing torch takes some seconds, and more beside other work."""

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
    timeout_s: float = _TIMEOUT_S,
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
    timeout_s: float = _TIMEOUT_S,
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


# What a build is


@attrs.frozen
class BuildFacts:
    """A build as it was found: its fingerprint, and where its parts lie."""

    build: Build
    interpreter: str
    fingerprint: Fingerprint
    compiler: CppCompiler
    torch_root: str
    include_paths: tuple[str, ...] = attrs.field(converter=tuple)
    library_paths: tuple[str, ...] = attrs.field(converter=tuple)
    has_cpp_headers: bool
    valgrind_headers: str
    places: Places | None = None
    """Where its interpreter says that things lie; None where nobody asked."""
    files: Files = attrs.field(factory=dict, eq=False, repr=False)
    """As they were when the build was asked; empty where nobody looked."""
    cuda: Versions | None = None
    """What of CUDA its torch is built with; None of a CPU build."""
    lacks_cuda_libraries: bool = False
    """Whether its torch cannot be imported without stand-ins for these."""

    has: Mapping[str, bool] = attrs.field(factory=dict)
    """Whether its torch has the names that runtimes need, as far as it was asked."""

    def links(self, padding: int = 0) -> Links | None:
        """The links that it can be started through, with names that are longer by ``padding``."""
        if self.places is None:
            return None
        return links_of(self.build, self.interpreter, self.places, padding)

    def files_now(self) -> Files:
        """The files of the build as they are by now."""
        searched = filter(None, self.places or ())
        return files_of(self.interpreter, self.torch_root, self.library_paths, searched)

    def changed_files(self) -> ChangedFiles | None:
        """What has changed of the build since it was asked; None where nothing has."""
        if not self.files:
            return None
        paths = changed(self.files, self.files_now())
        return ChangedFiles.of(paths) if paths else None

    @property
    def package_folder(self) -> str:
        """Where torch is installed, with its packages."""
        return str(Path(self.torch_root).parent.resolve())

    @property
    def can_count(self) -> bool:
        """Whether instructions can be counted."""
        return bool(self.fingerprint.valgrind)


def probe(build: Build, timeout_s: float = _PROBE_TIMEOUT_S) -> BuildFacts:
    """Ask the build's interpreter, Valgrind and the compiler who they are.

    Raises:
        BuildError: the interpreter does not start, has no torch, or one that is not complete; or
            no environment can be made of the build's lock file.
    """
    make_environment(build)
    interpreter = interpreter_of(build)
    answer = ask(
        build, "identify", {"names": needed_names()}, timeout_s=max(timeout_s, _LEAST_TIMEOUT_S)
    )
    if answer["status"] != "ok":
        raise _undescribed(build, interpreter, answer["failure"])
    compiler = find_compiler(build)
    fingerprint = Fingerprint(
        **answer["fingerprint"],
        cpu=_cpu_model(),
        valgrind=valgrind_version(build),
        compiler=compiler.version,
        aslr_off=bool(without_aslr()),
        profile_version=PROFILE_VERSION,
        tool_version=__version__,
        counted_by=counting_digest(),
        environment=", ".join(_shown(*each) for each in sorted(build.env.items())),
    )
    parts = answer["parts"]
    cuda = parts.pop("cuda")
    facts = BuildFacts(
        build=build,
        interpreter=interpreter,
        fingerprint=fingerprint,
        compiler=compiler,
        **parts,
        cuda=None if cuda is None else Versions(**cuda),
        places=tuple(answer["places"]),
    )
    return attrs.evolve(facts, files=facts.files_now())


def _shown(name: str, value: str) -> str:
    """A variable with a digest in place of its value, which can be secret."""
    return f"{name} ({hashlib.sha256(value.encode()).hexdigest()[:8]})"


def valgrind_version(build: Build) -> str:
    """What the Valgrind of measured processes of ``build`` calls itself; empty where none starts.

    It is asked as they start it: VALGRIND_LIB or VALGRIND_OPTS of the caller do not reach them.
    """
    variables = environment(build)
    valgrind = shutil.which("valgrind", path=variables["PATH"])
    return first_line([valgrind, "--version"], variables) if valgrind else ""


def _undescribed(build: Build, interpreter: str, failure: Mapping[str, str]) -> BuildError:
    reason = failure["message"]
    if build.lock and ("No module named" in reason or "has no torch" in reason):
        return BuildError(f'build "{build.name}": {reason}', REMEDY)
    if failure["kind"] == FailureKind.REFUSED.value:
        return BuildError(f'build "{build.name}": {reason}', failure.get("hint", ""))
    # Torch says where its headers are only with setuptools, which not each depends on.
    remedy = (
        f"{interpreter} -m pip install setuptools\n"
        f"  (uv pip install --python {interpreter} setuptools; apt-get install python3-setuptools)"
        if "setuptools" in reason
        else "Install a complete PyTorch, or name another interpreter with --build."
    )
    return BuildError(
        f'build "{build.name}": {interpreter} cannot describe its torch: {reason}', remedy
    )


def _cpu_model() -> str:
    known = text_of(Path("/proc/cpuinfo"))
    match = re.search(r"^model name\s*:\s*(.*)$", known, re.MULTILINE)
    return match[1] if match else platform.processor()
