"""Stand-ins for the CUDA libraries that a build needs: compiled once, kept in the cache.

They are loaded into measured processes before torch is: a library that is there satisfies whoever
needs one of its name, wherever another lies. The installation stays as it is. A function that
nobody wrote by hand gives up; each library can also tell what it is asked for (`stand_in_listen`).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import attrs

from instruction_counts.builds.compilers import first_line
from instruction_counts.builds.cuda.needs import Library, needed_libraries
from instruction_counts.domain.errors import BuildError
from instruction_counts.system.cache import Cache, key_of
from instruction_counts.system.worker_process import NO_STAND_IN

KIND = "stand-ins"
"""Of entries of the cache."""

GENERATION = "13"
"""Of CUDA: what is handed over as a structure is laid out as in this one."""

_TIMEOUT_S = 120.0

NATIVE = Path(__file__).with_name("native")

_OTHERS = Path(__file__).with_name("others.c")
"""What gives up."""


DEVICE = Path(__file__).with_name("h100.h")
"""What torch asks of a device, and decides by."""


@attrs.frozen
class Versions:
    """What the libraries say that they are."""

    cuda: str
    """``13.2``."""
    cudnn: str = ""
    """``9.26.0``; where it is not known, one that suits each torch of its generation."""

    def header(self) -> str:
        """The same for C."""
        major, minor = _numbers(self.cuda, 2)
        cudnn = _numbers(self.cudnn or "9.99.0", 3)
        return (
            f"#define CUDA_VERSION {1000 * major + 10 * minor}\n"
            f"#define CUDNN_VERSION {10000 * cudnn[0] + 100 * cudnn[1] + cudnn[2]}\n"
        )


def identity(device: str) -> str:
    """What a fingerprint has of stand-ins: the device, and a digest of all that is written by hand.

    It is the same for each torch, which needs more or fewer functions than another.
    """
    paths = sorted(NATIVE.rglob("*.[ch]"))
    written = [f"{path.relative_to(NATIVE)}\0{path.read_text('utf-8')}" for path in paths]
    name = re.search(r'DEVICE_NAME "(.*)"', device)
    assert name is not None, "each device has a name"
    return f"{name[1]} ({key_of(device, *written)[:12]})"


def sources(library: Library) -> dict[str, str]:
    """The C files of a stand-in, by name, with the script that gives its symbols their version."""
    folder = NATIVE / library.stem
    written = {
        path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.[ch]"))
    }
    functions = "".join(f"GIVES_UP({name})\n" for name in library.functions)
    gives_up = _OTHERS.read_text(encoding="utf-8").replace("NO_STAND_IN", str(NO_STAND_IN))
    files = {**written, "others.c": f"{gives_up}\n{functions}"}
    if library.version:
        files["versions.map"] = f"{library.version} {{ global: *; }};\n"
    return files


def headers(device: str, versions: Versions) -> dict[str, str]:
    """What the files of all stand-ins include."""
    shared = {path.name: path.read_text(encoding="utf-8") for path in sorted(NATIVE.glob("*.h"))}
    return {**shared, "device.h": device + versions.header()}


def command(compiler: str, library: Library, files: Mapping[str, str]) -> list[str]:
    """What compiles a stand-in in the folder of its files, which has the headers beside it."""
    versions = ["-Wl,--version-script=versions.map"] if "versions.map" in files else []
    return [
        *(compiler, "-std=gnu11", "-O2", "-fPIC", "-pthread", "-shared"),
        *("-I..", f"-Wl,-soname,{library.soname}", "-Wl,-z,nodelete", "-Wl,-z,defs", *versions),
        *("-o", f"../{library.soname}"),
        *(name for name in files if name.endswith(".c")),
        "-ldl",
    ]


def _numbers(version: str, count: int) -> tuple[int, ...]:
    found = [int(part) for part in version.split(".")[:count] if part.isdigit()]
    return tuple((found + [0] * count)[:count])


# As they are made for a build


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
) -> StandIns:
    """Stand-ins for what torch's libraries in a folder need of CUDA's.

    Raises:
        BuildError: that is nothing, or of another generation than is known; or they cannot be made.
    """
    libraries = needed_libraries(torch_libraries)
    if not libraries:
        raise BuildError("this torch needs no library of CUDA", "Install a CUDA build of torch.")
    if versions.cuda.partition(".")[0] != GENERATION:
        raise BuildError(
            f"this torch is built with CUDA {versions.cuda}; stand-ins are for CUDA {GENERATION}",
            f"Install a torch that is built with CUDA {GENERATION}, such as 2.15.0.",
        )
    device = DEVICE.read_text(encoding="utf-8")
    shared = headers(device, versions)
    files = {library: sources(library) for library in libraries}
    if not compiler:
        raise BuildError("stand-ins for CUDA need a C compiler", "apt-get install gcc")
    commands = {library: command(compiler, library, files[library]) for library in libraries}
    key = key_of(first_line([compiler, "--version"]), repr(shared), repr(files), repr(commands))

    def build(folder: Path) -> None:
        write(folder, shared)
        for library in libraries:
            write(folder / library.stem, files[library])
            _run(commands[library], folder / library.stem)

    entry = cache.entry(KIND, key, build)
    paths = tuple(entry / library.soname for library in libraries)
    return StandIns(paths, identity(device))


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by their names into a folder, which may be missing."""
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
