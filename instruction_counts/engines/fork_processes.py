"""The processes of the fork engine: what is started, with which variables, in which folder."""

import contextlib
import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs

from instruction_counts.builds.hermetic import STEADY_GLIBC, environment, on_one_core, without_aslr
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.api import TORCH
from instruction_counts.engines.engine import Profile, refusal_of
from instruction_counts.engines.fork_server import ForkServer
from instruction_counts.engines.machine import read_machine
from instruction_counts.system.commands import called
from instruction_counts.system.files import text_of
from instruction_counts.system.worker_process import WorkerProcess
from instruction_counts.system.worker_tasks import COUNTED, modules_of_servers

TIMES, COUNTS, CYCLES = "times", "counts", "cycles"
"""The roles of servers, and the names of their folders: the last one simulates caches, too."""
_WHAT = {TIMES: "takes times", COUNTS: "counts", CYCLES: "estimates cycles"}

_CALLGRIND = (
    "valgrind",
    "--tool=callgrind",
    "--instr-atstart=no",
    "--collect-atstart=yes",
    "--separate-threads=yes",
    "--vgdb=no",
    "--callgrind-out-file=dumps/cg.%p",
)
_LOG = "--log-file=dumps/cg.%p.log"
"""Of each process its own, where Callgrind says what a window cost."""
_REHEARSAL = "rehearsal"
_NAMES = "names"
"""The file of names that the server of times writes, and the one that counts reads."""
_PADDING = 11
"""By how many bytes each layout makes the paths of the build longer."""


@attrs.frozen
class Which:
    """What tells a server of a build and profile from its others."""

    role: str
    prepared_by: str = ""
    """The module that gets it ready, where one does."""
    imports: tuple[str, ...] = TORCH
    """What its children find imported."""

    @property
    def title(self) -> str:
        """What people know it by."""
        others = [name for name in self.imports if name not in TORCH]
        return "+".join([self._base, *others])

    @property
    def folder(self) -> str:
        """The name of its folder."""
        if self.imports == TORCH:
            return self._base
        digest = hashlib.sha256("\n".join(self.imports).encode()).hexdigest()
        return f"{self._base}-{digest[:8]}"

    @property
    def _base(self) -> str:
        return f"{self.role}-{self.prepared_by}" if self.prepared_by else self.role


