"""C++ cases as shared objects: compiled once, kept in the cache, used for times and for counts.

Each case is a translation unit of its own, so that its code cannot depend on which other cases are
selected. The unit exports

- ``instruction_counts_case(runs, count, begin, end, error, size)``: runs the setup, then for each
  of ``count`` numbers in ``runs`` calls ``begin``, runs the statement that often, calls ``end``.
  Returns 0, or puts what was thrown into ``error`` (of ``size`` bytes) and returns 1.
- ``instruction_counts_model``: 4096 characters that the caller fills with the path of the scripted
  model before the call. The path is no part of the code, which can therefore be cached.

Torch's headers take far longer to compile than a case, so they are precompiled, in our own cache
and never where torch is installed. Even a precompiled header costs the instantiation of every
template that it mentions, so a case gets the smallest of a few preludes that its words suggest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import attrs

from core.runtimes.torchscript import MODEL_PATH
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.system.cache import Cache, key_of
from instruction_counts.system.worker_process import ending

MODEL_BUFFER = "instruction_counts_model"
MODEL_BUFFER_SIZE = 4096
CASES, HEADERS, SHIMS = "cases", "headers", "shims"

LIBRARIES = ("-ltorch", "-ltorch_cpu", "-lc10")
SHIM_SOURCE = Path(__file__).parent / "native" / "steady.c"

_FORMAT = "1"
"""Part of every key: to be changed with anything here that changes what is compiled."""

_OUTPUT_CHARACTERS = 4000
_TIMEOUT_S = 600.0
_OLDEST_STANDARD = 17
_IMPLIED_INCLUDES = {"/usr/include", "/usr/local/include"}
_SEARCHED = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH")
"""Variables that change what a compiler finds."""


@attrs.frozen
class CppSource:
    """The three parts of a C++ case, as written; `MODEL_PATH` may stand in them as a literal."""

    global_setup: str
    setup: str
    stmt: str

    @property
    def text(self) -> str:
        """All parts together."""
        return f"{self.global_setup}\n{self.setup}\n{self.stmt}"


@attrs.frozen
class Prelude:
    """Headers that a case is compiled with, and the words in a case that call for them."""

    name: str
    headers: tuple[str, ...]
    words: str = "(?!)"

    @property
    def text(self) -> str:
        """The header that includes them all."""
        return "".join(f"#include <{header}>\n" for header in self.headers)


PRELUDES = (
    Prelude("tensors", ("torch/types.h",)),
    Prelude(
        "script",
        ("torch/script.h",),
        r"\b(jit::(?!IValue\b|Stack\b)|AutogradContext\b|autograd::Function\b|torch/script\.h)",
    ),
    Prelude(
        "full",
        ("torch/torch.h", "torch/script.h"),
        r"\b(nn|optim|data|serialize|nested|fft|linalg|special|sparse|cuda|mps|xpu)::"
        r"|\b(NoGradGuard|AutoGradMode|(torch|autograd)::(grad|backward|load|save|print)\b)"
        r"|\b[gs]et_num_(interop_)?threads\b|#\s*include\s*<torch/(?!script\.h|types\.h)",
    ),
)
"""Smallest first; the last one has everything, and is what a case is tried with at last."""


class CompileError(Exception):
    """A source does not compile; ``failure`` says why and where."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.summary)
        self.failure = failure


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
        self._commands = _Commands(environment, timeout_s)

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
                is_current=_includes_are_unchanged,
                while_waiting=self._commands.check_open,
            )
        return entry / "case.so"

    def is_cached(self, source: CppSource) -> bool:
        """Whether `case` will compile nothing."""
        key = self._case_key(source)
        return self._cache.find(CASES, key, _includes_are_unchanged) is not None

    def shim(self) -> Path:
        """The library with the client requests and the allocator, for this machine.

        Raises:
            CompileError: there is no C compiler, or it refuses.
        """
        source = SHIM_SOURCE.read_text(encoding="utf-8")
        command = self._shim_command()
        found = self._facts.fingerprint
        key = key_of(_FORMAT, source, found.compiler, found.libc, *command)

        def build(folder: Path) -> None:
            (folder / "steady.c").write_text(source, encoding="utf-8")
            done = self._commands.run(command, folder)
            if done.code != 0:
                raise CompileError(_unplaced(done))

        check_open = self._commands.check_open
        with _failing_as_value():
            return self._cache.entry(SHIMS, key, build, while_waiting=check_open) / "steady.so"

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
        _write_parts(source, folder)
        for prelude in candidates(source, self._preludes):
            done = self._compile(prelude, folder, cores)
            if done.code == 0:
                break
        else:
            raise CompileError(diagnosis(done.output, source))
        linked = self._commands.run(self._link_command(), folder, cores)
        if linked.code != 0:
            raise CompileError(_unplaced(linked))
        _keep_only_results(folder, prelude, included_files(folder / "case.d", self._cache.root))

    def _compile(self, prelude: Prelude, folder: Path, cores: tuple[int, ...]) -> _Done:
        (folder / "prelude.hpp").write_text(prelude.text, encoding="utf-8")
        headers = self._precompiled(prelude, cores)
        if headers:
            include = str(headers / "prelude.hpp")
            done = self._commands.run(self._case_command(include), folder, cores)
            if done.code == 0 or not _BAD_PRECOMPILED.search(done.output):
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
                raise CompileError(_unplaced(done))

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

    def _shim_command(self) -> list[str]:
        environment = self._commands.environment
        compiler = c_compiler(self._facts.compiler, environment)
        if not compiler:
            raise CompileError(Failure(FailureKind.REFUSED, "there is no C compiler"))
        command = [compiler, "-std=gnu11", "-O2", "-fPIC", "-pthread", "-shared"]
        command += ["-I", self._facts.valgrind_headers, "-Wl,-z,nodelete"]
        return [*command, "-o", "steady.so", "steady.c"]


