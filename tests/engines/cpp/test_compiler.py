"""Compiling C++ cases, with a real compiler; mostly against headers of a few lines."""

import contextlib
import ctypes
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts.builds.compilers import CppCompiler, find_compiler
from instruction_counts.builds.hermetic import c_compiler
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.cpp.compiler import Compiler, cpp_standard
from instruction_counts.engines.cpp.process import CompileError
from instruction_counts.engines.cpp.source import CppSource, Prelude
from instruction_counts.system.cache import Cache
from tests.fakes import BUILD, FACTS, FINGERPRINT
from tests.process import called, executable

CLANG = find_compiler(attrs.evolve(BUILD, compiler="clang"))
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")

SMALL, FULL = Prelude("small", ("tiny/small.h",)), Prelude("full", ("tiny/full.h",), r"\bnn::")

SMALL_H = """
#pragma once
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>
namespace tiny {
inline int twice(int x) { return 2 * x; }
template <typename T> T half(T x) { static_assert(sizeof(T) > 1, "too small"); return x / 2; }
}
"""
FULL_H = """
#pragma once
#include <tiny/small.h>
namespace tiny { namespace nn { inline int thrice(int x) { return 3 * x; } } using nn::thrice; }
"""

SEEN = 'extern "C" { long seen = 0; }\n'
"""A global that tests read back."""


def source(stmt: str = "seen += 1;", setup: str = "", global_setup: str = SEEN) -> CppSource:
    """A case that counts its runs in ``seen``."""
    return CppSource(global_setup, setup, stmt)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> BuildFacts:
    """A build whose headers are a few lines, and which has no torch."""
    root = tmp_path_factory.mktemp("build")
    (root / "tiny").mkdir()
    (root / "tiny" / "small.h").write_text(SMALL_H)
    (root / "tiny" / "full.h").write_text(FULL_H)
    compiler = CppCompiler(shutil.which("g++") or "", "as found")
    return attrs.evolve(FACTS, compiler=compiler, torch_root=str(root), include_paths=(str(root),))


def with_variables(facts: BuildFacts, variables: dict[str, str]) -> BuildFacts:
    """The build with these in its environment."""
    return attrs.evolve(facts, build=attrs.evolve(facts.build, env=variables))


def tiny_compiler(
    facts: BuildFacts, folder: Path, timeout_s: float = 60, **variables: str
) -> Compiler:
    """A compiler for tiny headers, with its cache in ``folder``."""
    found = with_variables(facts, variables)
    return Compiler(found, Cache(folder), preludes=(SMALL, FULL), libraries=(), timeout_s=timeout_s)


