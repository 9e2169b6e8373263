"""Whether the functions of a build's interpreter have names, and where to get these."""

from __future__ import annotations

import re
from pathlib import Path

from instruction_counts.builds.compilers import printed

DEBUG_FILES = Path("/usr/lib/debug/.build-id")
"""Where Valgrind looks for the symbols of a stripped file, by the identity that the linker gave it
(coregrind/m_debuginfo/readelf.c, find_debug_file)."""


def advice_on_names(interpreter: str, debug_files: Path = DEBUG_FILES) -> str:
    """What gives the interpreter's functions their names; empty where they have them.

    It is empty, too, where that cannot be found out: without ``readelf``, which comes with the
    compiler.
    """
    file = _file_of(Path(interpreter).resolve())
    known = printed(["readelf", "--sections", "--notes", "--wide", str(file)])
    if not known or " .symtab " in known:
        return ""
    found = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", known)
    if found and (debug_files / found[1] / f"{found[2]}.debug").exists():
        return ""
    version = re.search(r"python(3\.[0-9]+)", file.name)
    is_of_the_system = file.is_relative_to("/usr") and not file.is_relative_to("/usr/local")
    remedy = (
        f"apt-get install python{version[1]}-dbg names them (Debian)"
        if version and is_of_the_system
        else "--build with an interpreter that was not stripped names them"
    )
    return f"most functions of {file} have no names in explain: {remedy}"


def _file_of(program: Path) -> Path:
    """The file with the interpreter's code: the program, or a library that it needs."""
    found = re.search(r"libpython\S+ => (/\S+)", printed(["ldd", str(program)]))
    return Path(found[1]).resolve() if found else program
