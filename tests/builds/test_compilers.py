"""Which C++ compiler a build gets, and what is said of it."""

import sys
from pathlib import Path

import pytest

from instruction_counts.builds.compilers import CppCompiler, find_compiler, first_line
from instruction_counts.builds.probing import valgrind_version
from instruction_counts.domain.build import Build
from tests.process import executable

GCC = "g++ (Debian 12.2.0) 12.2.0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is on PATH: nothing as yet."""
    monkeypatch.delenv("CXX", raising=False)
    return tmp_path


def add(folder: Path, name: str, version: str) -> str:
    """A compiler that says its version."""
    return executable(folder / name, f"echo '{version}'")


def found(folder: Path, compiler: str = "", **env: str) -> CppCompiler:
    """The compiler of a build with what is in ``folder``."""
    variables = {"PATH": str(folder), **env}
    return find_compiler(Build("b", sys.executable, env=variables, compiler=compiler))


@pytest.mark.parametrize(
    ("asked", "there", "expected"),
    [
        ("", "g++ c++", "g++"),
        ("", "c++", "c++"),
        ("", "", ""),
        ("", "g++ clang++-9 clang++-18", "g++"),
        ("", "g++ clang++-9 clang++-19 clang++-20", "clang++-20"),
        ("", "g++ clang++", "clang++"),
        ("clang", "g++ clang++-9 clang++-18", "clang++-18"),
        ("clang", "g++", ""),
        ("g++", "g++ clang++-20", "g++"),
        ("g++-11", "g++ clang++-20", ""),
        ("cxx", "g++ clang++-20", "g++"),
    ],
)
def test_the_compiler_is_what_is_asked_for_else_a_new_clang_else_gcc(
    folder: Path, asked: str, there: str, expected: str
) -> None:
    """An old clang is taken only by its name; what is asked for is replaced by no other."""
    for name in there.split():
        number = name.partition("-")[2] or "21"
        add(folder, name, f"Debian clang version {number}.1.0" if "clang" in name else GCC)

    assert expected == Path(found(folder, asked).path).name


def test_a_variable_names_the_compiler_unless_the_build_does(folder: Path) -> None:
    """As for torch's own extensions."""
    mine, gcc = add(folder, "our-c++", "ours 1"), add(folder, "g++", GCC)
    add(folder, "clang++-19", "clang version 19.1.7")

    assert CppCompiler(mine, "ours 1") == found(folder, CXX="our-c++")
    assert gcc == found(folder, "g++", CXX="our-c++").path
    assert gcc == found(folder, CXX="ccache g++").path


@pytest.mark.parametrize("named", ["nothing", "g++ -m64", "gcc", "cc-12", "x86_64-linux-gnu-gcc"])
def test_what_is_named_and_cannot_be_used_is_replaced_by_no_other(folder: Path, named: str) -> None:
    """Nor is a C compiler: the C++ library would be missing in what it links."""
    for name in ("g++", "gcc", "cc-12", "x86_64-linux-gnu-gcc"):
        add(folder, name, GCC)

    assert [CppCompiler(missing=named)] * 2 == [found(folder, named), found(folder, CXX=named)]


def test_a_clang_is_known_with_what_it_takes_from_others(folder: Path) -> None:
    """The C++ library of g++ gets into its code, and the linker into what is made of it."""
    clang = add(folder, "clang++-19", "clang version 19.1.7")
    alone = found(folder)
    add(folder, "g++", GCC)
    add(folder, "ld.lld", "LLD 19.1.7")

    assert CppCompiler(clang, "clang version 19.1.7", 19) == alone
    expected = CppCompiler(clang, f"clang version 19.1.7 · lld · {GCC}", 19, "lld")
    assert expected == found(folder)


def test_a_tool_is_known_by_its_first_line() -> None:
    """Empty where it says nothing or is absent."""
    commands = ["printf", "a\\nb\\n"], ["true"], ["/nowhere/tool"]

    assert ["a", "", ""] == [*map(first_line, commands)]


def test_valgrind_is_asked_as_measured_processes_start_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VALGRIND_LIB of the caller, which may be another Valgrind's, does not reach them."""
    monkeypatch.setenv("VALGRIND_LIB", "/nowhere")
    build = Build("b", sys.executable, env={"PATH": str(folder)})
    absent = valgrind_version(build)
    executable(folder / "valgrind", 'echo "valgrind-3.19.0$VALGRIND_LIB"')

    assert ["", "valgrind-3.19.0"] == [absent, valgrind_version(build)]
