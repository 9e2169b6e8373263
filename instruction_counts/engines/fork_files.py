"""What cases of the fork engine need that is made first: artefacts, shared objects, caches."""

import shutil
import tempfile
from functools import cached_property
from pathlib import Path

from instruction_counts.builds.compilers import first_line
from instruction_counts.builds.files import digest_of
from instruction_counts.builds.hermetic import environment
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.runtimes import Artefact, runtime_of
from instruction_counts.core.types import Language
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.cpp.source import CppSource
from instruction_counts.engines.engine import artefact_source, case_message
from instruction_counts.engines.fork_counts import Once
from instruction_counts.engines.fork_server import CACHES
from instruction_counts.engines.warm.client import Server
from instruction_counts.system.cache import has_its_sources, key_of, note_sources
from instruction_counts.system.worker_tasks import request_for


class CaseFiles:
    """Makes them on the cores of the case that asks first; called by several lanes at once."""

    def __init__(
        self,
        facts: BuildFacts,
        compiler: Compiler,
        times: Server,
        folder: Path,
        prepared_by: str = "",
    ) -> None:
        self._facts, self._compiler, self._times = facts, compiler, times
        self.folder, self.prepared_by = folder, prepared_by
        self._artefacts = Once(self._make_artefact)

    def forget_artefacts(self) -> None:
        """Make again what cases need: files that it was made of may have been edited since."""
        self._artefacts = Once(self._make_artefact)

    def of(self, order: WorkOrder, cores: tuple[int, ...]) -> dict[str, Path]:
        """The files of a case, by what they are to it.

        Raises:
            WorkerError, CompileError: one cannot be made.
        """
        files: dict[str, Path] = {}
        case = order.case
        source, artefact = artefact_source(case), runtime_of(case.autolabels.runtime).artefact
        if source is not None and artefact is not None:
            make = self._make_artefact if artefact.is_kept else self._artefacts.get
            files["artefact"] = make(source, artefact, order, cores)
        if self.prepared_by:
            files[CACHES] = self._caches_of(order, cores)
        if case.autolabels.language is Language.CPP:
            files["library"] = self._compiler.case(CppSource.of(case), cores)
        return files

    def _caches_of(self, order: WorkOrder, cores: tuple[int, ...]) -> Path:
        """The folder of what is compiled in the first runs of a case, made natively."""
        args = order.case.timer_args
        key = key_of(args.setup, args.stmt, str(args.num_threads), *self._identity)

        def build(folder: Path) -> None:
            request = request_for(self.prepared_by, case_message(order.case), cores)
            self._times.run(request, order.timeout_s, made={CACHES: folder / CACHES})

        return self._compiler.cache.entry(self.prepared_by, key, build) / CACHES

    @cached_property
    def _identity(self) -> tuple[str, ...]:
        """What decides, beside a case, what is compiled in it."""
        found = self._facts.fingerprint
        variables = environment(self._facts.build)
        inductors = variables.get("CXX", "g++")  # as Inductor chooses it
        path = shutil.which(inductors, path=variables["PATH"])
        return (
            inductors,
            first_line([path or inductors, "--version"]),
            found.compiler,
            found.libc,
            found.python,
            found.torch,
            found.torch_git,
            digest_of(self._facts.files),
            repr(sorted(self._facts.build.env.items())),
        )

    def _make_artefact(
        self, source: str, artefact: Artefact, order: WorkOrder, cores: tuple[int, ...]
    ) -> Path:
        name, num_threads = f"artefact{artefact.suffix}", order.case.num_threads

        def build(folder: Path) -> None:
            case = {"artefact_source": source, "num_threads": num_threads}
            request = request_for("artefact", case, cores)
            answer = self._times.run(request, order.timeout_s, made={"artefact": folder / name})
            note_sources(folder, answer["read"])

        if artefact.is_kept:
            key = key_of(source, str(num_threads), *self._identity)
            kept = self._compiler.cache.entry("artefacts", key, build, is_current=has_its_sources)
            return kept / name
        folder = Path(tempfile.mkdtemp(dir=self.folder, prefix="artefact-"))
        build(folder)
        return folder / name
