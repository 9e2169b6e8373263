"""The C code of stand-ins: what is written by hand, and a function that gives up for all else.

Each can also tell what it is asked for (`stand_in_listen`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.builds.cuda.needs import Library
from instruction_counts.reading.documents import read
from instruction_counts.system.cache import key_of
from instruction_counts.system.worker_process import NO_STAND_IN

NATIVE = Path(__file__).with_name("native")

_OTHERS = Path(__file__).with_name("others.c")
"""What gives up."""


_DEVICE = Path(__file__).with_name("h100.yaml")

Device: TypeAlias = Mapping[str, Any]
"""What torch asks of a device, and decides by; the names are those of its file."""


def read_device() -> Device:
    """The device that the stand-ins describe.

    Raises:
        DataError: its file is gone.
    """
    device: Device = read(_DEVICE).value
    return device


def _device_header(device: Device) -> str:
    """The same for C: a definition each, in its order here."""
    values = dict(device)
    major, minor = values.pop("compute_capability")
    values |= {"name": f'"{device["name"]}"', "memory_bytes": f"{device['memory_bytes']}ull"}
    values |= {"major": major, "minor": minor}
    return "".join(f"#define DEVICE_{name.upper()} {value}\n" for name, value in values.items())


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


def identity(device: Device) -> str:
    """What a fingerprint has of stand-ins: the device, and a digest of all that is written by hand.

    It is the same for each torch, which needs more or fewer functions than another.
    """
    paths = sorted(NATIVE.rglob("*.[ch]"))
    written = [f"{path.relative_to(NATIVE)}\0{path.read_text('utf-8')}" for path in paths]
    return f"{device['name']} ({key_of(_device_header(device), *written)[:12]})"


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


def headers(device: Device, versions: Versions) -> dict[str, str]:
    """What the files of all stand-ins include."""
    shared = {path.name: path.read_text(encoding="utf-8") for path in sorted(NATIVE.glob("*.h"))}
    return {**shared, "device.h": _device_header(device) + versions.header()}


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
