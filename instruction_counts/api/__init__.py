"""The Python interface: the use cases of the command line, for programs and notebooks.

    from instruction_counts.api import TimerArgs, measure

    run = measure({"add": TimerArgs("x + x", "x = torch.ones((4, 4))")})
    print(run.cases[0].outcome.instructions.per_run)

Values go in and values come back. Nothing is printed unless an ``observer`` is given, and what is
measured is stored only where ``db`` says. Counts are instructions per iteration (one execution of
the statement), times are seconds per iteration. An interrupt raises `KeyboardInterrupt`; with
``db``, the cases that finished are stored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import attrs

from core.api import GroupedModules, GroupedSetup, GroupedStmts, GroupedVariants, TimerArgs
from core.errors import DefinitionErrors
from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.api.arguments import (
    Cases,
    builds_of,
    database_of,
    definitions_of,
    effect_of,
    given_side,
    limits_of,
    require_names,
    selection_of,
    side,
    stored_side,
)
from instruction_counts.builds.configured import parse_build
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.records import Complete, Record, Run
from instruction_counts.gate.limits import Limits
from instruction_counts.report.torch_objects import callgrind_stats, measurement
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.cases import load_cases
from instruction_counts.session.checking import Check, CheckRequest, check_build, check_run
from instruction_counts.session.comparing import ComparisonRequest, compare_sides
from instruction_counts.session.explaining import Explained, explain_sides
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.session.observer import Observer, Silent
from instruction_counts.session.sides import read_side
from instruction_counts.sources.definitions import STANDARD
from instruction_counts.sources.operators.source import operators
from instruction_counts.storage.store import Store

__all__ = [
    "Build",
    "BuildError",
    "Check",
    "Comparison",
    "DataError",
    "DefinitionErrors",
    "Explained",
    "GroupedModules",
    "GroupedSetup",
    "GroupedStmts",
    "GroupedVariants",
    "MeasurementSettings",
    "Record",
    "Run",
    "Side",
    "TimerArgs",
    "UsageError",
    "callgrind_stats",
    "check",
    "compare",
    "explain",
    "measure",
    "measurement",
    "operators",
    "parse_build",
    "side",
]

_SETTINGS = MeasurementSettings()
_SILENT = Silent()


def measure(
    definitions: Cases = STANDARD,
    *,
    only: str | Sequence[str] = (),
    languages: str | Sequence[str] = (),
    runtimes: str | Sequence[str] = (),
    autograds: str | Sequence[str] = (),
    builds: str | Build | Sequence[str | Build] = (),
    settings: MeasurementSettings = _SETTINGS,
    skip_unavailable: bool = False,
    db: str | Path | None = None,
    observer: Observer = _SILENT,
) -> Run:
    """Measure cases on one build or several.

    Args:
        definitions: what is measured: a mapping as ``BENCHMARKS`` of a definition file, a module or
            file that holds one, a specification, or cases.
        only: globs over the label path, such as ``"Pointwise/*/add"``. Empty keeps everything, as
            for the next three.
        languages: ``"python"``, ``"c++"``.
        runtimes: ``"eager"``, ``"torchscript"``, ``"explicit"``, or others that are registered.
        autograds: ``"forward"``, ``"backward"``, ``"explicit"``.
        builds: interpreters or virtual environments, ``"NAME=PATH"`` or a path; by default the
            interpreter that runs this.
        settings: engine, number of lanes, time limits, and whether to count and to time.
        skip_unavailable: measure what a build can, if it has no Valgrind or C++ compiler.
        db: a database (a file, or a URL of PostgreSQL) that the run is stored in as well.
        observer: receives remarks and progress while it runs.

    Returns:
        The run, with a record for each case on each build, in the order of the definitions. A case
        that failed is a record, too: ``record.outcome.status`` says how it ended.
        ``record.outcome.metrics`` holds allocations and other metrics by name.

        Two faults end no run, and have to be looked at: ``run.is_stored`` is false where ``db``
        does not have all of the run, because it could not be written (the records are all here),
        and ``run.changed_files`` names the builds of which files changed meanwhile.

    Raises:
        UsageError: no case is selected, or an argument is not known.
        DefinitionErrors: there are mistakes in the definitions.
        BuildError: a build cannot be used, or does not have something that the cases need.
        DataError: a specification or the database cannot be read.
    """
    selection = selection_of(only, languages, runtimes, autograds)
    cases = load_cases(definitions_of(definitions), selection)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store.open(db)) if db is not None else None
        runner = BuildRunner.of(builds_of(builds), settings, observer, store)
        measured = runner.run(runner.orders(cases, skip=skip_unavailable))
        if measured.interrupted:
            raise KeyboardInterrupt
        records = tuple(runner.completed(record) for record in measured.run.cases)
        return attrs.evolve(measured.run, cases=records, is_stored=measured.is_stored)


def compare(
    base: str | Path | Run | Side | Build,
    new: str | Path | Run | Side | Build,
    *,
    definitions: Cases | None = None,
    only: str | Sequence[str] = (),
    languages: str | Sequence[str] = (),
    runtimes: str | Sequence[str] = (),
    autograds: str | Sequence[str] = (),
    settings: MeasurementSettings = _SETTINGS,
    min_effect: str | Effect = MIN_EFFECT,
    layouts: int | None = None,
    db: str | Path | None = None,
    observer: Observer = _SILENT,
) -> Comparison:
    """Compare two sides, case by case, with a verdict on each.

    Args:
        base: a `Run` of one build, a `Side` (see `side`), a result file, the number or tag of a
            stored run (``RUN:BUILD`` where it has several builds), or a `Build` to measure (see
            `parse_build`).
        new: the same. Two builds are measured in turns, and cases that differ are counted again.
        definitions: the cases that are measured, and compared; by default the standard suite is
            measured, and every case of the sides compared.
        only: see `measure`, as for the next four.
        languages: see `measure`.
        runtimes: see `measure`.
        autograds: see `measure`.
        settings: see `measure`.
        min_effect: the smallest change that gets a verdict: ``"0.5%"``, ``"20"``, ``"0.5%,20"``.
        layouts: in how many memory layouts cases that differ are counted again, each in servers of
            its own; None: in three of the servers that measured them. 0 trusts the first count.
        db: the database that stored runs are read from, by default the user's own. If it is given,
            what is measured is stored there.
        observer: receives remarks and progress while builds are measured.

    Returns:
        The comparison: ``differences`` has an entry for each case: its verdict, its noise floor and
        both records. Noise floors are those that either side's records hold (``record.noise``).
        ``is_sound`` is false where ``db`` does not have all that was measured, or files of a build
        changed meanwhile.

    Raises:
        UsageError: a side does not exist, or has no selected case.
        DefinitionErrors: there are mistakes in the definitions.
        DataError: a file or the database cannot be read.
        BuildError: a build cannot be measured.
    """
    request = ComparisonRequest(
        STANDARD if definitions is None else definitions_of(definitions),
        selection_of(only, languages, runtimes, autograds),
        settings,
        effect_of(min_effect),
        layouts,
        defined_only=definitions is not None,
        stores=db is not None,
    )
    builds = [given for given in (base, new) if isinstance(given, Build)]
    require_names(builds)
    with LazyStore(database_of(db)) as runs:
        compared = compare_sides(given_side(base), given_side(new), request, runs, observer)
        comparison = attrs.evolve(
            _with_details(compared.comparison, runs.completed), is_sound=compared.is_sound
        )
    if compared.interrupted:
        raise KeyboardInterrupt
    return comparison


def _with_details(comparison: Comparison, complete: Complete) -> Comparison:
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


def check(
    baseline: str | Path,
    new: str | Path | Run | Side | Build | None = None,
    *,
    definitions: Cases = STANDARD,
    only: str | Sequence[str] = (),
    languages: str | Sequence[str] = (),
    runtimes: str | Sequence[str] = (),
    autograds: str | Sequence[str] = (),
    settings: MeasurementSettings = _SETTINGS,
    limits: str | Path | Limits | None = None,
    allow_different: bool = False,
    layouts: int | None = None,
    db: str | Path | None = None,
    observer: Observer = _SILENT,
) -> Check:
    """Check a run, or a build that is measured now, against a baseline.

    Args:
        baseline: the file, as ``baseline accept`` writes it.
        new: as for `compare`; by default the interpreter that runs this is measured.
        definitions: the cases that are measured.
        only: see `measure`, as for the next four.
        languages: see `measure`.
        runtimes: see `measure`.
        autograds: see `measure`.
        settings: see `measure`.
        limits: how much worse a case may get: a YAML file, or a value. None allows no increase.
        allow_different: compare even if compiler, C library, Python or instruction set differs.
        layouts: see `compare`.
        db: see `compare`.
        observer: see `compare`.

    Returns:
        The check: ``gate.fails`` says whether a limit is exceeded, ``comparison`` holds the cases.
        ``is_sound``: see `compare`.

    Raises:
        UsageError: the run cannot be compared with the baseline.
        DefinitionErrors: there are mistakes in the definitions.
        DataError: a file or the database cannot be read.
        BuildError: the build cannot be measured.
    """
    request = attrs.evolve(
        CheckRequest.of(Path(baseline), selection_of(only, languages, runtimes, autograds)),
        limits=limits_of(limits),
        allow_different=allow_different,
    )
    asked = given_side(default_build() if new is None else new)
    if not isinstance(asked, Build):
        with LazyStore(database_of(db)) as runs:
            return check_run(asked, request, runs)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store.open(db)) if db is not None else None
        found = check_build(
            *(asked, request, definitions_of(definitions), settings, store, observer),
            layouts=layouts,
        )
    if found.interrupted:
        raise KeyboardInterrupt
    return found


def explain(
    run: str | Path | Run | Side,
    label: str,
    *,
    new: str | Path | Run | Side | None = None,
    languages: str | Sequence[str] = (),
    runtimes: str | Sequence[str] = (),
    autograds: str | Sequence[str] = (),
    db: str | Path | None = None,
) -> Explained:
    """Say where the instructions of a case go, or which functions changed; nothing is measured.

    Args:
        run: as ``base`` of `compare`, but for builds.
        label: a glob over the label path; with the modes, it has to leave one case.
        new: a second side. With it, the difference is from ``run`` to ``new``.
        languages: see `measure`.
        runtimes: see `measure`.
        autograds: see `measure`.
        db: the database that stored runs are read from, by default the user's own.

    Returns:
        The case, its sides, and the ``difference``: instructions by function, per iteration.

    Raises:
        UsageError: not exactly one case is selected, or it was not counted.
        DataError: a file or the database cannot be read.
    """
    selection = selection_of((label,), languages, runtimes, autograds)
    asked = [run] if new is None else [run, new]
    with LazyStore(database_of(db)) as runs:
        sides = [
            read_side(found, runs) if isinstance(found, str) else found
            for found in (stored_side(text) for text in asked)
        ]
        return explain_sides(sides, selection, runs.completed)
