"""Stand-ins for the CUDA libraries that a build needs: compiled once, kept in the cache.

They are loaded into measured processes before torch is: a library that is there satisfies whoever
needs one of its name, wherever another lies. The installation stays as it is. A function that
nobody wrote by hand gives up; each library can also tell what it is asked for (`stand_in_listen`).
Which libraries torch needs, and which functions of each, is read from its own.
"""

import mmap
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from instruction_counts.builds.compilers import first_line
from instruction_counts.domain.errors import BuildError
from instruction_counts.system.cache import Cache, key_of
from instruction_counts.system.commands import called
from instruction_counts.system.worker_process import NO_STAND_IN

KIND = "stand-ins"
"""Of entries of the cache."""

GENERATION = "13"
"""Of CUDA: what is handed over as a structure is laid out as in this one."""

_TIMEOUT_S = 120.0
_REPAIR = "Repair the C compiler, or name another one with CC."

NATIVE = Path(__file__).with_name("native")

_OTHERS = Path(__file__).with_name("others.c")
"""What gives up."""


DEVICE = Path(__file__).with_name("h100.h")
"""What torch asks of a device, and decides by."""


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


# What torch needs

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
        for line in _printed_about(paths, "readelf", "--dynamic", "--wide")
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
    for line in _printed_about(paths, "nm", "--dynamic", "--undefined-only"):
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


# As they are made for a build


@attrs.frozen
class StandIns:
    """The compiled libraries of a build."""

    paths: tuple[Path, ...] = ()
    identity: str = ""
    """What a fingerprint has of them; counts with others are not comparable."""


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
            failing = f"the stand-in for {library.stem} cannot be compiled"
            _printed(commands[library], failing, _REPAIR, folder / library.stem)

    entry = cache.entry(KIND, key, build)
    paths = tuple(entry / library.soname for library in libraries)
    return StandIns(paths, identity(device))


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by their names into a folder, which may be missing."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _printed_about(files: list[Path], program: str, *options: str) -> Sequence[str]:
    """The lines that a program of the binutils prints about torch's libraries."""
    path = shutil.which(program)
    if path is None:
        raise BuildError(
            f"{program} is not installed: it tells what torch needs from CUDA",
            "apt-get install binutils",
        )
    failing = f"{program} cannot read torch's libraries"
    return _printed([path, *options, *files], failing).splitlines()


def _printed(
    command: Sequence[str | Path], failing: str, remedy: str = "", folder: Path | None = None
) -> str:
    """What a command prints that is run in ``folder``; where it fails, an error says why."""
    try:
        variables = {**os.environ, "LC_ALL": "C"}
        done = called(command, cwd=folder, env=variables, timeout=_TIMEOUT_S)
        done.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        why = next((line for line in said if "error" in line), said[-1])
        raise BuildError(f"{failing}: {why}", remedy) from error
    return done.stdout