@pytest.fixture(scope="module")
def compiler(facts: BuildFacts, tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """A compiler whose precompiled headers are shared by the tests of this module."""
    return tiny_compiler(facts, tmp_path_factory.mktemp("cache"))


def scripted(facts: BuildFacts, folder: Path, script: str) -> BuildFacts:
    """The build with a compiler that runs a line of shell before it becomes g++."""
    path = executable(folder / "g++", f'{script}\nexec {facts.compiler.path} "$@"')
    return attrs.evolve(facts, compiler=attrs.evolve(facts.compiler, path=path))


def logging(facts: BuildFacts, folder: Path) -> tuple[BuildFacts, Callable[[], list[str]]]:
    """The build with a compiler that logs its calls, and what it has logged: what was made."""
    log = folder / "log"
    log.touch()
    made = f'while [ "$1" != -o ]; do shift; done; echo "$2" >> {log}'
    return scripted(facts, folder, f"( {made} )"), lambda: log.read_text().split()


def run(library: ctypes.CDLL, *runs: int) -> tuple[int, str, list[int]]:
    """Call the entry point: what it returned, its error, and ``seen`` at each window's ends."""
    seen, marks = ctypes.c_long.in_dll(library, "seen"), list[int]()
    hook = ctypes.CFUNCTYPE(None)(lambda: marks.append(seen.value))
    error = ctypes.create_string_buffer(100)
    numbers = (ctypes.c_uint64 * len(runs))(*runs)
    size = ctypes.c_uint64(len(error))
    code = library.instruction_counts_case(
        numbers, ctypes.c_uint64(len(runs)), hook, hook, error, size
    )
    return code, error.value.decode(), marks


def seen_by(compiler: Compiler, case: CppSource) -> int:
    """What ``seen`` is after a single run."""
    code, error, marks = run(ctypes.CDLL(str(compiler.case(case))), 1)
    assert 0 == code
    assert "" == error
    return marks[-1]


def failure_of(compiler: Compiler, case: CppSource) -> Failure:
    """How a case fails to compile."""
    with pytest.raises(CompileError) as caught:
        compiler.case(case)
    return caught.value.failure


# What the entry point does


def test_each_window_runs_as_often_as_it_is_asked_to(compiler: Compiler) -> None:
    """The setup runs once, before the first window; begin and end enclose each."""
    library = ctypes.CDLL(str(compiler.case(source(setup="seen = 1000;"))))
    assert (0, "", [1000, 1002, 1002, 1002, 1002, 1007]) == run(library, 2, 0, 5)


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        ('seen = std::string(R"x(a\nb)x").size();', 3),
        ("seen = tiny::half<std::vector<long>::value_type>(8);", 4),
        ("seen = [&](auto x) { return [=] { return x + 1; }(); }(6);", 7),
        ("seen = 1  // a comment ends the last line", 1),
        ("seen = 2  // a backslash, too \\", 2),
        ("seen += 1; break; seen += 10;", 1),
        ("#if 1\nseen = 5;\n#else\nseen = 6;\n#endif", 5),
        ('seen = std::string("%s {stmt} $1 \\\\g<0>").size();', 18),
        ("seen = __LINE__;", 1),
        ("", 0),
    ],
)
def test_a_statement_is_taken_as_it_is_written(
    compiler: Compiler, stmt: str, expected: int
) -> None:
    """Nothing in it is interpreted on the way; a semicolon at its end may be missing."""
    assert expected == seen_by(compiler, source(stmt))


def test_a_case_may_use_any_name(compiler: Compiler) -> None:
    """Common names, in setup and statement, are the user's."""
    names = ["i", "n", "k", "runs", "count", "begin", "end", "error", "size", "x", "e", "run"]
    setup = "".join(f"int {name} = 1;\n" for name in names)
    stmt = f"int i = 2; seen = {' + '.join(names)} + failed;"
    names_of_all = f"{SEEN}using namespace std;\nstruct window {{}};\nint failed = 2;"
    assert len(names) + 3 == seen_by(compiler, source(stmt, setup, names_of_all))


@pytest.mark.parametrize(
    ("setup", "stmt", "expected"),
    [
        ("", 'throw std::runtime_error("first\\nsecond");', "first\nsecond"),
        ('throw std::out_of_range("setup");', "", "setup"),
        ("", "throw 1;", "something that is no std::exception was thrown"),
        ("", "throw std::runtime_error(std::string(500, 'x'));", "x" * 99),
    ],
)
def test_an_exception_becomes_the_error(
    compiler: Compiler, setup: str, stmt: str, expected: str
) -> None:
    """As much of it as fits."""
    code, error, _ = run(ctypes.CDLL(str(compiler.case(source(stmt, setup)))), 3)
    assert 1 == code
    assert expected == error[: len(expected)]


NOTHING = "error: ‘nothing’ was not declared in this scope"


# A case that does not compile: the message, at the user's line