class ForkProcesses:
    """Starts the workers of one build below ``folder``, with ``libraries`` beside them.

    What is one of CUDA's among these is loaded before torch.
    """

    def __init__(
        self, facts: BuildFacts, profile: Profile, folder: Path, libraries: Sequence[Path]
    ) -> None:
        self._facts, self._profile = facts, profile
        self.links = facts.links(_PADDING * profile.layout)
        """None where the length of the build's own path takes part in what is counted."""
        self._folder, self._libraries = folder, libraries
        self._names: dict[Path, bytes] = {}
        # Ours have no version in their names.
        self._stand_ins = [path for path in libraries if path.suffix != ".so"]

    def server(self, which: Which, notice: Callable[[str], None]) -> ForkServer:
        """A server in a folder of its own, not started yet.

        What its module makes to get it ready lies in the folder of the one that takes times.

        It starts only while the files of the build are those that there were. ``notice`` learns
        that it is started again.
        """
        # The worker and the allocator lie in the working folder under fixed names, so that nothing
        # in the memory of the process depends on where this program or its cache is.
        role, prepared_by = which.role, which.prepared_by
        folder = self._folder / which.folder
        native = self._folder / attrs.evolve(which, role=TIMES).folder
        # By the name under which it is preloaded, or there would be two of it, with counters each.
        links = self.links
        serve = {
            "task": "serve",
            "role": TIMES if role == TIMES else COUNTS,
            "shim": "./steady.so",
            "search_path": {} if links is None else links.search_path(folder),
            "scattered": self._profile.layout,
            "prepares": prepared_by,
            "imports": which.imports,
            "rehearsal": _REHEARSAL,
        }
        if self._stand_ins:
            serve["stand_ins"] = [f"./{path.name}" for path in self._stand_ins]
        if role == TIMES:
            serve["modules"] = [module.stem for module in modules_of_servers(counting=False)]

        def start_worker(folder: Path) -> WorkerProcess:
            if role == TIMES:
                return self._worker(folder, {}, (), ("worker.py",))
            if prepared_by and not (folder / _REHEARSAL).exists():
                shutil.copytree(native / _REHEARSAL, folder / _REHEARSAL)
            self._give_names(native, folder)
            simulated = (self._profile.machine or read_machine()).options if role == CYCLES else ()
            command = (*_CALLGRIND, _LOG, *simulated)
            return self._worker(folder, self._allocator(), command, ("names.py", "worker.py"))

        of = f" {prepared_by} cases" if prepared_by else ""
        server = f'The server that {_WHAT[role]}{of} on build "{self._facts.build.name}"'
        return ForkServer(
            folder,
            start_worker,
            serve,
            fill=lambda made: self._fill(made, role),
            sweep=lambda pid: remove_dumps(folder / "dumps", pid),
            said=lambda pid: said_by_valgrind(folder / "dumps", pid),
            refusal=lambda: refusal_of(self._facts),
            notice=lambda why: notice(f"{server} is started again: {why}"),
            told=lambda text: text if links is None else links.told(text, folder),
        )

    def _give_names(self, native: Path, folder: Path) -> None:
        """Let a process know what one in the folder ``native`` wrote, whose case may delete it."""
        with contextlib.suppress(FileNotFoundError):
            self._names[native] = (native / _NAMES).read_bytes()
        if native in self._names:
            (folder / _NAMES).write_bytes(self._names[native])

    def _fill(self, folder: Path, role: str) -> None:
        if self.links is not None:
            self.links.make(folder)
        (folder / "dumps").mkdir(mode=0o700, exist_ok=True)
        shutil.copy(COUNTED[0], folder / "worker.py")
        for path in (*COUNTED[1:], *modules_of_servers(counting=role != TIMES), *self._libraries):
            shutil.copy(path, folder)

    def callgrind_fault(self) -> str:
        """Why Valgrind does not start; empty where it does, or the process crashes."""
        folder = self._folder / COUNTS
        if not folder.exists():  # no server of this command has it
            folder.mkdir(mode=0o700)
            self._fill(folder, COUNTS)
        variables = environment(self._facts.build, {**self._allocator(), **self._variables()})
        # Without `site`, which may import torch where a build changes it.
        command = (*without_aslr(), *_CALLGRIND, self._facts.interpreter, "-S", "-c", "")
        try:
            done = called(command, cwd=folder, env=variables, stderr=subprocess.STDOUT)
        except OSError as error:
            return str(error)
        for path in (folder / "dumps").iterdir():
            path.unlink()
        last = "\n".join(done.stdout.splitlines()[-5:])
        return f"exit code {done.returncode}\n{last}".strip() if done.returncode > 0 else ""

    def _allocator(self) -> Mapping[str, str]:
        if self._profile.allocator == "system":
            return STEADY_GLIBC
        return {"LD_PRELOAD": "./steady.so", "PYTHONMALLOC": "malloc"}

    def _worker(
        self,
        folder: Path,
        extra: Mapping[str, str],
        command: tuple[str, ...],
        files: Sequence[str],
    ) -> WorkerProcess:
        build, interpreter = self._facts.build, self._facts.interpreter
        if self.links is not None:
            build = self.links.linked(build, folder)
            interpreter = str(build.python)
        variables = environment(build, {**extra, **self._variables()})
        if self.links is not None:
            variables = self.links.through(variables, folder)
        prefix = (*on_one_core(), *without_aslr(), *command)
        # Not as a script: that would put its absolute path into the process.
        script = "; ".join(
            f"exec(compile(open('{name}').read(), '{name}', 'exec'))" for name in files
        )
        return WorkerProcess(interpreter, variables, folder, prefix, ("-c", script))

    def _variables(self) -> dict[str, str]:
        variables = {}
        if not self._folder.is_relative_to("/tmp"):  # noqa: S108 - where a folder lies if it can
            variables["TMPDIR"] = "."  # of Valgrind, which would write to /tmp
        if self._profile.pinned_isa:
            variables["ATEN_CPU_CAPABILITY"] = self._profile.pinned_isa
        if self._profile.layout:
            # The heap through the steady allocator, the stack through the environment's size. The
            # hash seed is not a matter of layout: it is the same in every run, of every build.
            variables["STEADY_LAYOUT"] = str(self._profile.layout)
            variables["INSTRUCTION_COUNTS_LAYOUT"] = "x" * (37 * self._profile.layout)
        return variables


_HEADING = re.compile(r"==\d+== (Callgrind|Copyright|Using Valgrind|Command|Parent PID|For inter)")
_SAID = re.compile(r"(?:==\d+== +\S|vex ).*")


def said_by_valgrind(folder: Path, pid: int) -> str:
    """Why Valgrind ended a process, from its log below ``folder``; empty where it did not."""
    lines = text_of(folder / f"cg.{pid}.log").partition("Events    :")[0].splitlines()
    return "\n".join(line for line in lines if _SAID.match(line) and not _HEADING.match(line))


def remove_dumps(folder: Path, pid: int) -> None:
    """Remove all that Callgrind wrote for a process."""
    for pattern in (f"cg.{pid}", f"cg.{pid}-*", f"cg.{pid}.*"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
