"""C++ cases as shared objects: compiled once, kept in the cache, used for times and for counts.

Each case is a translation unit of its own, so that its code cannot depend on which other cases are
selected. Torch's headers take far longer to compile than a case, so they are precompiled, in our
own cache and never where torch is installed. Even a precompiled header costs the instantiation of
every template that it mentions, so a case gets the smallest of a few preludes that its words
suggest.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.cpp.case_files import (
    included_files,
    is_current,
    is_whole,
    keep_only_results,
    seal,
    write_parts,
)
from instruction_counts.engines.cpp.diagnosis import BAD_PRECOMPILED, diagnosis, unplaced
from instruction_counts.engines.cpp.process import CompileError, CompilerProcesses, Done
from instruction_counts.engines.cpp.source import PRELUDES, CppSource, Prelude, candidates
from instruction_counts.engines.cpp.toolchain import c_compiler, cpp_standard, headers_digest
from instruction_counts.system.cache import VARIABLE, Cache, key_of

CASES, HEADERS, SHIMS = "cases", "headers", "shims"

LIBRARIES = ("-ltorch", "-ltorch_cpu", "-lc10")
_NATIVE = Path(__file__).parents[1] / "native"

_FORMAT = "1"
"""Part of every key: to be changed with anything here that changes what is compiled."""

_TIMEOUT_S = 600.0
NO_ROOM = f"Make room on the disk of the cache, or set {VARIABLE} to a folder on another one."
_ELSEWHERE = f"Set {VARIABLE} to a folder that you can write to."
_IMPLIED_INCLUDES = {"/usr/include", "/usr/local/include"}
_SEARCHED = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH")
"""Variables that change what a compiler finds."""


class Compiler:
    """Compiles for one build; called by several lanes at once.

    ``notices`` collects, each once, what made compiling slower than it could be.
    """

    def __init__(
        self,
        facts: BuildFacts,
        cache: Cache,
        environment: Mapping[str, str],
        *,
        preludes: tuple[Prelude, ...] = PRELUDES,
        libraries: tuple[str, ...] = LIBRARIES,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self.notices: list[str] = []
        self._facts, self._cache = facts, cache
        self._preludes, self._libraries = preludes, libraries
        self._commands = CompilerProcesses(environment, timeout_s)

    def case(self, source: CppSource, cores: tuple[int, ...] = ()) -> Path:
        """The shared object of ``source``, from the cache or compiled on ``cores``.

        Raises:
            CompileError: it does not compile.
        """
        with _failing_as_value():
            entry = self._cache.entry(
                CASES,
                self._case_key(source),
                lambda folder: self._build_case(source, folder, cores),
                is_current=is_current,
                while_waiting=self._commands.check_open,
            )
        return entry / "case.so"

    def shim(self) -> Path:
        """The library with the client requests and the allocator, for this machine.

        Raises:
            CompileError: there is no C compiler, or it refuses.
        """
        return self._native("steady")

    def filler(self) -> Path:
        """The library that fills fresh memory, for this machine; raises as `shim` does."""
        return self._native("fresh")

    def close(self) -> None:
        """Kill running compilers and refuse to start others; from any thread."""
        self._commands.close()

    # What a case is compiled from

    @cached_property
    def _flags(self) -> tuple[str, ...]:
        standard = cpp_standard(Path(self._facts.torch_root))
        return (
            "-O2",
            "-fPIC",
            f"-std=c++{standard}",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(self._facts.fingerprint.cxx11_abi)}",
            "-frandom-seed=instruction_counts",
            *(option for path in self._include_paths for option in ("-isystem", path)),
        )

    @property
    def _include_paths(self) -> tuple[str, ...]:
        # A folder that the compiler searches anyway must not be named: that breaks #include_next.
        paths = self._facts.include_paths
        return tuple(path for path in paths if os.path.realpath(path) not in _IMPLIED_INCLUDES)

    @cached_property
    def _identity(self) -> tuple[str, ...]:
        """The compiler and the headers: part of the key of all that is compiled from them."""
        found = self._facts.fingerprint
        return (
            _FORMAT,
            *(self._facts.compiler, found.compiler, found.libc),
            *(found.torch, found.torch_git, headers_digest(self._include_paths)),
            *self._flags,
            *(f"{name}={self._commands.environment.get(name, '')}" for name in _SEARCHED),
        )

    def _case_key(self, source: CppSource) -> str:
        made_with = (repr(self._preludes), *self._libraries, *self._identity)
        return key_of(source.global_setup, source.setup, source.stmt, *made_with)

    # How it is compiled

    def _build_case(self, source: CppSource, folder: Path, cores: tuple[int, ...]) -> None:
        if not self._facts.compiler:
            raise CompileError(Failure(FailureKind.REFUSED, "there is no C++ compiler"))
        write_parts(source, folder)
        for prelude in candidates(source, self._preludes):
            done = self._compile(prelude, folder, cores)
            if done.code == 0:
                break
        else:
            raise CompileError(diagnosis(done.output, source))
        linked = self._commands.run(self._link_command(), folder, cores)
        if linked.code != 0:
            raise CompileError(unplaced(linked.output, linked.code))
        keep_only_results(folder, prelude, included_files(folder / "case.d", self._cache.root))

    def _compile(self, prelude: Prelude, folder: Path, cores: tuple[int, ...]) -> Done:
        (folder / "prelude.hpp").write_text(prelude.text, encoding="utf-8")
        headers = self._precompiled(prelude, cores)
        if headers:
            include = str(headers / "prelude.hpp")
            done = self._commands.run(self._case_command(include), folder, cores)
            if done.code == 0 or not BAD_PRECOMPILED.search(done.output):
                return done
            self._notice(f"the precompiled header {prelude.name} is of no use", done.output)
        return self._commands.run(self._case_command("prelude.hpp"), folder, cores)

    def _precompiled(self, prelude: Prelude, cores: tuple[int, ...]) -> Path | None:
        command = [self._facts.compiler, *self._flags, "-x", "c++-header", "prelude.hpp"]
        command += ["-o", "prelude.hpp.gch"]

        def build(folder: Path) -> None:
            (folder / "prelude.hpp").write_text(prelude.text, encoding="utf-8")
            done = self._commands.run(command, folder, cores)
            if done.code != 0:
                raise CompileError(unplaced(done.output, done.code))

        key = key_of(prelude.text, *self._identity)
        check_open = self._commands.check_open
        try:
            return self._cache.entry(HEADERS, key, build, while_waiting=check_open)
        except CompileError as error:
            if error.failure.kind is not FailureKind.COMPILE:
                raise
            self._notice(f"{prelude.headers[0]} cannot be precompiled", error.failure.message)
            return None

    def _notice(self, what: str, output: str) -> None:
        reason = (output.strip().splitlines() or ["no message"])[0]
        notice = f"{what}: cases compile without it, slowly ({reason})"
        if notice not in self.notices:
            self.notices.append(notice)

    def _case_command(self, prelude: str) -> list[str]:
        # Relative names and a folder of its own: no path of ours gets into the result.
        command = [self._facts.compiler, *self._flags, "-Werror=invalid-pch", "-include", prelude]
        return [*command, "-MMD", "-MF", "case.d", "-c", "case.cpp", "-o", "case.o"]

    def _link_command(self) -> list[str]:
        folders = [f"-L{path}" for path in self._facts.library_paths]
        command = [self._facts.compiler, "-shared", "case.o", "-o", "case.so", *folders]
        return [*command, *self._libraries, "-Wl,-z,now"]

    def _native(self, name: str) -> Path:
        source = (_NATIVE / f"{name}.c").read_text(encoding="utf-8")
        command = self._native_command(name)
        found = self._facts.fingerprint
        key = key_of(_FORMAT, source, found.compiler, found.libc, *command)

        def build(folder: Path) -> None:
            (folder / f"{name}.c").write_text(source, encoding="utf-8")
            done = self._commands.run(command, folder)
            if done.code != 0:
                remedy = NO_ROOM if os.strerror(errno.ENOSPC) in done.output else ""
                raise CompileError(unplaced(done.output, done.code), remedy)
            seal(folder / f"{name}.so")

        with _failing_as_value():
            entry = self._cache.entry(
                SHIMS,
                key,
                build,
                is_current=lambda entry: is_whole(entry / f"{name}.so"),
                while_waiting=self._commands.check_open,
            )
        return entry / f"{name}.so"

    def _native_command(self, name: str) -> list[str]:
        environment = self._commands.environment
        compiler = c_compiler(self._facts.compiler, environment)
        if not compiler:
            failure = Failure(FailureKind.REFUSED, "there is no C compiler")
            raise CompileError(failure, "apt-get install gcc")
        command = [compiler, "-std=gnu11", "-O2", "-fPIC", "-pthread", "-shared"]
        command += ["-I", self._facts.valgrind_headers, "-Wl,-z,nodelete"]
        return [*command, "-o", f"{name}.so", f"{name}.c"]


@contextlib.contextmanager
def _failing_as_value() -> Iterator[None]:
    # A full disk, or a cache folder that somebody removes, costs the case alone.
    try:
        yield
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        message = f"compiling failed: {error.strerror}{place}"
        remedy = NO_ROOM if error.errno in {errno.ENOSPC, errno.EDQUOT} else _ELSEWHERE
        raise CompileError(Failure(FailureKind.REFUSED, message), remedy) from error
