"""Stand-ins for the CUDA libraries that a build needs: compiled once, kept in the cache.

They are loaded into measured processes before torch is: a library that is there satisfies whoever
needs one of its name, wherever another lies. The installation stays as it is.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import attrs

from instruction_counts.builds.compilers import first_line
from instruction_counts.builds.cuda.needs import Library, needed_libraries
from instruction_counts.builds.cuda.source import (
    Device,
    Versions,
    command,
    headers,
    identity,
    read_device,
    sources,
)
from instruction_counts.domain.errors import BuildError
from instruction_counts.system.cache import Cache, key_of

KIND = "stand-ins"
"""Of entries of the cache."""

GENERATION = "13"
"""Of CUDA: what is handed over as a structure is laid out as in this one."""

_TIMEOUT_S = 120.0


@attrs.frozen
class StandIns:
    """The compiled libraries of a build."""

    paths: tuple[Path, ...] = ()
    identity: str = ""
    """What a fingerprint has of them; counts with others are not comparable."""


NO_STAND_INS = StandIns()


def stand_ins(
    torch_libraries: Path,
    versions: Versions,
    compiler: str,
    cache: Cache,
    device: Device | None = None,
) -> StandIns:
    """Stand-ins for what torch's libraries in a folder need of CUDA's.

    Raises:
        BuildError: that is nothing, or of another generation than is known; or they cannot be made.
        DataError: the file of the device is gone.
    """
    libraries = needed_libraries(torch_libraries)
    _check(libraries, versions)
    device = read_device() if device is None else device
    shared = headers(device, versions)
    files = {library: sources(library) for library in libraries}
    if not compiler:
        raise BuildError("stand-ins for CUDA need a C compiler", "apt-get install gcc")
    commands = {library: command(compiler, library, files[library]) for library in libraries}
    key = key_of(first_line([compiler, "--version"]), repr(shared), repr(files), repr(commands))

    def build(folder: Path) -> None:
        _write(folder, shared)
        for library in libraries:
            _write(folder / library.stem, files[library])
            _run(commands[library], folder / library.stem)

    entry = cache.entry(KIND, key, build)
    paths = tuple(entry / library.soname for library in libraries)
    return StandIns(paths, identity(device))


def _check(libraries: tuple[Library, ...], versions: Versions) -> None:
    if not libraries:
        raise BuildError("this torch needs no library of CUDA", "Install a CUDA build of torch.")
    generation = versions.cuda.partition(".")[0]
    if generation != GENERATION:
        raise BuildError(
            f"this torch is built with CUDA {versions.cuda}; stand-ins are for CUDA {GENERATION}",
            f"Install a torch that is built with CUDA {GENERATION}, such as 2.15.0.",
        )


def _write(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _run(arguments: list[str], folder: Path) -> None:
    try:
        subprocess.run(
            arguments,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=True,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stdout", "") or str(error)).strip().splitlines()
        why = next((line for line in said if "error" in line), said[-1])
        raise BuildError(
            f"the stand-in for {folder.name} cannot be compiled: {why}",
            "Repair the C compiler, or name another one with CC.",
        ) from error