# ---------------------------------------------------------------------------------------------
# What stands around the user's code
# ---------------------------------------------------------------------------------------------

_BEFORE = f"""\
#include <cstdint>
#include <cstdio>
#include <exception>

extern "C" __attribute__((visibility("default"))) char {MODEL_BUFFER}[{MODEL_BUFFER_SIZE}] = "";

static int instruction_counts_failed(const char *what, char *error, std::uint64_t size) noexcept
{{
    std::snprintf(error, size, "%s", what);
    return 1;
}}

"""

_OPEN = """\
extern "C" __attribute__((visibility("default"))) int instruction_counts_case(
    const std::uint64_t *instruction_counts_runs, std::uint64_t instruction_counts_count,
    void (*instruction_counts_begin)(void), void (*instruction_counts_end)(void),
    char *instruction_counts_error, std::uint64_t instruction_counts_size)
try {
"""

# The inner loop of one turn ends a statement at "break", which would otherwise end the window.
_LOOP = """\
;
for (std::uint64_t instruction_counts_window = 0;
     instruction_counts_window < instruction_counts_count; ++instruction_counts_window) {
    instruction_counts_begin();
    for (std::uint64_t instruction_counts_run = 0;
         instruction_counts_run < instruction_counts_runs[instruction_counts_window];
         ++instruction_counts_run) {
        do {
"""

_AFTER = """\
        ;
        } while (false);
    }
    instruction_counts_end();
}
return 0;
} catch (const std::exception &instruction_counts_thrown) {
    return instruction_counts_failed(
        instruction_counts_thrown.what(), instruction_counts_error, instruction_counts_size);
} catch (...) {
    return instruction_counts_failed(
        "something that is no std::exception was thrown",
        instruction_counts_error, instruction_counts_size);
}
"""

_OURS = "instruction_counts.cpp"


def translation_unit(source: CppSource) -> str:
    """The C++ that is compiled for ``source``, except its prelude."""
    return "".join(
        (
            _BEFORE,
            _pasted("global_setup", source.global_setup),
            _OPEN,
            _pasted("setup", source.setup),
            _LOOP,
            _pasted("stmt", source.stmt),
            _AFTER,
        )
    )


def _pasted(place: str, text: str) -> str:
    # The empty line ends what a backslash at the end of the text would continue.
    code = text.replace(f'"{MODEL_PATH}"', MODEL_BUFFER)
    return f'#line 1 "{place}"\n{code}\n\n#line 1 "{_OURS}"\n'


def candidates(source: CppSource, preludes: tuple[Prelude, ...]) -> tuple[Prelude, ...]:
    """What ``source`` is compiled with: what its words suggest, and the full prelude after that."""
    suggested = [one for one in preludes if re.search(one.words, source.text)]
    chosen = suggested[-1] if suggested else preludes[0]
    return (chosen,) if chosen == preludes[-1] else (chosen, preludes[-1])


