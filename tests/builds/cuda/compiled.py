"""One stand-in, compiled as the program compiles it, with every warning an error."""

import shutil
import subprocess
from pathlib import Path

from instruction_counts.builds.cuda.needs import Library
from instruction_counts.builds.cuda.stand_ins import Device, Versions, command, headers, sources

GCC = shutil.which("gcc") or ""


def compiled(folder: Path, library: Library, device: Device) -> Path:
    """The library, in a folder that is empty before."""
    files = sources(library)
    _write(folder, headers(device, Versions("13.2", "9.26.0")))
    _write(folder / library.stem, files)
    arguments = [*command(GCC, library, files), "-Wall", "-Wextra", "-Werror"]
    done = subprocess.run(
        arguments, cwd=folder / library.stem, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / library.soname


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
