"""What torch's libraries need of CUDA's: which libraries, and which functions of each."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs

from instruction_counts.domain.errors import BuildError

_CUDA = re.compile(r"lib(cu|nv|nccl)\w*\.so[.\d]*")
"""The names of CUDA's libraries."""

_UNVERSIONED = {
    "nccl": "libnccl.so",
    "nvshmem": "libnvshmem_host.so",
    "cuFile": "libcufile.so",
    "cusparseLt": "libcusparseLt.so",
}
"""Where functions are whose symbols have no version, by how their names begin; others, beginning
with ``cu`` and a capital letter, are in the driver."""

DRIVER, MANAGEMENT = "libcuda.so.1", "libnvidia-ml.so.1"
_LOOKED_UP = {
    DRIVER: re.compile(rb"\0(cu(?!BLAS)[A-Z][a-z]\w{2,60})(?=\0)", re.ASCII),
    MANAGEMENT: re.compile(rb"\0(nvml[A-Z]\w{2,60})(?=\0)", re.ASCII),
}
"""Libraries that torch opens while it runs, and names of functions that it looks up there."""

_LOOKING_UP = "libc10_cuda.so"
_TIMEOUT_S = 60.0


@attrs.frozen
class Library:
    """A library that torch's need."""

    soname: str
    functions: tuple[str, ...]
    """Sorted."""
    version: str = ""
    """That of its symbols; empty where they have none."""

    @property
    def stem(self) -> str:
        """Its name without versions: ``libcudart``."""
        return self.soname.partition(".so")[0]


def needed_libraries(folder: Path) -> tuple[Library, ...]:
    """CUDA's libraries that those of torch in ``folder`` need, sorted; none of a CPU build.

    Raises:
        BuildError: ``nm`` or ``readelf`` is missing, or fails.
    """
    paths = sorted(folder.glob("lib*.so"))
    if not paths:
        return ()
    sonames = {
        name[0]
        for line in _printed(paths, "readelf", "--dynamic", "--wide")
        if "(NEEDED)" in line and (name := _CUDA.search(line))
    }
    functions: dict[str, set[str]] = {soname: set() for soname in sorted(sonames)}
    versions: dict[str, str] = {}
    for symbol, version in _undefined(paths):
        soname = _library_of(symbol, version, sonames)
        if soname:
            functions[soname].add(symbol)
            versions[soname] = version or versions.get(soname, "")
    if not functions:
        return ()
    for soname, names in _looked_up(folder / _LOOKING_UP).items():
        functions.setdefault(soname, set()).update(names)
    return tuple(
        Library(soname, tuple(sorted(functions[soname])), versions.get(soname, ""))
        for soname in sorted(functions)
    )


def _library_of(symbol: str, version: str, sonames: Iterable[str]) -> str:
    """Which of ``sonames`` has a symbol; empty where none of CUDA's does."""
    if version in sonames:
        return version
    prefixes = (name for start, name in _UNVERSIONED.items() if symbol.startswith(start))
    is_of_driver = not version and re.match(r"cu[A-Z]", symbol)
    stem = next(prefixes, "libcuda.so" if is_of_driver else "")
    return next((name for name in sonames if stem and name.startswith(f"{stem}.")), "")


def _undefined(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Each symbol that is not defined in a library itself, and its version."""
    for line in _printed(paths, "nm", "--dynamic", "--undefined-only"):
        kind, _, name = line.strip().partition(" ")
        if kind in {"U", "w"}:
            symbol, _, version = name.partition("@")
            yield symbol, version


def _looked_up(path: Path) -> Mapping[str, set[str]]:
    if not path.is_file():
        return {}
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return {
            soname: {name.decode() for name in pattern.findall(data)}
            for soname, pattern in _LOOKED_UP.items()
        }


def _printed(files: list[Path], program: str, *options: str) -> Iterator[str]:
    """The lines that a program of the binutils prints about files."""
    path = shutil.which(program)
    if path is None:
        raise BuildError(
            f"{program} is not installed: it tells what torch needs from CUDA",
            "apt-get install binutils",
        )
    try:
        done = subprocess.run(
            [path, *options, *files],
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise BuildError(f"{program} cannot read torch's libraries: {said[-1]}") from error
    yield from done.stdout.splitlines()
