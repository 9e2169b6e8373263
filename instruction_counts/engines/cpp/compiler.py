"""C++ cases as shared objects: compiled once, kept in the cache, used for times and for counts.

Each case is a translation unit of its own, so that its code cannot depend on which other cases are
selected. Torch's headers take far longer to compile than a case, so they are precompiled, in our
own cache and never where torch is installed. Even a precompiled header costs the instantiation of
every template that it mentions, so a case gets the smallest of a few preludes that its words
suggest.

A copy of an environment, or a torch of which only sources were edited and built anew, has its
headers at another path and with other times. So a compiler finds them through links in the cache,
in a folder that is named by what they contain: builds that have the same share what is compiled.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import attrs

from instruction_counts.builds.compilers import first_line
from instruction_counts.builds.files import digest_of, files_below
from instruction_counts.builds.hermetic import c_compiler, environment
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.cpp.process import CompileError, CompilerProcesses, diagnosis
from instruction_counts.engines.cpp.source import (
    PRELUDES,
    CppSource,
    Prelude,
    candidates,
    translation_unit,
)
from instruction_counts.engines.engine import Lend
from instruction_counts.system.cache import VARIABLE, Cache, has_its_sources, key_of, note_sources
from instruction_counts.system.files import states_of, text_of

_CASES, _SHIMS, HEADERS = "cases", "shims", "headers"
"""Kinds of entries of the cache."""

LIBRARIES = ("-ltorch", "-ltorch_cpu", "-lc10")
_NATIVE = Path(__file__).parents[1] / "native"

_FORMAT = "2"
"""Part of every key: to be changed with anything here that changes what is compiled."""

_TIMEOUT_S = 600.0
_OLDEST_STANDARD = 17
_ELSEWHERE = f"Set {VARIABLE} to a folder that you can write to, on a disk with room."
_IMPLIED_INCLUDES = {"/usr/include", "/usr/local/include"}
_FOR_HEADERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
_SEARCHED = (*_FOR_HEADERS, "LIBRARY_PATH", "COMPILER_PATH")
"""Variables that change what a compiler finds."""


class Compiler:
    """Compiles for one build; called by several lanes at once."""

    def __init__(
        self,
        facts: BuildFacts,
        cache: Cache,
        *,
        preludes: tuple[Prelude, ...] = PRELUDES,
        libraries: tuple[str, ...] = LIBRARIES,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self._facts, self._compiler, self.cache = facts, facts.compiler, cache
        self._preludes, self._libraries = preludes, libraries
        self._commands = CompilerProcesses(environment(facts.build), timeout_s)

    def case(self, source: CppSource, cores: tuple[int, ...] = ()) -> Path:
        """The shared object of ``source``, from the cache or compiled on ``cores``.

        Raises:
            CompileError: it does not compile.
        """
        entry = self._entry(
            _CASES,
            self._case_key(source),
            lambda folder: self._build_case(source, folder, cores),
            has_its_sources,
        )
        return entry / "case.so"

    def compile_ahead(self, sources: Sequence[CppSource], lend: Lend) -> None:
        """Compile case after case before a lane asks, each on a core from ``lend``.

        The core goes back after each case, so that lanes have their turns. What does not compile is
        tried again by the lane that needs it, which reports it.
        """
        for source in sources:
            if self.has(source):  # a lane may have been faster
                continue
            with contextlib.suppress(CompileError), lend(lambda: self.is_closed) as cores:
                if not cores:
                    return
                self.case(source, cores)

    def has(self, source: CppSource) -> bool:
        """Whether ``source`` need not be compiled."""
        return self.cache.find(_CASES, self._case_key(source), has_its_sources) is not None

    def native(self, name: str) -> Path:
        """The library of ``native/NAME.c``, for this machine.

        Raises:
            CompileError: there is no C compiler, or it refuses.
        """
        source = (_NATIVE / f"{name}.c").read_text(encoding="utf-8")
        compiler = c_compiler(self._commands.environment)
        if not compiler:
            failure = Failure(FailureKind.REFUSED, "there is no C compiler")
            raise CompileError(failure, "apt-get install gcc")
        command = [compiler, "-std=gnu11", "-O2", "-fPIC", "-pthread", "-shared"]
        command += ["-I", self._facts.valgrind_headers, "-Wl,-z,nodelete"]
        command += ["-o", f"{name}.so", f"{name}.c"]

        def build(folder: Path) -> None:
            (folder / f"{name}.c").write_text(source, encoding="utf-8")
            self._run(command, folder)

        made_by = first_line([compiler, "--version"]), self._facts.fingerprint.libc
        key = key_of(_FORMAT, source, *made_by, *command)
        return self._entry(_SHIMS, key, build) / f"{name}.so"

    @property
    def is_closed(self) -> bool:
        """Whether it refuses to compile."""
        return self._commands.is_closed

    def close(self) -> None:
        """Kill running compilers and refuse to start others; from any thread."""
        self._commands.close()

    def _entry(
        self,
        kind: str,
        key: str,
        build: Callable[[Path], None],
        is_current: Callable[[Path], bool] = lambda _: True,
    ) -> Path:
        # A full disk, or a cache folder that somebody removes, costs the case alone.
        try:
            return self.cache.entry(
                *(kind, key, build),
                is_current=is_current,
                while_waiting=self._commands.check_open,
            )
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            message = f"compiling failed: {error.strerror}{place}"
            raise CompileError(Failure(FailureKind.REFUSED, message), _ELSEWHERE) from error

    def _run(self, command: Sequence[str], folder: Path, cores: tuple[int, ...] = ()) -> None:
        code, output = self._commands.run(command, folder, cores)
        if code != 0:
            remedy = _ELSEWHERE if os.strerror(errno.ENOSPC) in output else ""
            raise CompileError(diagnosis(output), remedy)

    # What a case is compiled from

    @cached_property
    def _include_paths(self) -> tuple[str, ...]:
        # A folder that the compiler searches anyway must not be named: that breaks #include_next.
        named = self._facts.include_paths
        paths = [path for path in named if os.path.realpath(path) not in _IMPLIED_INCLUDES]
        try:
            return shared_paths(self.cache, paths)
        except OSError:  # what compiles into such a cache says what is wrong with it
            return tuple(paths)

    @cached_property
    def _flags(self) -> tuple[str, ...]:
        return (
            *("-O2", "-fPIC", f"-std=c++{cpp_standard(Path(self._facts.torch_root))}"),
            f"-D_GLIBCXX_USE_CXX11_ABI={int(self._facts.fingerprint.cxx11_abi)}",
            "-frandom-seed=instruction_counts",
            *(option for path in self._include_paths for option in ("-isystem", path)),
        )

    @cached_property
    def _identity(self) -> tuple[str, ...]:
        """The compiler and the headers: part of the key of all that is compiled from them."""
        found = self._facts.fingerprint
        searched_in = {name: self._commands.environment.get(name, "") for name in _SEARCHED}
        return (
            *(_FORMAT, self._compiler.path, found.compiler, found.libc),
            *(found.torch, found.torch_git, headers_digest(self._include_paths)),
            *self._flags,
            *(f"{name}={searched}" for name, searched in searched_in.items()),
            # One that is added may come before another of its name.
            *(path for name in _FOR_HEADERS for path in header_names(searched_in[name])),
        )

    def _case_key(self, source: CppSource) -> str:
        made_with = (repr(self._preludes), *self._libraries, *self._identity)
        return key_of(source.global_setup, source.setup, source.stmt, *made_with)

    # How it is compiled

    def _build_case(self, source: CppSource, folder: Path, cores: tuple[int, ...]) -> None:
        if not self._compiler.path:
            raise CompileError(Failure(FailureKind.REFUSED, "there is no C++ compiler"))
        # The compiler quotes the user's lines in its messages from files of these names.
        for name, text in {**attrs.asdict(source), "case.cpp": translation_unit(source)}.items():
            (folder / name).write_text(text, encoding="utf-8")
        for prelude in candidates(source, self._preludes):
            (folder / "prelude.hpp").write_text(prelude.text, encoding="utf-8")
            # Relative names and a folder of its own: no path of ours gets into the result.
            command = [self._compiler.path, *self._flags]
            if self._compiler.clang:
                # Else it refuses a header that was precompiled from files older than ours: its key
                # says what it was made from, as for g++, which asks nothing.
                command += ["-Xclang", "-fno-validate-pch"]
            command += ["-include", self.header(prelude, cores)]
            command += ["-MD", "-MF", "case.d", "-c", "case.cpp", "-o", "case.o"]
            code, output = self._commands.run(command, folder, cores)
            if code == 0:
                break
        else:
            raise CompileError(diagnosis(output, source))
        command = [self._compiler.path, "-shared", "case.o", "-o", "case.so"]
        command += [f"-fuse-ld={self._compiler.linker}"] if self._compiler.linker else []
        command += [f"-L{path}" for path in self._facts.library_paths]
        self._run([*command, *self._libraries, "-Wl,-z,now"], folder, cores)
        # Compilers take what CPLUS_INCLUDE_PATH names for the system's, too.
        own = Path(self._compiler.path).resolve().parents[1] / "lib"
        systems = map(Path, ("/usr/include", "/usr/lib", "/usr/lib64", "/usr/bin"))
        left_out = [*systems, own, self.cache.root, *map(Path, self._include_paths)]
        included = _included_files(folder / "case.d", left_out)
        for path in folder.iterdir():
            if path.name not in {"case.cpp", "case.so", "prelude.hpp"}:
                path.unlink()
        note_sources(folder, included)

    def header(self, prelude: Prelude, cores: tuple[int, ...]) -> str:
        """A header beside which it lies precompiled; else, and slowly, the text beside the case.

        Compilers take the text where what is precompiled does not suit them.
        """
        try:
            text = self._text_of(prelude)
            command = [self._compiler.path, *self._flags]
            if self._compiler.clang:  # else each case would instantiate what the headers ask for
                command += ["-Xclang", "-fpch-instantiate-templates"]
            command += ["-x", "c++-header", str(text), "-o", "prelude.hpp.gch"]

            def build(folder: Path) -> None:
                shutil.copyfile(text, folder / text.name)
                note_sources(folder, [f"{self._facts.torch_root}/version.py"])
                self._run(command, folder, cores)

            entry = self._entry(HEADERS, key_of(prelude.text, *self._identity), build)
        except CompileError as error:
            if error.failure.kind is not FailureKind.COMPILE:
                raise
            return "prelude.hpp"
        return str(entry / text.name)

    def _text_of(self, prelude: Prelude) -> Path:
        """The text of a prelude, where it stays: clang looks again at what it precompiled."""

        def build(folder: Path) -> None:
            (folder / "prelude.hpp").write_text(prelude.text, encoding="utf-8")

        entry = self._entry(HEADERS, key_of("text", prelude.text), build)
        return entry.resolve() / "prelude.hpp"


def _included_files(dependencies: Path, left_out: Sequence[Path]) -> list[str]:
    """The user's own headers that a case included.

    They are found by no key, since only compiling tells them: an entry is current as long as they
    are what they were. Torch's and the system's, in folders that are ``left_out``, are not told.
    """
    rule = dependencies.read_text(encoding="utf-8").split(":", 1)[1].replace("\\\n", " ")
    names = (re.sub(r"\\([ #])", r"\1", name) for name in re.findall(r"(?:\\[ #]|\S)+", rule))
    paths = (Path(name.replace("$$", "$")) for name in names)
    return [
        str(path)
        for path in paths
        if path.is_absolute() and not any(map(path.is_relative_to, left_out))
    ]


def cpp_standard(torch_root: Path) -> int:
    """The standard that torch compiles extensions with, as its own `cpp_extension` names it.

    Torch 1.13 names C++14, whose headers also compile as C++17; 2.0 names C++17 and 2.13 C++20.
    """
    text = text_of(torch_root / "utils" / "cpp_extension.py")
    named = [int(year) for year in re.findall(r"""['"]-std=c\+\+(\d\d)['"]""", text)]
    return max([_OLDEST_STANDARD, *named])