@pytest.mark.parametrize(
    ("case", "message", "place", "code"),
    [
        (source("seen += 1;\nseen += nothing;"), NOTHING, "stmt line 2", "seen += nothing;"),
        (
            source(setup="int a;\n\n  int b = nothing;"),
            *(NOTHING, "setup line 3", "int b = nothing;"),
        ),
        (
            source("", global_setup=f"{SEEN}int f() {{\n  return nothing; }}\n"),
            *(NOTHING, "global_setup line 3", "return nothing; }"),
        ),
        # Names that the small prelude does not have are no mistake.
        (
            source("seen = tiny::thrice(3);\nseen = nothing;"),
            NOTHING,
            "stmt line 2",
            "seen = nothing;",
        ),
        # A template that refuses is the statement's mistake.
        (
            source("seen = 1;\nseen = tiny::half('a');"),
            *("error: static assertion failed: too small", "stmt line 2"),
            "seen = tiny::half('a');",
        ),
        # A fatal error is an error.
        (
            source(global_setup=f"{SEEN}#include <no/such.h>"),
            *("error: no/such.h: No such file or directory", "global_setup line 2"),
            "#include <no/such.h>",
        ),
        # No line is to blame.
        (source("if (seen) {"), "error: expected ‘while’ before ‘instruction_counts_end’", "", ""),
    ],
    ids=["statement", "setup", "global setup", "full prelude", "template", "header", "nowhere"],
)
def test_an_error_is_placed_at_the_users_line(
    compiler: Compiler, case: CppSource, message: str, place: str, code: str
) -> None:
    """Part, line and text of the line; it is compiled again the next time."""
    failure = failure_of(compiler, case)
    expected = FailureKind.COMPILE, message, place, code
    assert expected == (failure.kind, failure.message, failure.place, failure.code)
    assert message.removeprefix("error: ") in failure.output
    assert not compiler.has(case)


def test_no_compiler_is_said(facts: BuildFacts, tmp_path: Path) -> None:
    """Where there is none, or it does not start."""
    none = tiny_compiler(attrs.evolve(facts, compiler=CppCompiler()), tmp_path / "a")
    gone = tiny_compiler(attrs.evolve(facts, compiler=CppCompiler("/no/g++")), tmp_path / "b")
    assert "there is no C++ compiler" == failure_of(none, source()).message
    assert "/no/g++ does not start" in failure_of(gone, source()).message


# Which headers a case is compiled with


def test_words_choose_the_prelude(facts: BuildFacts, tmp_path: Path) -> None:
    """Each is precompiled once, when the first case asks for it."""
    found, log = logging(facts, tmp_path)
    compiler = tiny_compiler(found, tmp_path / "cache")
    compiler.case(source("seen = tiny::twice(1);"))
    assert ["prelude.hpp.gch", "case.o", "case.so"] == log()
    compiler.case(source("seen = tiny::twice(2);"))
    assert ["case.o", "case.so"] == log()[3:]
    compiler.case(source("seen = tiny::nn::thrice(3);"))
    assert ["prelude.hpp.gch", "case.o", "case.so"] == log()[5:]


def test_a_wrong_choice_costs_a_second_compilation(facts: BuildFacts, tmp_path: Path) -> None:
    """The full prelude is tried when the small one does not do; the result is kept."""
    found, log = logging(facts, tmp_path)
    compiler, case = tiny_compiler(found, tmp_path / "cache"), source("seen = tiny::thrice(3);")
    assert 9 == seen_by(compiler, case)
    assert ["prelude.hpp.gch", "case.o"] * 2 + ["case.so"] == log()
    compiler.case(case)
    assert 5 == len(log())


@pytest.mark.parametrize("fault", ["", 'case "$*" in *c++-header*) exit 1;; esac'])
def test_a_precompiled_header_of_no_use_costs_time_alone(
    facts: BuildFacts, tmp_path: Path, fault: str
) -> None:
    """Whether it is damaged, or cannot be made: the case compiles without it."""
    compiler = tiny_compiler(scripted(facts, tmp_path, fault), tmp_path / "cache")
    assert 1 == seen_by(compiler, source("seen = 1;"))
    headers = list(tmp_path.glob("cache/headers/*/prelude.hpp.gch"))
    for path in headers:
        path.write_bytes(b"x" * path.stat().st_size)
    assert bool(fault) is not bool(headers)
    assert 2 == seen_by(compiler, source("seen = 2;"))


# What is compiled again, and what is not


def test_a_cached_case_needs_no_compiler(facts: BuildFacts, tmp_path: Path) -> None:
    """Neither in this process nor in the next one."""
    found, log = logging(facts, tmp_path)
    first = tiny_compiler(found, tmp_path / "cache")
    assert not first.has(source())
    library, calls = first.case(source()), len(log())
    second = tiny_compiler(found, tmp_path / "cache")
    assert second.has(source())
    assert library == first.case(source()) == second.case(source())
    assert calls == len(log())


