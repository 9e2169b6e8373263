"""One stand-in, compiled as the program compiles it, with every warning an error."""

from pathlib import Path

from instruction_counts.builds.cuda.stand_ins import (
    DEVICE,
    Library,
    Versions,
    command,
    headers,
    sources,
    write,
)
from tests.engines.compiled_c import GCC
from tests.process import called


def compiled(folder: Path, library: Library, more: str = "") -> Path:
    """The library, in a folder that is empty before, for a device of which ``more`` is said."""
    files = sources(library)
    write(folder, headers(DEVICE.read_text("utf-8") + more, Versions("13.2", "9.26.0")))
    write(folder / library.stem, files)
    arguments = [*command(GCC, library, files), "-Wall", "-Wextra", "-Werror"]
    done = called(arguments, folder / library.stem)
    assert done.returncode == 0, done.stderr
    return folder / library.soname