# Torch's headers by their content

_CONTENT = "content"
_SUFFIXES = {"", ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tcc", ".cuh"}


def shared_paths(cache: Cache, paths: Sequence[str]) -> tuple[str, ...]:
    """Links to ``paths``, or to what the first build had that has the same headers there.

    Raises:
        OSError: a header cannot be read, or the cache cannot be written to.
    """
    if not paths:
        return ()
    content = _content_of(cache, paths)

    def build(folder: Path) -> None:
        for place, path in enumerate(paths):
            (folder / str(place)).symlink_to(path)

    def is_current(folder: Path) -> bool:
        targets = [str((folder / str(place)).readlink()) for place in range(len(paths))]
        return _content_of(cache, targets) == content

    # A cache may keep its headers elsewhere, and compilers are told where.
    folder = cache.entry(HEADERS, content, build, is_current=is_current).resolve()
    return tuple(str(folder / str(place)) for place in range(len(paths)))


def headers_digest(include_paths: Sequence[str]) -> str:
    """Changes when a header below ``include_paths`` does: their names, sizes and times."""
    return digest_of(states_of(itertools.chain.from_iterable(map(files_below, include_paths))))


def header_names(search_path: str) -> Iterator[str]:
    """The paths of what may be headers, below the folders of a variable such as CPATH."""
    for folder in filter(None, search_path.split(os.pathsep)):
        for path in files_below(folder):
            suffix = os.path.splitext(path)[1]  # noqa: PTH122 - maybe thousands
            if suffix in _SUFFIXES and f"{os.sep}." not in path[len(folder) :]:
                yield path


def _content_of(cache: Cache, paths: Sequence[str]) -> str:
    """A digest of the names and the content of the headers; read once as long as none changes."""

    def build(folder: Path) -> None:
        digest = hashlib.sha256()
        for top in paths:
            for path in files_below(top):
                name, text = os.path.relpath(path, top), Path(path).read_bytes()
                digest.update(f"{name}\0{len(text)}\n".encode() + text)
        (folder / _CONTENT).write_text(digest.hexdigest()[:32], encoding="ascii")

    entry = cache.entry(HEADERS, key_of(_CONTENT, headers_digest(paths)), build)
    return (entry / _CONTENT).read_text(encoding="ascii")