@pytest.mark.parametrize(
    "changes",
    [
        {"include_paths": ()},
        {"compiler": CppCompiler("/usr/bin/../bin/g++")},
        {"fingerprint": attrs.evolve(FINGERPRINT, compiler="another version")},
        {"fingerprint": attrs.evolve(FINGERPRINT, torch_git="another commit")},
        {"fingerprint": attrs.evolve(FINGERPRINT, cxx11_abi=False)},
        {"fingerprint": attrs.evolve(FINGERPRINT, libc="another")},
    ],
)
def test_another_build_is_another_key(
    facts: BuildFacts, compiler: Compiler, changes: dict[str, Any]
) -> None:
    """What changes the code of a case, or may, compiles it anew."""
    compiler.case(source())
    assert tiny_compiler(facts, compiler.cache.root).has(source())
    assert not tiny_compiler(attrs.evolve(facts, **changes), compiler.cache.root).has(source())


def test_a_changed_header_of_the_build_compiles_again(facts: BuildFacts, tmp_path: Path) -> None:
    """Developers of torch change headers without changing a version."""
    own = copied_headers(facts, tmp_path / "headers")
    for factor in (2, 200):
        header = SMALL_H.replace("2 * x", f"{factor} * x")
        (tmp_path / "headers" / "tiny" / "small.h").write_text(header)
        compiler = tiny_compiler(own, tmp_path / "cache")
        assert factor == seen_by(compiler, source("seen = tiny::twice(1);"))


def copied_headers(facts: BuildFacts, folder: Path) -> BuildFacts:
    """A build that has the same headers in another folder, with other times."""
    shutil.copytree(facts.torch_root, folder, copy_function=shutil.copyfile)
    return attrs.evolve(facts, include_paths=(str(folder),))


def test_builds_with_the_same_headers_share_what_is_compiled(
    facts: BuildFacts, tmp_path: Path
) -> None:
    """Copies of an environment, and a torch of which only sources were edited.

    Whoever removes one of two environments can go on with the other.
    """
    first, second = (copied_headers(facts, tmp_path / name) for name in ("first", "second"))
    library = tiny_compiler(first, tmp_path / "cache").case(source())
    assert library == tiny_compiler(second, tmp_path / "cache").case(source())
    shutil.rmtree(first.include_paths[0])
    compiler = tiny_compiler(second, tmp_path / "cache")
    assert 2 == seen_by(compiler, source("seen = tiny::twice(1);"))


@pytest.mark.parametrize("variable", ["", "CPLUS_INCLUDE_PATH"])
def test_a_changed_header_of_the_user_compiles_again(
    variable: str, facts: BuildFacts, tmp_path: Path
) -> None:
    """A stale case would count what is no longer there; named by its path, or sought."""
    header = tmp_path / "my header.h"
    named = header.name if variable else header
    variables = {variable: str(tmp_path)} if variable else {}
    case = source("seen = mine;", global_setup=f'{SEEN}#include "{named}"')
    for value in (1, 2):
        header.write_text(f"static int mine = {value};")
        compiler = tiny_compiler(facts, tmp_path / "cache", **variables)
        assert not compiler.has(case)
        compiler.case(case)
        assert compiler.has(case)
    header.unlink()
    assert not compiler.has(case)


def test_a_header_that_comes_before_another_compiles_again(
    facts: BuildFacts, tmp_path: Path
) -> None:
    """What was compiled did not read it; what is no header, as of a repository, changes nothing."""
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        (folder / ".git").mkdir(parents=True)
    (folders[1] / "mine.h").write_text("static int mine = 2;")
    case = source("seen = mine;", global_setup=f"{SEEN}#include <mine.h>")

    def compiler() -> Compiler:
        return tiny_compiler(facts, tmp_path / "cache", CPATH=":".join(map(str, folders)))

    compiler().case(case)
    (folders[0] / "notes.txt").write_text("none")
    (folders[0] / ".git" / "HEAD").write_text("none")
    assert compiler().has(case)
    (folders[0] / "mine.h").write_text("static int mine = 1;")
    assert not compiler().has(case)


