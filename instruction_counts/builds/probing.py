"""Asking a build what it is made of."""

import hashlib
import platform
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import attrs

from instruction_counts import __version__
from instruction_counts.builds.compilers import CppCompiler, find_compiler, first_line
from instruction_counts.builds.cuda.stand_ins import Versions
from instruction_counts.builds.files import Files, changed, files_of
from instruction_counts.builds.hermetic import (
    PROFILE_VERSION,
    environment,
    interpreter_of,
    without_aslr,
)
from instruction_counts.builds.inquiry import ask
from instruction_counts.builds.links import Links, Places, links_of
from instruction_counts.builds.lock_files import REMEDY, make_environment
from instruction_counts.core.runtimes import needed_names
from instruction_counts.domain.build import Build, Fingerprint
from instruction_counts.domain.errors import BuildError
from instruction_counts.domain.outcomes import FailureKind
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.system.worker_tasks import counting_digest

_PROBE_TIMEOUT_S = 120.0
_LEAST_TIMEOUT_S = 20.0
"""Importing torch takes some seconds, and more beside other work."""


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
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    match = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return match[1] if match else platform.processor()
