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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from core.api import GroupedModules, GroupedSetup, GroupedStmts, GroupedVariants, TimerArgs
from core.errors import DefinitionErrors
from core.expand import materialize
from core.modes import by_option
from core.types import AutogradMode, Case, Language, RuntimeMode
from core.utils import flatten
from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.sides import Side, read_side, side_of
from instruction_counts.builds.configured import parse_build
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.records import Complete, Record, Run
from instruction_counts.domain.selection import Selection
from instruction_counts.gate.limits import Limits, read_limits
from instruction_counts.report.torch_objects import callgrind_stats, measurement
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.cases import load_cases
from instruction_counts.session.checking import Check, CheckRequest, check_build, check_run
from instruction_counts.session.comparing import ComparisonRequest, compare_sides
from instruction_counts.session.explaining import Explained, explain_sides
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.session.observer import Observer, Silent
from instruction_counts.session.performance import (
    categories,
    run_category,
    run_performance_test,
)
from instruction_counts.sources.definitions import STANDARD, Definitions
from instruction_counts.sources.registry import Source
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
    "categories",
    "check",
    "compare",
    "explain",
    "measure",
    "measurement",
    "parse_build",
    "run_category",
    "run_performance_test",
    "side",
]

Cases: TypeAlias = "str | Path | Mapping[Any, Any] | Source | Case | Iterable[Case]"
"""Definitions as a mapping, a module by name or a file by path; another source; or cases."""

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

    Raises:
        UsageError: no case is selected, or an argument is not known.
        DefinitionErrors: there are mistakes in the definitions.
        BuildError: a build cannot be used, or does not have something that the cases need.
        DataError: a specification or the database cannot be read.
    """
    selection = _selection(only, languages, runtimes, autograds)
    cases = load_cases(_definitions(definitions), selection)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store.open(db)) if db is not None else None
        runner = BuildRunner.of(_builds(builds), settings, observer, store)
        measured = runner.run(runner.orders(cases, skip=skip_unavailable))
        if measured.interrupted:
            raise KeyboardInterrupt
        records = tuple(runner.completed(record) for record in measured.run.cases)
        return attrs.evolve(measured.run, cases=records)


def side(run: Run, build: str | None = None, title: str = "") -> Side:
    """One build of a run, as a side of a comparison.

    Args:
        run: measured, or read from somewhere.
        build: its name; it need not be given where the run has one build.
        title: what reports call it; by default the name of the build.

    Raises:
        UsageError: the run has no such build, or several and none is named.
    """
    names = tuple(run.builds)
    if build is None and len(names) == 1:
        (build,) = names
    if build is None or build not in names:
        asked = "several builds" if build is None else f'no build "{build}"'
        raise UsageError(f"the run has {asked}", f"Name one of: {', '.join(names)}")
    return side_of(run, build, title or build)


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
    layouts: int = 3,
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
        layouts: in how many memory layouts cases that differ are counted again; 0 trusts the first.
        db: the database that stored runs are read from, by default the user's own. If it is given,
            what is measured is stored there.
        observer: receives remarks and progress while builds are measured.

    Returns:
        The comparison: ``differences`` has a case each, with its verdict, its noise floor and both
        records. Noise floors are those that either side's records hold (``record.noise``).

    Raises:
        UsageError: a side does not exist, or has no selected case.
        DefinitionErrors: there are mistakes in the definitions.
        DataError: a file or the database cannot be read.
        BuildError: a build cannot be measured.
    """
    request = ComparisonRequest(
        STANDARD if definitions is None else _definitions(definitions),
        _selection(only, languages, runtimes, autograds),
        settings,
        _effect(min_effect),
        layouts,
        defined_only=definitions is not None,
        stores=db is not None,
    )
    builds = [given for given in (base, new) if isinstance(given, Build)]
    _require_names(builds)
    with LazyStore(_text(db), must_exist=db is None or not builds) as runs:
        compared = compare_sides(_side(base), _side(new), request, runs, observer)
        comparison = _with_details(compared.comparison, runs.completed)
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
            attrs.evolve(one, base=full(one.base), new=full(one.new))
            for one in comparison.differences
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
    layouts: int = 3,
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

    Raises:
        UsageError: the run cannot be compared with the baseline.
        DefinitionErrors: there are mistakes in the definitions.
        DataError: a file or the database cannot be read.
        BuildError: the build cannot be measured.
    """
    request = attrs.evolve(
        CheckRequest.of(Path(baseline), _selection(only, languages, runtimes, autograds)),
        limits=limits
        if limits is None or isinstance(limits, Limits)
        else read_limits(Path(limits)),
        allow_different=allow_different,
    )
    asked = _side(default_build() if new is None else new)
    if not isinstance(asked, Build):
        with LazyStore(_text(db)) as runs:
            return check_run(asked, request, runs)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store.open(db)) if db is not None else None
        found = check_build(
            *(asked, request, _definitions(definitions), settings, store, observer),
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
    selection = _selection((label,), languages, runtimes, autograds)
    asked = [run] if new is None else [run, new]
    with LazyStore(_text(db)) as runs:
        sides = [
            read_side(found, runs) if isinstance(found, str) else found
            for found in (_stored_or_side(text) for text in asked)
        ]
        return explain_sides(sides, selection, runs.completed)


@attrs.frozen
class _Given:
    """The cases that a program gave."""

    known: tuple[Case, ...]

    def cases(self) -> tuple[Case, ...]:
        return self.known


def _definitions(given: Cases) -> Definitions:
    if isinstance(given, str | Path):
        return str(given)
    if isinstance(given, Mapping):
        return _Given(materialize(flatten(given)))
    if isinstance(given, Case):
        return _Given((given,))
    return _Given(tuple(given)) if isinstance(given, Iterable) else given


def _selection(
    only: str | Sequence[str],
    languages: str | Sequence[str],
    runtimes: str | Sequence[str],
    autograds: str | Sequence[str],
) -> Selection:
    return Selection(
        _texts(only),
        tuple(_mode("language", by_option(Language), name) for name in _texts(languages)),
        tuple(_mode("runtime", by_option(RuntimeMode), name) for name in _texts(runtimes)),
        tuple(_mode("autograd mode", by_option(AutogradMode), name) for name in _texts(autograds)),
    )


def _mode(kind: str, known: Mapping[str, Language | RuntimeMode | AutogradMode], name: str) -> str:
    found = known.get(name)
    if found is None:
        raise UsageError(f'there is no {kind} "{name}"', f"Choose from: {', '.join(known)}")
    return str(found.value)


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _builds(given: str | Build | Sequence[str | Build]) -> tuple[Build, ...]:
    several = (given,) if isinstance(given, str | Build) else tuple(given)
    found = tuple(build if isinstance(build, Build) else parse_build(build) for build in several)
    _require_names(found)
    return found or (default_build(),)


def _require_names(builds: Sequence[Build]) -> None:
    names = [build.name for build in builds]
    if len(set(names)) < len(names):
        raise UsageError(
            f"two builds have the same name: {', '.join(names)}",
            'Give each a name of its own: parse_build("new=/path/to/venv")',
        )


def _effect(given: str | Effect) -> Effect:
    if isinstance(given, Effect):
        return given
    try:
        return Effect.parse(given)
    except ValueError as error:
        raise UsageError(f"min_effect={given!r}", str(error)) from error


def _side(given: str | Path | Run | Side | Build) -> str | Side | Build:
    return given if isinstance(given, Build) else _stored_or_side(given)


def _stored_or_side(given: str | Path | Run | Side) -> str | Side:
    if isinstance(given, Run):
        return side(given)
    return str(given) if isinstance(given, Path) else given


def _text(db: str | Path | None) -> str | None:
    return None if db is None else str(db)