def test_the_same_source_gives_the_same_bytes(facts: BuildFacts, tmp_path: Path) -> None:
    """In whichever folder, whatever was compiled before; nothing but the results is kept."""
    case = source("static int n = __LINE__; seen = n; puts(__FILE__);", "struct {} s;")
    first, other = (tiny_compiler(facts, tmp_path / name) for name in ("one", "a longer name"))
    other.case(source("seen = tiny::nn::thrice(1);"))
    library = first.case(case)
    bytes_of_one = library.read_bytes()
    assert bytes_of_one == other.case(case).read_bytes()
    assert str(tmp_path).encode() not in bytes_of_one
    kept = ["case.cpp", "case.so", "made-from.json", "prelude.hpp"]
    assert kept == sorted(path.name for path in library.parent.iterdir())


def test_a_full_disk_costs_the_case_alone(facts: BuildFacts, tmp_path: Path) -> None:
    """As does a cache folder that can no longer be written."""
    compiler = tiny_compiler(facts, tmp_path / "cache")
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").touch()
    failure = failure_of(compiler, source())
    assert FailureKind.REFUSED is failure.kind
    assert "compiling failed: " in failure.message


@pytest.mark.skipif(not CLANG.clang, reason="clang is not installed")
def test_clang_takes_the_precompiled_header_whatever_became_of_its_text(
    facts: BuildFacts, tmp_path: Path
) -> None:
    """As g++ does. It would refuse one whose files have other times than those it was made from."""
    compiler = tiny_compiler(attrs.evolve(facts, compiler=CLANG), tmp_path / "cache")
    assert 2 == seen_by(compiler, source("seen = tiny::twice(1);"))
    (header,) = (tmp_path / "cache" / "headers").glob("[!.]*/prelude.hpp.gch")
    text = header.with_suffix("")
    text.write_text("#error".ljust(text.stat().st_size))
    assert 4 == seen_by(compiler, source("seen = tiny::twice(2);"))


@pytest.mark.skipif(not CLANG.clang, reason="clang is not installed")
def test_clang_finds_what_it_precompiled_again(facts: BuildFacts, tmp_path: Path) -> None:
    """It looks for the text where that was, and entries are made in a folder that goes."""
    compiler = tiny_compiler(attrs.evolve(facts, compiler=CLANG), tmp_path / "cache")
    compiler.case(source())
    folders = [path.parent for path in tmp_path.glob("cache/headers/[!.]*/prelude.hpp")]
    (text,) = (folder / "prelude.hpp" for folder in folders if not [*folder.glob("*.gch")])
    (header,) = tmp_path.glob("cache/headers/[!.]*/prelude.hpp.gch")

    assert str(text).encode() in header.read_bytes()


# Compiling before a lane asks for it


class Recording(Compiler):
    """Compiles nothing, and says what it was asked for and where."""

    def __init__(self, folder: Path) -> None:
        super().__init__(FACTS, Cache(folder))
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def has(self, source: CppSource) -> bool:
        """Whether it was compiled."""
        return source.stmt == "known;"

    def case(self, source: CppSource, cores: tuple[int, ...] = ()) -> Path:
        """Note it; what is broken does not compile."""
        self.asked.append((source.stmt, cores))
        if source.stmt == "broken;":
            raise CompileError(Failure(FailureKind.COMPILE, "broken"))
        return Path()


@pytest.mark.parametrize(("is_closed", "expected"), [(False, ["a;", "broken;", "c;"]), (True, [])])
def test_each_case_is_compiled_ahead_on_a_core(
    tmp_path: Path, is_closed: bool, expected: list[str]
) -> None:
    """What is there already is left out; what does not compile holds nothing up.

    Nothing is compiled once the compiler is closed: a run that was interrupted ends at once.
    """
    compiler = Recording(tmp_path)
    if is_closed:
        compiler.close()
    compiler.compile_ahead(
        [source(stmt) for stmt in ("a;", "known;", "broken;", "c;")],
        lambda is_late: contextlib.nullcontext(() if is_late() else (7,)),
    )

    assert [(stmt, (7,)) for stmt in expected] == compiler.asked


# Compilers end when they are told to