def cpp_standard(torch_root: Path) -> int:
    """The standard that torch compiles extensions with, as its own `cpp_extension` names it.

    Torch 1.13 names C++14, whose headers also compile as C++17; 2.0 names C++17 and 2.13 C++20.
    """
    try:
        text = (torch_root / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
    except OSError:
        return _OLDEST_STANDARD
    named = [int(year) for year in re.findall(r"""['"]-std=c\+\+(\d\d)['"]""", text)]
    return max([_OLDEST_STANDARD, *named])


def c_compiler(cpp_compiler: str, environment: Mapping[str, str]) -> str:
    """The C compiler that goes with a C++ compiler: CC, else its namesake, else any."""
    path = environment.get("PATH", os.defpath)
    names = [environment.get("CC", ""), _namesake(cpp_compiler), "gcc", "cc"]
    found = (shutil.which(name, path=path) for name in names if name)
    return next((name for name in found if name), "")


def _namesake(cpp_compiler: str) -> str:
    folder, name = os.path.split(cpp_compiler)
    for cpp, c in (("clang++", "clang"), ("g++", "gcc"), ("c++", "cc")):
        if cpp in name:
            return os.path.join(folder, name.replace(cpp, c))  # noqa: PTH118 - may be a bare name
    return ""


def headers_digest(include_paths: Sequence[str]) -> str:
    """Changes when a header below ``include_paths`` does: their names, sizes and times."""
    digest = hashlib.sha256()
    for top in include_paths:
        for folder, subfolders, files in os.walk(top):
            subfolders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)  # noqa: PTH118 - ten thousand times
                with contextlib.suppress(OSError):
                    found = os.stat(path)  # noqa: PTH116 - ten thousand times
                    digest.update(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()


# ---------------------------------------------------------------------------------------------
# The files of a case
# ---------------------------------------------------------------------------------------------


def _write_parts(source: CppSource, folder: Path) -> None:
    # The compiler quotes the user's lines in its messages from files of these names.
    parts = {**attrs.asdict(source), "case.cpp": translation_unit(source)}
    for name, text in parts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _keep_only_results(folder: Path, prelude: Prelude, included: Mapping[str, str]) -> None:
    for path in folder.iterdir():
        if path.name not in {"case.so", "case.cpp", "prelude.hpp"}:
            path.unlink()
    about = {"prelude": prelude.name, "included": dict(included)}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")


def included_files(dependencies: Path, cache_root: Path) -> dict[str, str]:
    """The user's own headers that a case included, with their digests.

    They are found by no key, since only compiling tells them: an entry is current as long as they
    are what they were. Torch's and the system's are left out.
    """
    rule = dependencies.read_text(encoding="utf-8").split(":", 1)[1].replace("\\\n", " ")
    names = (re.sub(r"\\([ #])", r"\1", name) for name in re.findall(r"(?:\\[ #]|\S)+", rule))
    paths = (Path(name.replace("$$", "$")) for name in names)
    own = (path for path in paths if path.is_absolute() and cache_root not in path.parents)
    return {str(path): _digest_of(path) for path in own}


def _includes_are_unchanged(entry: Path) -> bool:
    try:
        about = json.loads((entry / "about.json").read_text(encoding="utf-8"))
        return all(_digest_of(Path(path)) == digest for path, digest in about["included"].items())
    except (OSError, ValueError, KeyError, AttributeError):
        return False  # a damaged entry is made again


def _digest_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "gone"


# ---------------------------------------------------------------------------------------------
# What compilers say
# ---------------------------------------------------------------------------------------------

_BAD_PRECOMPILED = re.compile(
    r"invalid-pch|precompiled header|PCH file|prelude\.hpp(\.gch)?: No such"
)
_ERROR = re.compile(r"^(?P<where>[^\s:][^:]*:\d+:).*?\berror: (?P<text>.*)$")
_USERS_LINE = re.compile(r"(?:^|from )(?P<part>global_setup|setup|stmt):(?P<line>\d+)\b")
_KILLED = re.compile(r"fatal error: (?P<signal>\w+) signal terminated program")
_UNDEFINED = re.compile(r"undefined reference to .*")


def diagnosis(output: str, source: CppSource) -> Failure:
    """The first error of a compiler's output, placed at the user's line that leads to it.

    An error in a header is placed at the line that included it or asked for an instantiation,
    which compilers name on a line before.
    """
    lines = output.splitlines()
    for number, line in enumerate(lines):
        error = _ERROR.match(line)
        if error:
            place, code = _users_line([line, *reversed(lines[:number])], source)
            return _compile_failure(f"error: {error['text']}", output, place, code)
    return _compile_failure("the C++ compiler failed", output)


def _users_line(lines: Sequence[str], source: CppSource) -> tuple[str, str]:
    for line in lines:
        found = _USERS_LINE.search(line)
        if found:
            written = getattr(source, found["part"]).splitlines()
            number = int(found["line"])
            code = written[number - 1].strip() if number <= len(written) else ""
            return f"{found['part']} line {number}", code
    return "", ""


def _unplaced(done: _Done) -> Failure:
    undefined = _UNDEFINED.search(done.output)
    if undefined:
        return _compile_failure(f"error: {undefined[0]}", done.output)
    errors = [line for line in done.output.splitlines() if "error: " in line]
    return _compile_failure((errors or [f"the compiler failed with {done.code}"])[0], done.output)


def _compile_failure(message: str, output: str, place: str = "", code: str = "") -> Failure:
    tail = output[-_OUTPUT_CHARACTERS:]
    return Failure(FailureKind.COMPILE, message, code=code, place=place, output=tail)


# ---------------------------------------------------------------------------------------------
# Running compilers
# ---------------------------------------------------------------------------------------------


@attrs.frozen
class _Done:
    code: int
    output: str


class _Commands:
    """Runs compilers, each in a session of its own, until it is closed."""

    def __init__(self, environment: Mapping[str, str], timeout_s: float) -> None:
        # Messages in English, and no date of today in what is compiled.
        fixed = {"LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "0"}
        self.environment = {**environment, **fixed}
        self._timeout_s = timeout_s
        self._running: set[subprocess.Popen[str]] = set()
        self._closed = False
        self._lock = threading.Lock()

    def run(self, command: Sequence[str], folder: Path, cores: tuple[int, ...] = ()) -> _Done:
        """How a command ended in ``folder``, which also gets its temporary files.

        Raises:
            CompileError: it was killed, or took too long.
        """
        with self._started(command, folder, cores) as process:
            try:
                output, _ = process.communicate(timeout=self._timeout_s)
            except subprocess.TimeoutExpired:
                _kill(process)
                output, _ = process.communicate()
                message = f"the compiler did not end within {self._timeout_s:g} s"
                raise CompileError(_tail_of(FailureKind.TIMEOUT, message, output)) from None
        self.check_open()
        if process.returncode < 0:
            raise CompileError(ending(process.returncode, output[-_OUTPUT_CHARACTERS:]))
        killed = _KILLED.search(output)
        if killed:
            message = f"the compiler was ended by a signal: {killed['signal']}"
            raise CompileError(_tail_of(FailureKind.SIGNAL, message, output))
        return _Done(process.returncode, output)

    def check_open(self) -> None:
        """Raise if compilers may no longer run."""
        if self._closed:
            raise CompileError(Failure(FailureKind.EXIT, "the compiler was stopped"))

    def close(self) -> None:
        """Kill what runs; nothing is started after that."""
        with self._lock:
            self._closed = True
            for process in self._running:
                _kill(process)

    @contextlib.contextmanager
    def _started(
        self, command: Sequence[str], folder: Path, cores: tuple[int, ...]
    ) -> Iterator[subprocess.Popen[str]]:
        with self._lock:
            self.check_open()
            process = _start(command, folder, self.environment)
            self._running.add(process)
        try:
            if cores:
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(process.pid, cores)
            yield process
        finally:
            with self._lock:
                self._running.discard(process)


def _start(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        message = f"{command[0]} does not start: {error.strerror}"
        raise CompileError(Failure(FailureKind.REFUSED, message)) from error


def _kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _failing_as_value() -> Iterator[None]:
    # A full disk, or a cache folder that somebody removes, costs the case alone.
    try:
        yield
    except OSError as error:
        message = f"compiling failed: {error.strerror}: {error.filename}"
        raise CompileError(Failure(FailureKind.REFUSED, message)) from error


def _tail_of(kind: FailureKind, message: str, output: str) -> Failure:
    return Failure(kind, message, output=output[-_OUTPUT_CHARACTERS:])
