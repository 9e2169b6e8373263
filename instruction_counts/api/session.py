"""A session: one build, whose servers stay open from one measurement to the next."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison as StoredComparison
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.api.arguments import (
    Cases,
    Comparing,
    Select,
    SideLike,
    builds_of,
    comparison_request,
    database_of,
    definitions_of,
    given_side,
    mode_of,
    require_names,
    selection_of,
)
from instruction_counts.api.passing import code_of
from instruction_counts.api.values import Comparison, Result, Run, StatementError, as_kind
from instruction_counts.builds.hermetic import environment
from instruction_counts.core.types import Language, RuntimeMode
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import FailureKind, Status
from instruction_counts.domain.records import Complete, Record
from instruction_counts.domain.work import Statements
from instruction_counts.execution.events import Observer, Silent
from instruction_counts.session.builds import BuildRunner, MeasurementSettings, RunnerOf
from instruction_counts.session.comparing import ComparisonRequest, compare_sides
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.session.recording import Recorder
from instruction_counts.session.timing import Timed, time_statements
from instruction_counts.sources.definitions import STANDARD, load_cases
from instruction_counts.storage.store import Store
from instruction_counts.system.folders import WorkFolder

_SETTINGS = MeasurementSettings()
_SILENT = Silent()


class StatementOptions(TypedDict, total=False):
    """What `Session.count` and `Session.time` take beside the statement and its setup."""

    language: str
    """``"python"`` or ``"c++"``."""
    runtime: str
    """``"eager"`` (the default), ``"torchscript"``, or another that is registered."""
    backward: bool
    """Whether forward and backward are measured together."""
    gradient: str
    """The variable that ``backward`` starts from, where the output is no scalar."""
    signature: str
    """``f(x, y) -> z``, where it cannot be derived."""
    num_threads: int


class Session:
    """Measures on one build, with servers that stay open between calls.

        with Session() as session:
            print(session.count("x + y", globals={"x": x, "y": y}).instructions)

    Args:
        build: an interpreter or virtual environment, or a `Build`; by default the interpreter that
            runs this.
        settings: engine, allocator, number of lanes, time limits and so on.
        db: a database that runs are stored in and read from; without it, nothing is stored, and
            stored runs are those of the user's own.
        observer: receives remarks and progress.

    Servers start with the first measurement, which takes 7 to 25 s. They start anew where files of
    the build changed since, after an interrupt, and where an engine refused a case. They end with
    `close`, with the ``with`` block, and with the process.
    """

    def __init__(
        self,
        build: str | Build | None = None,
        *,
        settings: MeasurementSettings = _SETTINGS,
        db: str | Path | None = None,
        observer: Observer = _SILENT,
        runner_of: RunnerOf = BuildRunner.of,
    ) -> None:
        (self.build,) = builds_of(() if build is None else build)
        self.settings, self._db, self._observer = settings, database_of(db), observer
        self._runner_of = runner_of
        self._open = contextlib.ExitStack()
        self._runner: BuildRunner | None = None
        self._started: tuple[Any, ...] = ()
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "servers are open" if self._runner is not None else "no servers"
        return f"<Session on {self.build.name}, {state}>"

    def close(self) -> None:
        """End the servers, and remove what was passed on; the next measurement starts new ones."""
        opened, self._open = self._open, contextlib.ExitStack()
        self._runner, self._started, self._folder = None, (), None
        opened.close()

    def count(
        self,
        stmt: str,
        setup: str = "",
        *,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - as torch's Timer and timeit
        **options: Unpack[StatementOptions],
    ) -> Result:
        """Count the instructions of an iteration of ``stmt``, after ``setup`` ran once.

        Args:
            stmt: Python, or C++ with ``language="c++"``.
            setup: code in the same language.
            globals: variables that ``stmt`` and ``setup`` may read: plain data, tensors, modules,
                functions, classes, and what ``torch.save`` can save. They are copied.
            options: see `StatementOptions`.

        Raises:
            StatementError: the statement failed.
            UsageError: a variable cannot be passed on, or an option is wrong.
            BuildError: the build cannot be measured.
        """
        wanted = attrs.evolve(self.settings, counts=True, times=False)
        return self._result(stmt, setup, globals, options, wanted)

    def time(
        self,
        stmt: str,
        setup: str = "",
        *,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - as torch's Timer and timeit
        **options: Unpack[StatementOptions],
    ) -> Result:
        """Measure the wall time of an iteration, in seconds; otherwise as `count`."""
        wanted = attrs.evolve(self.settings, counts=False, times=True)
        return self._result(stmt, setup, globals, options, wanted)

    def run(
        self,
        definitions: Cases = STANDARD,
        *,
        skip_unavailable: bool = False,
        **select: Unpack[Select],
    ) -> Run:
        """Measure cases on this build; see `instruction_counts.api.measure`."""
        with self._given_up_if_interrupted():
            return measured(
                *(definitions, select, [self.build], self.settings, self._db, self._observer),
                skip_unavailable=skip_unavailable,
                runner_of=self._kept,
            )

    def compare(
        self, base: SideLike, definitions: Cases | None = None, **how: Unpack[Comparing]
    ) -> Comparison:
        """Measure this build, and compare it with ``base``; see `instruction_counts.api.compare`.

        If ``base`` is a `Build`, both are measured by turns, and the servers of both stay open.
        """
        request = comparison_request(definitions, self.settings, self._db, how)
        with self._given_up_if_interrupted():
            return compared(base, self.build, request, self._db, self._observer, self._kept)

    def statements(
        self,
        asked: Statements,
        values: Mapping[str, Any] | None = None,
        settings: MeasurementSettings | None = None,
    ) -> Timed:
        """Measure several statements beside each other, as ``time`` does; failures are records."""
        wanted = settings or self.settings
        with self._given_up_if_interrupted():
            quiet = _Problems(self._observer)
            runner = attrs.evolve(self._kept([self.build]), settings=wanted, observer=quiet)
            if values and not asked.is_cpp:
                passed = code_of(asked.py_setup, asked.stmts, values, self._values())
                setup = "\n".join(code for code in (passed, asked.py_setup) if code)
                asked = attrs.evolve(asked, py_setup=setup)
            timed = time_statements(asked, runner)
        failures = [found.record.outcome.failure for found in timed.statements]
        refused = any(found and found.kind is FailureKind.REFUSED for found in failures)
        if refused or not timed.is_sound:  # an engine that refused a case refuses what follows
            self.close()
        return timed

    def _result(
        self,
        stmt: str,
        setup: str,
        values: Mapping[str, Any] | None,
        options: StatementOptions,
        settings: MeasurementSettings,
    ) -> Result:
        asked = _statement(stmt, setup, **options)
        timed = self.statements(asked, values, settings)
        record = timed.statements[0].record
        if record.outcome.status is not Status.OK:
            failure = record.outcome.failure
            why = record.outcome.status.value if failure is None else failure.summary
            raise StatementError(f"{record.key.title}: {why}", timed.advice)
        return Result(record)

    def _values(self) -> Path:
        if self._folder is None:
            self._folder = self._open.enter_context(WorkFolder())
        return self._folder

    def _kept(
        self,
        builds: Sequence[Build],
        settings: MeasurementSettings | None = None,
        observer: Observer | None = None,
        recorder: Recorder | None = None,
    ) -> BuildRunner:
        """A runner for ``builds`` whose servers are open, the same ones wherever that will do."""
        del settings, observer  # those of the session
        needed = [(build, environment(build)) for build in builds]
        if (needed,) != self._started or self._is_stale():
            self.close()
        if self._runner is None:
            runner = self._runner_of(builds, self.settings, self._observer)
            self._runner = self._open.enter_context(runner.keeping())
            self._started = (needed,)
        return attrs.evolve(self._runner, recorder=recorder)

    def _is_stale(self) -> bool:
        """Whether files of a build changed since its servers started; says so."""
        if self._runner is None or self._runner.kept is None:
            return False
        changed = self._runner.kept.changed_files()
        for files in changed.values():
            self._observer.note(
                f"Files of the build changed, and its servers start again: {files.summary}"
            )
        return bool(changed)

    @contextlib.contextmanager
    def _given_up_if_interrupted(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self.close()
            raise


class _Problems(Silent):
    """Passes on problems alone: of a statement, a result is enough."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def error(self, text: str) -> None:
        """Report a problem after which the use case goes on."""
        self._observer.error(text)


