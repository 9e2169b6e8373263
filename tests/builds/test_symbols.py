"""Whether the functions of an interpreter have names, seen in programs that are linked here."""

import re
import subprocess
from pathlib import Path

from instruction_counts.builds.missing import advice_on_names
from tests.engines.compiled_c import NEEDS_GCC, compile_c

pytestmark = NEEDS_GCC


def linked(folder: Path, *options: str, output: str = "python3.11") -> Path:
    """A program or a library of one function, in place of an interpreter."""
    source = folder / "main.c"
    source.write_text("int called(void) { return 0; }\nint main(void) { return called(); }\n")
    path = folder / output
    compile_c("-Wl,--build-id", *options, source, "-o", path)
    return path


def debug_file(program: Path, folder: Path) -> Path:
    """Where the symbols of a program are looked for."""
    command = ["readelf", "--notes", str(program)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"Build ID: (\w\w)(\w+)", text)
    assert found is not None
    return folder / found[1] / f"{found[2]}.debug"


def test_an_interpreter_with_symbols_needs_no_advice(tmp_path: Path) -> None:
    """Nothing is said where nothing is missing."""
    assert advice_on_names(str(linked(tmp_path)), tmp_path) == ""


def test_a_stripped_interpreter_is_told_with_what_names_its_functions(tmp_path: Path) -> None:
    """One outside the system's folders has no package with its names."""
    path = linked(tmp_path, "-s")
    expected = (
        f"most functions of {path} have no names in explain: "
        "--build with an interpreter that was not stripped names them"
    )
    assert advice_on_names(str(path), tmp_path) == expected


def test_names_in_a_separate_file_are_found_by_the_identity_of_the_program(tmp_path: Path) -> None:
    """Debian's packages of debug files lay them there."""
    path = linked(tmp_path, "-s")
    file = debug_file(path, tmp_path / "debug")
    file.parent.mkdir(parents=True)
    file.touch()
    assert advice_on_names(str(path), tmp_path / "debug") == ""


def test_the_code_of_an_interpreter_may_be_in_a_library(tmp_path: Path) -> None:
    """The program is then a few lines that call it, whose own symbols say nothing."""
    library = linked(tmp_path, "-s", "-shared", "-fPIC", output="libpython3.11.so")
    needs = ("-Wl,--no-as-needed", f"-Wl,-rpath,{tmp_path}", f"-L{tmp_path}", "-lpython3.11")
    program = linked(tmp_path, *needs)
    assert f"most functions of {library} have" in advice_on_names(str(program), tmp_path)


def test_nothing_is_said_of_what_is_no_program(tmp_path: Path) -> None:
    """An interpreter may be a script that starts another one."""
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\n")
    assert advice_on_names(str(script), tmp_path) == ""