def test_closing_kills_running_compilers(facts: BuildFacts, tmp_path: Path) -> None:
    """From another thread; the case fails at once, and no other one starts."""
    slow = scripted(facts, tmp_path, f"touch {tmp_path}/running; sleep 600")
    compiler, failures = tiny_compiler(slow, tmp_path / "cache"), list[Failure]()
    thread = threading.Thread(target=lambda: failures.append(failure_of(compiler, source())))
    thread.start()
    while not (tmp_path / "running").exists():
        time.sleep(0.01)
    compiler.close()
    thread.join(timeout=300)
    assert ["the compiler was stopped"] == [failure.message for failure in failures]
    assert "the compiler was stopped" == failure_of(compiler, source()).message
    assert not list(tmp_path.glob("cache/*/.new-*"))


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("sleep 600", FailureKind.TIMEOUT, "the compiler did not end within 5 s"),
        ("kill -9 $$", FailureKind.SIGNAL, ""),
        (
            'echo "g++: fatal error: Killed signal terminated program cc1plus"; exit 1',
            *(FailureKind.SIGNAL, ""),
        ),
    ],
    ids=["hangs", "killed", "told of it"],
)
def test_a_compiler_that_does_not_end_is_no_mistake_of_the_case(
    facts: BuildFacts, tmp_path: Path, script: str, kind: FailureKind, message: str
) -> None:
    """Memory may have run out: another try may pass."""
    odd = scripted(facts, tmp_path, script)
    failure = failure_of(tiny_compiler(odd, tmp_path / "cache", timeout_s=5), source())
    assert kind is failure.kind
    assert failure.kind.may_pass_on_retry
    assert message in failure.message


def test_compilers_run_on_the_given_cores(facts: BuildFacts, tmp_path: Path) -> None:
    """The core of the lane, and no other."""
    ask = f"sleep 0.2; grep Cpus_allowed_list /proc/$$/status >> {tmp_path}/cores"
    compiler = tiny_compiler(scripted(facts, tmp_path, ask), tmp_path / "cache")
    compiler.case(source(), (0,))
    lines = (tmp_path / "cores").read_text().splitlines()
    assert ["Cpus_allowed_list:\t0"] * 3 == lines


# The C library that is loaded into the counted process


def test_it_is_compiled_once_and_stays_loaded(compiler: Compiler) -> None:
    """What it allocated outlives any handle."""
    library = compiler.native("fresh")
    assert library == compiler.native("fresh")
    assert "NODELETE" in called(["readelf", "-d", str(library)]).stdout


@pytest.mark.faults
@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (None, "there is no C compiler", "apt-get install gcc"),
        (
            '#!/bin/sh\necho "error: No space left on device"; exit 1\n',
            *("No space left on", "Set INSTRUCTION_COUNTS_CACHE"),
        ),
        ('#!/bin/sh\necho "error: no cc1"; exit 1\n', "no cc1", ""),
        ("\x7fELF, but not", "cc does not start", "Make it executable, or name another"),
    ],
)
def test_a_compiler_that_fails_says_why(
    facts: BuildFacts, tmp_path: Path, text: str | None, message: str, remedy: str
) -> None:
    """There is none, or it is of no use: the engine does not start."""
    variables = {"PATH": "/nowhere"}
    if text is not None:
        variables = {"CC": str(tmp_path / "cc")}
        (tmp_path / "cc").write_text(text)
        (tmp_path / "cc").chmod(0o755)
    without = with_variables(attrs.evolve(facts, compiler=CppCompiler()), variables)
    with pytest.raises(CompileError, match=message) as caught:
        Compiler(without, Cache(tmp_path / "cache")).native("steady")
    assert caught.value.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flags = ['-std=c++20', '-fPIC']", 20),
        ("cflags.append('-std=c++17')", 17),
        ("['-std=c++14']", 17),
    ],
)
def test_the_standard_is_the_one_of_torchs_extensions(
    tmp_path: Path, text: str, expected: int
) -> None:
    """At least C++17, which every supported torch compiles as."""
    (tmp_path / "utils").mkdir()
    (tmp_path / "utils" / "cpp_extension.py").write_text(text)
    assert expected == cpp_standard(tmp_path)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, "/usr/bin/gcc"), ({"CC": "cc"}, "/usr/bin/cc"), ({"PATH": "/nowhere"}, "")],
)
def test_the_c_compiler_is_the_one_of_the_environment_or_any(
    variables: dict[str, str], expected: str
) -> None:
    """CC first."""
    assert expected == c_compiler({"PATH": "/usr/bin", **variables})
