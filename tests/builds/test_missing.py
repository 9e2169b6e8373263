"""What a build does not have, the names of its functions included."""

import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from instruction_counts.builds.compilers import CppCompiler
from instruction_counts.builds.missing import advice_on_names, missing, runtime_refusal
from instruction_counts.core.runtimes import Runtime, register, unregister
from instruction_counts.core.types import AutogradMode, RuntimeMode
from tests.engines.compiled_c import NEEDS_GCC, compile_c
from tests.fakes import FACTS, make_case
from tests.process import called, executable


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """One that no torch has."""
    found = register(
        Runtime(RuntimeMode.new("UNHEARD", "Unheard"), needs=("torch.nn", "torch.unheard.of"))
    )
    yield found
    unregister(found)


def test_without_a_compiler_nobody_misses_headers() -> None:
    """Each thing that cannot be done is reported once; what CXX named, by its name."""
    none = attrs.evolve(FACTS, compiler=CppCompiler(), has_cpp_headers=False)
    named = attrs.evolve(FACTS, compiler=CppCompiler(missing="g++ -m64"))
    (of_none,), (of_named,) = missing(none), missing(named)

    assert "apt-get install g++" == of_none.remedy.partition("  ")[0]
    assert 'build "default": no C++ compiler "g++ -m64" found' == of_named.what.partition(",")[0]


def test_a_runtime_that_torch_does_not_have_is_refused(runtime: Runtime) -> None:
    """With the reason, and only what is not there."""
    has = {"torch.nn": True, "torch.unheard.of": False}
    facts = attrs.evolve(FACTS, has=has)
    cases = [make_case(runtime=mode) for mode in (RuntimeMode.EAGER, runtime.mode)]
    reason = 'this torch has no torch.unheard.of, which the runtime "unheard" needs'

    assert ["", f'build "default": {reason}'] == [runtime_refusal(facts, case) for case in cases]


@pytest.mark.parametrize(
    ("runtime", "expected"),
    [
        (RuntimeMode.EAGER, ""),
        (RuntimeMode.EXPORTED, 'the runtime "exported" has no backward pass'),
    ],
)
def test_what_cannot_be_differentiated_is_refused(runtime: RuntimeMode, expected: str) -> None:
    """Its forward pass is measured."""
    cases = [
        make_case(runtime=runtime, autograd=autograd)
        for autograd in (AutogradMode.FORWARD, AutogradMode.FORWARD_BACKWARD)
    ]

    assert ["", expected] == [runtime_refusal(FACTS, case) for case in cases]


# Whether the functions of an interpreter have names, seen in programs that are linked here


def linked(folder: Path, *options: str, output: str = "python3.11") -> Path:
    """A program or a library of one function, in place of an interpreter."""
    source = folder / "main.c"
    source.write_text("int called(void) { return 0; }\nint main(void) { return called(); }\n")
    path = folder / output
    compile_c("-Wl,--build-id", *options, source, "-o", path)
    return path


@NEEDS_GCC
def test_an_interpreter_with_symbols_needs_no_advice(tmp_path: Path) -> None:
    """Nothing is said where nothing is missing."""
    assert advice_on_names(str(linked(tmp_path)), tmp_path) == ""


@NEEDS_GCC
def test_a_stripped_interpreter_is_told_with_what_names_its_functions(tmp_path: Path) -> None:
    """One outside the system's folders has no package with its names.

    Debian's packages of debug files lay them where the identity of the program says.
    """
    path = linked(tmp_path, "-s")
    expected = (
        f"most functions of {path} have no names in explain: "
        "--build with an interpreter that was not stripped names them"
    )
    assert advice_on_names(str(path), tmp_path) == expected

    notes = called(["readelf", "--notes", str(path)]).stdout
    ((folder, name),) = re.findall(r"Build ID: (\w\w)(\w+)", notes)
    (tmp_path / folder).mkdir()
    (tmp_path / folder / f"{name}.debug").touch()
    assert advice_on_names(str(path), tmp_path) == ""


@NEEDS_GCC
def test_the_code_of_an_interpreter_may_be_in_a_library(tmp_path: Path) -> None:
    """The program is then a few lines that call it, whose own symbols say nothing."""
    library = linked(tmp_path, "-s", "-shared", "-fPIC", output="libpython3.11.so")
    needs = ("-Wl,--no-as-needed", f"-Wl,-rpath,{tmp_path}", f"-L{tmp_path}", "-lpython3.11")
    program = linked(tmp_path, *needs)
    assert f"most functions of {library} have" in advice_on_names(str(program), tmp_path)


def test_nothing_is_said_of_what_is_no_program(tmp_path: Path) -> None:
    """An interpreter may be a script that starts another one."""
    assert advice_on_names(executable(tmp_path / "python", ""), tmp_path) == ""
