"""The hermetic profile: the same environment for every measured process, whoever starts it.

Environment variables lie on the stack of a process and shift everything after them; hash seeds and
address randomisation move objects. Each moves instruction counts by up to some percent. So nothing
is inherited but what is listed here; ``docs/explanation/hermetic.md`` gives the reason for each.
"""

import itertools
import os
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from instruction_counts.builds.lock_files import environment_of
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError
from instruction_counts.system.commands import called

PROFILE_VERSION = 2
"""To be raised with any change of what a measured process is started with."""

INHERITED = ("LD_LIBRARY_PATH", "CC", "CXX")
"""Variables that are passed on where they are set: without them some builds cannot start."""

_PATH = "/usr/local/bin:/usr/bin:/bin"
_FIXED = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONSAFEPATH": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONUSERBASE": "/",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "GOMP_SPINCOUNT": "0",
}

_turn = itertools.count()
"""Processes that begin side by side do so on different cores."""

STEADY_GLIBC = {"GLIBC_TUNABLES": "glibc.malloc.mxfast=0:glibc.malloc.arena_max=1"}
"""What makes the system's allocator repeatable, where it is the one that is counted."""


def interpreter_of(build: Build) -> str:
    """The path of the build's interpreter; that of a lock file is there once it was made."""
    if build.python is not None:
        return build.python
    if build.lock:
        return str(environment_of(build.lock) / "bin" / "python")
    path = sourced_environment(build).get("PATH", os.defpath)
    for name in ("python", "python3"):
        found = shutil.which(name, path=path)
        if found:
            return found
    raise BuildError(
        f'build "{build.name}": no python on PATH after: {build.source_cmd}',
        "Add `python: PATH` to the build.",
    )


def environment(build: Build, extra: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The whole environment of a measured process of ``build``.

    The interpreter's folder comes first on PATH, because torch starts the plain command ``python``.
    What the build preloads is preloaded after what ``extra`` does.
    """
    folder = str(Path(interpreter_of(build)).parent)
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    sourced = sourced_environment(build)
    path = {"PATH": f"{folder}:{sourced.get('PATH', _PATH)}"}
    variables = {**inherited, **sourced, **path, **_FIXED, **extra, **build.env}
    preloaded = [added["LD_PRELOAD"] for added in (extra, build.env) if "LD_PRELOAD" in added]
    return {**variables, "LD_PRELOAD": ":".join(preloaded)} if preloaded else variables


def c_compiler(variables: Mapping[str, str]) -> str:
    """The C compiler: CC, else any."""
    path = variables.get("PATH", os.defpath)
    names = filter(None, (variables.get("CC"), "gcc", "cc", "clang"))
    return next(filter(None, (shutil.which(name, path=path) for name in names)), "")


@cache
def without_aslr() -> tuple[str, ...]:
    """The command prefix that turns address randomisation off; empty where that is refused."""
    path = os.pathsep.join(filter(None, (os.environ.get("PATH"), _PATH)))
    setarch = shutil.which("setarch", path=path)
    if setarch is None:
        return ()
    tried = called([setarch, "-R", "true"], env={"PATH": path})
    return (setarch, "-R") if tried.returncode == 0 else ()


def on_one_core() -> tuple[str, ...]:
    """The command prefix that begins on a single core; empty where there is no ``taskset``.

    What starts a thread for each core that it sees, as numpy does when it is imported, starts none
    then. In a process that ever had a second thread, the C library locks in another way, and each
    lock costs more: a build whose ``site`` imports torch would count more in all of its cases.
    """
    taskset = shutil.which("taskset")
    if taskset is None:
        return ()
    cores = sorted(os.sched_getaffinity(0))
    return taskset, "-c", str(cores[next(_turn) % len(cores)])


def sourced_environment(build: Build) -> dict[str, str]:
    """The variables that ``source_cmd`` leaves, run in a bash with an almost empty environment.

    Raises:
        BuildError: the command fails.
    """
    if build.source_cmd is None:
        return {}
    base = {"PATH": _PATH, "HOME": os.environ.get("HOME", "/")}
    script = 'eval "$1" >&2 && /usr/bin/env -0'
    command = ["/bin/bash", "-c", script, "source_cmd", build.source_cmd]
    done = called(command, env=base, errors="surrogateescape")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BuildError(
            f'build "{build.name}": source_cmd failed with exit code {done.returncode}: {last}',
            f"Try it in a shell: {build.source_cmd}",
        )
    pairs = (entry.partition("=") for entry in done.stdout.split("\0") if entry)
    left_out = {"HOME", "PWD", "OLDPWD", "SHLVL", "_"}
    return {name: value for name, _, value in pairs if name not in left_out}
