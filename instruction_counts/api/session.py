"""A session: one build, whose servers stay open from one measurement to the next."""

import contextlib
import os
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import attrs

from instruction_counts.analysis.verdicts import comparison
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.api.arguments import (
    Cases,
    Comparing,
    Select,
    SideLike,
    builds_of,
    comparison_request,
    definitions_of,
    given_side,
    mode_of,
    selection_of,
)
from instruction_counts.api.beside import modules_beside
from instruction_counts.api.passing import code_of, codes_of
from instruction_counts.api.values import Comparison, Result, Run, StatementError, as_kind
from instruction_counts.builds.hermetic import environment
from instruction_counts.builds.interpreter import missing_modules
from instruction_counts.core.types import Case, Language, RuntimeMode
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import FailureKind, Status
from instruction_counts.domain.work import Statements
from instruction_counts.execution.events import Observer, Silent
from instruction_counts.gate.baseline import Baseline
from instruction_counts.session.builds import BuildRunner, MeasurementSettings, RunnerOf
from instruction_counts.session.comparing import compare_sides, verify
from instruction_counts.session.sides import LazyStore
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
    device: str
    """``"cpu"`` or ``"cuda"``: where the tensors are; the code knows it as ``device``."""


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

    Servers start with the first measurement, which takes 20 to 40 s, unless an earlier command left
    some. They start again where files of the build changed since, and where an engine refused a
    case. `close`, the end of the ``with`` block or of the process, and an interrupt let go of them;
    they stay ready for the next session or command for some minutes, unless the environment
    variable INSTRUCTION_COUNTS_KEEP_SERVERS says otherwise.
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
        self.settings, self._db, self._observer = settings, db, observer
        self._runner_of = runner_of
        self._open = self._closed_at_the_end()
        self._runner: BuildRunner | None = None
        self._started: list[Any] = []
        self._folder: Path | None = None
        self._asked_for: set[str] = set()
        self._missing: set[str] = set()
        """Modules of this program that the build was asked for, and those that it does not have."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "servers are open" if self._runner is not None else "no servers"
        return f"<Session on {self.build.name}, {state}>"

    def close(self) -> None:
        """Let go of the servers, and remove what was passed on; both are made again when needed."""
        opened, self._open = self._open, self._closed_at_the_end()
        self._runner, self._started, self._folder = None, [], None
        opened.close()

    def _closed_at_the_end(self) -> contextlib.ExitStack:
        opened, process = contextlib.ExitStack(), os.getpid()

        def close() -> None:
            if os.getpid() == process:  # and not in a fork of it
                opened.close()

        weakref.finalize(self, close)
        return opened

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
        return self._result(_statement(stmt, setup, options), globals, counts=True)

    def time(
        self,
        stmt: str,
        setup: str = "",
        *,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - as torch's Timer and timeit
        **options: Unpack[StatementOptions],
    ) -> Result:
        """Measure the wall time of an iteration, in seconds; otherwise as `count`."""
        return self._result(_statement(stmt, setup, options), globals, counts=False)

    def run(
        self,
        definitions: Cases = STANDARD,
        *,
        skip_unavailable: bool = False,
        **select: Unpack[Select],
    ) -> Run:
        """Measure cases on this build; see `instruction_counts.api.measure`."""
        with self._given_up_if_interrupted():
            how = {"skip_unavailable": skip_unavailable, **self._own}
            return measure(definitions, builds=self.build, **how, **select)

    def compare(
        self, base: SideLike, definitions: Cases | None = None, **how: Unpack[Comparing]
    ) -> Comparison:
        """Measure this build, and compare it with ``base``; see `instruction_counts.api.compare`.

        If ``base`` is a `Build`, both are measured in turns, and the servers of both stay open.
        """
        with self._given_up_if_interrupted():
            return compare(base, self.build, definitions=definitions, **self._own, **how)

    def verify(
        self, compared: comparison.Comparison, baseline: Baseline, cases: Sequence[Case]
    ) -> comparison.Comparison:
        """What a baseline differs from by enough is counted again in other memory layouts."""
        with self._given_up_if_interrupted():
            return verify(self._kept([self.build]), cases, compared, baseline=baseline)

    def passed(
        self, setup: str, stmts: Iterable[str], values: Mapping[str, Any], folder: Path
    ) -> str:
        """Code that makes ``values`` in the build, as `instruction_counts.api.passing` does."""
        beside = modules_beside(codes_of(setup, stmts, values))
        new = beside.keys() - self._asked_for
        self._asked_for |= new
        self._missing |= missing_modules(self.build, new)
        others = self._missing | sys.stdlib_module_names
        beside = {name: place for name, place in beside.items() if name in others}
        return code_of(setup, stmts, values, folder, beside)

    @property
    def _own(self) -> dict[str, Any]:
        shared = {"settings": self.settings, "db": self._db, "observer": self._observer}
        return {**shared, "runner_of": self._kept}

    def statements(
        self,
        asked: Statements,
        values: Mapping[str, Any] | None = None,
        settings: MeasurementSettings | None = None,
    ) -> Timed:
        """Measure several statements beside each other, as ``time`` does; failures are records."""
        with self._given_up_if_interrupted():
            runner = attrs.evolve(
                self._kept([self.build]),
                settings=settings or self.settings,
                observer=_Problems(self._observer),
            )
            if values is not None and not isinstance(values, Mapping):
                raise UsageError("globals is no mapping of names to values", "globals=globals()")
            if not asked.is_cpp:
                self._folder = self._folder or self._open.enter_context(WorkFolder())
                passed = self.passed(asked.setup, asked.stmts, values or {}, self._folder)
                setup = "\n".join(code for code in (passed, asked.setup) if code)
                asked = attrs.evolve(asked, setup=setup)
            timed = time_statements(asked, lambda: runner)
        failures = [found.record.outcome.failure for found in timed.statements]
        refused = any(found and found.kind is FailureKind.REFUSED for found in failures)
        if refused or not timed.run.is_sound:  # an engine that refused a case refuses what follows
            self.close()
        return timed

    def _result(
        self, asked: Statements, values: Mapping[str, Any] | None, *, counts: bool
    ) -> Result:
        settings = attrs.evolve(self.settings, counts=counts, times=not counts)
        timed = self.statements(asked, values, settings)
        record = timed.statements[0].record
        if record.outcome.status is not Status.OK:
            failure = record.outcome.failure
            why = record.outcome.status.value if failure is None else failure.summary
            raise StatementError(f"{record.key.title}: {why}", timed.advice)
        return Result(record)

    def _kept(
        self,
        builds: Sequence[Build],
        settings: MeasurementSettings | None = None,
        observer: Observer | None = None,
        recorder: Store | None = None,
    ) -> BuildRunner:
        """A runner for ``builds`` whose servers are open, the same ones wherever that will do."""
        del settings, observer  # those of the session
        needed = [(build, environment(build)) for build in builds]
        kept = None if self._runner is None else self._runner.kept
        changed = {} if kept is None else kept.changed_files()
        for files in changed.values():
            self._observer.note(
                f"Files of the build changed, and its servers start again: {files.summary}"
            )
        if changed or needed != self._started:
            self.close()
        if self._runner is None:
            runner = self._runner_of(builds, self.settings, self._observer)
            self._runner = self._open.enter_context(runner.keeping())
            self._started = needed
        return attrs.evolve(self._runner, recorder=recorder)

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


def _statement(stmt: str, setup: str, options: StatementOptions) -> Statements:
    if not (isinstance(stmt, str) and isinstance(setup, str)):
        raise UsageError("a statement and its setup are code", 'For example: count("x + y")')
    if unknown := options.keys() - StatementOptions.__annotations__.keys():
        known = ", ".join(StatementOptions.__annotations__)
        raise UsageError(f'there is no option "{unknown.pop()}"', f"Choose from: {known}")
    others: dict[str, Any] = {**options}
    runtime, language = others.pop("runtime", ""), others.pop("language", Language.PYTHON.option)
    if runtime:
        mode_of("runtime", RuntimeMode, runtime)
    return Statements(
        (stmt,),
        is_cpp=mode_of("language", Language, language) == Language.CPP.value,
        setup=setup,
        runtimes=(runtime,) if runtime else (),
        autograd=others.pop("backward", False),
        num_threads=(others.pop("num_threads", 1),),
        **others,
    )


def measure(
    definitions: Cases = STANDARD,
    *,
    builds: str | Build | Sequence[str | Build] = (),
    settings: MeasurementSettings = _SETTINGS,
    skip_unavailable: bool = False,
    db: str | Path | None = None,
    observer: Observer = _SILENT,
    runner_of: RunnerOf = BuildRunner.of,
    **select: Unpack[Select],
) -> Run:
    """Measure cases on one build or several.

    Args:
        definitions: what is measured: a mapping as ``BENCHMARKS`` of a definition file, a module or
            file that holds one, a specification, or cases.
        builds: interpreters or virtual environments, ``"NAME=PATH"`` or a path; by default the
            interpreter that runs this.
        settings: engine, number of lanes, time limits, and whether to count and to time.
        skip_unavailable: measure what a build can, if it has no Valgrind or C++ compiler.
        db: a database (a file, or a URL of PostgreSQL) that the run is stored in as well.
        observer: receives remarks and progress while it runs.
        runner_of: makes what measures; of a `Session`, the servers that it keeps.
        select: ``only``, ``languages``, ``runtimes`` and ``autograds`` (see `Select`).

    Returns:
        The run, with a record for each case on each build, in the order of the definitions. A case
        that failed is a record, too: ``record.outcome.status`` says how it ended.

        Two faults end no run, and have to be looked at: ``run.is_stored`` is false where ``db``
        does not have all of the run, because it could not be written (the records are all here),
        and ``run.changed_files`` names the builds of which files changed meanwhile.

    Raises:
        UsageError: no case is selected, or an argument is not known.
        DefinitionError: there is a mistake in the definitions.
        BuildError: a build cannot be used, or does not have something that the cases need.
        DataError: a specification or the database cannot be read.
    """
    cases = load_cases(definitions_of(definitions), selection_of(**select))
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store(db)) if db is not None else None
        runner = runner_of(builds_of(builds), settings, observer, store)
        found = runner.run(runner.orders(cases, skip=skip_unavailable)).finished()
        records = tuple(record.completed for record in found.run.cases)
    return as_kind(Run, attrs.evolve(found.run, cases=records))


def compare(
    base: SideLike,
    new: SideLike,
    *,
    definitions: Cases | None = None,
    settings: MeasurementSettings = _SETTINGS,
    db: str | Path | None = None,
    observer: Observer = _SILENT,
    runner_of: RunnerOf = BuildRunner.of,
    **how: Unpack[Comparing],
) -> Comparison:
    """Compare two sides, case by case, with a verdict on each.

    Args:
        base: a `Run` of one build, a `Side` (see `side`), a result file, the number or tag of a
            stored run (``RUN:BUILD`` where it has several builds), or a `Build` to measure (see
            `parse_build`).
        new: the same. Two builds are measured in turns, and cases that differ are counted again.
        definitions: the cases that are measured, and compared; by default the standard suite is
            measured, and every case of the sides compared.
        settings: see `measure`.
        db: the database that stored runs are read from, by default the user's own. If it is given,
            what is measured is stored there.
        observer: receives remarks and progress while builds are measured.
        runner_of: as for `measure`.
        how: ``min_effect``, ``layouts`` and the names of `Select` (see `Comparing`).

    Returns:
        The comparison: ``differences`` has an entry for each case: its verdict, its noise floor and
        both records. Noise floors are those that either side's records hold (``record.noise``).
        ``is_sound`` is false where ``db`` does not have all that was measured, or files of a build
        changed meanwhile.

    Raises:
        UsageError: a side does not exist, or has no selected case.
        DefinitionError: there is a mistake in the definitions.
        DataError: a file or the database cannot be read.
        BuildError: a build cannot be measured.
    """
    request = attrs.evolve(
        comparison_request(STANDARD if definitions is None else definitions, settings, how),
        defined_only=definitions is not None,
        stores=db is not None,
    )
    builds_of([given for given in (base, new) if isinstance(given, Build)])
    with LazyStore(db) as runs:
        found = compare_sides(given_side(base), given_side(new), request, runs, observer, runner_of)
        if found.interrupted:
            raise KeyboardInterrupt

        def whole(side: Side) -> Side:  # its records need their store no more
            records = {key: record.completed for key, record in side.records.items()}
            return attrs.evolve(side, records=records)

        before, after = whole(found.comparison.base), whole(found.comparison.new)
        differences = tuple(
            attrs.evolve(case, base=before.records.get(case.key), new=after.records.get(case.key))
            for case in found.comparison.differences
        )
        compared = attrs.evolve(
            found.comparison,
            base=before,
            new=after,
            differences=differences,
            is_sound=found.is_sound,
        )
    return as_kind(Comparison, compared)