def _statement(
    stmt: str,
    setup: str,
    *,
    language: str = Language.PYTHON.option,
    runtime: str = "",
    backward: bool = False,
    gradient: str | None = None,
    signature: str | None = None,
    num_threads: int = 1,
) -> Statements:
    is_cpp = mode_of("language", Language, language) == Language.CPP.value
    if runtime:
        mode_of("runtime", RuntimeMode, runtime)
    return Statements(
        (stmt,),
        is_cpp,
        py_setup="" if is_cpp else setup,
        cpp_setup=setup if is_cpp else "",
        signature=signature,
        runtimes=(runtime,) if runtime else (),
        autograd=backward,
        gradient=gradient,
        num_threads=(num_threads,),
    )


def measured(
    definitions: Cases,
    select: Select,
    builds: Sequence[Build],
    settings: MeasurementSettings,
    db: str | None,
    observer: Observer,
    *,
    skip_unavailable: bool,
    runner_of: RunnerOf = BuildRunner.of,
) -> Run:
    """What `measure` does, and `Session.run` on servers that are open."""
    cases = load_cases(definitions_of(definitions), selection_of(**select))
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store.open(db)) if db is not None else None
        runner = runner_of(builds, settings, observer, store)
        found = runner.run(runner.orders(cases, skip=skip_unavailable))
        if found.interrupted:
            raise KeyboardInterrupt
        records = tuple(map(runner.completed, found.run.cases))
        run = attrs.evolve(found.run, cases=records, is_stored=found.is_stored)
    return as_kind(Run, run)


def compared(
    base: SideLike,
    new: SideLike,
    request: ComparisonRequest,
    db: str | None,
    observer: Observer,
    runner_of: RunnerOf = BuildRunner.of,
) -> Comparison:
    """What `compare` does, and `Session.compare` on servers that are open."""
    builds = [given for given in (base, new) if isinstance(given, Build)]
    require_names(builds)
    with LazyStore(db) as runs:
        found = compare_sides(given_side(base), given_side(new), request, runs, observer, runner_of)
        comparison = attrs.evolve(
            _with_details(found.comparison, runs.completed), is_sound=found.is_sound
        )
    if found.interrupted:
        raise KeyboardInterrupt
    return as_kind(Comparison, comparison)


def _with_details(comparison: StoredComparison, complete: Complete) -> StoredComparison:
    """The comparison, whose records need their store no more."""

    def full(record: Record | None) -> Record | None:
        return None if record is None else complete(record)

    def side(given: Side) -> Side:
        records = {key: complete(record) for key, record in given.records.items()}
        return attrs.evolve(given, records=records)

    return attrs.evolve(
        comparison,
        base=side(comparison.base),
        new=side(comparison.new),
        differences=tuple(
            attrs.evolve(difference, base=full(difference.base), new=full(difference.new))
            for difference in comparison.differences
        ),
    )
