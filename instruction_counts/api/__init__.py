"""The Python interface: the use cases of the command line, for programs and notebooks.

    from instruction_counts.api import Session

    with Session() as session:
        print(session.count("x + x", "x = torch.ones((4, 4))").instructions)

Values go in and values come back. Nothing is printed unless an ``observer`` is given, and what is
measured is stored only where ``db`` says. Counts are instructions per iteration (one execution of
the statement), times are seconds per iteration. An interrupt raises `KeyboardInterrupt`; with
``db``, the cases that finished are stored.

Each error is a `UsageError` that ends in its remedy: a `BuildError` where a build cannot be
measured, a `DataError` where a file or database cannot be read, a `StatementError` where a
statement failed. A mistake in definitions is a `DefinitionError`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

import attrs

from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.api.arguments import (
    Cases,
    Comparing,
    Select,
    SideLike,
    StoredLike,
    builds_of,
    comparison_request,
    definitions_of,
    effect_of,
    given_side,
    number_of,
    selection_of,
    side,
)
from instruction_counts.api.session import Session, StatementOptions, compare, measure
from instruction_counts.api.values import (
    Bisected,
    Check,
    Comparison,
    Explained,
    History,
    Result,
    Run,
    StatementError,
    as_kind,
)
from instruction_counts.builds.configured import parse_build
from instruction_counts.core.api import (
    GroupedModules,
    GroupedSetup,
    GroupedStmts,
    GroupedVariants,
    TimerArgs,
)
from instruction_counts.core.errors import DefinitionError
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.effects import MIN_EFFECT
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.records import Record
from instruction_counts.execution.events import Observer, Silent
from instruction_counts.gate.accept import Acceptance
from instruction_counts.gate.limits import Limits, read_limits
from instruction_counts.report.torch_objects import callgrind_stats, measurement
from instruction_counts.session.bisecting import find_changes
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.checking import accept_run, check_side
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.session.explaining import explain_sides
from instruction_counts.session.histories import HistoryRequest, history_of
from instruction_counts.session.sides import LazyStore, read_side
from instruction_counts.sources.definitions import STANDARD
from instruction_counts.sources.operators.source import operators
from instruction_counts.storage.store import Store

__all__ = [
    "Acceptance",
    "Bisected",
    "Build",
    "BuildError",
    "Check",
    "Comparing",
    "Comparison",
    "DataError",
    "DefinitionError",
    "Explained",
    "GroupedModules",
    "GroupedSetup",
    "GroupedStmts",
    "GroupedVariants",
    "History",
    "Limits",
    "MeasurementSettings",
    "Record",
    "Result",
    "Run",
    "Select",
    "Session",
    "Side",
    "StatementError",
    "StatementOptions",
    "TimerArgs",
    "UsageError",
    "accept",
    "bisect",
    "callgrind_stats",
    "check",
    "compare",
    "explain",
    "history",
    "measure",
    "measurement",
    "operators",
    "parse_build",
    "side",
]

_SETTINGS = MeasurementSettings()
_SILENT = Silent()


def accept(
    run: StoredLike,
    baseline: str | Path,
    *,
    prune: bool = False,
    allow_different: bool = False,
    db: str | Path | None = None,
    **select: Unpack[Select],
) -> Acceptance:
    """Make the counts of a run those of a baseline file, which is made or updated.

    Args:
        run: as ``base`` of `compare`, but for builds.
        baseline: the file.
        prune: drop selected cases of the file that the run does not have.
        allow_different: keep cases that were counted with another compiler, C library or Python.
        db: the database that stored runs are read from, by default the user's own.
        select: see `Select`; other cases of the file stay as they are.

    Returns:
        What changed: ``after.cases`` is what the file holds now.

    Raises:
        UsageError: there is no such run, cases failed or were not counted, or the file cannot be
            written.
        DataError: a file or the database cannot be read.
    """
    with LazyStore(db) as runs:
        return accept_run(
            *(_stored(run), Path(baseline), selection_of(**select), runs),
            prune=prune,
            allow_different=allow_different,
        )


def check(
    baseline: str | Path,
    new: SideLike | None = None,
    *,
    definitions: Cases = STANDARD,
    settings: MeasurementSettings = _SETTINGS,
    limits: str | Path | Limits | None = None,
    allow_different: bool = False,
    layouts: int | None = None,
    db: str | Path | None = None,
    observer: Observer = _SILENT,
    **select: Unpack[Select],
) -> Check:
    """Check a run, or a build that is measured now, against a baseline.

    Args:
        baseline: the file, as `accept` writes it.
        new: as for `compare`; by default the interpreter that runs this is measured.
        definitions: the cases that are measured.
        settings: see `measure`, as for ``observer`` and ``select``.
        limits: how much worse a case may get, `Limits` or a YAML file; None allows no increase.
        allow_different: compare even if compiler, C library, Python or instruction set differs.
        layouts: see `Comparing`.
        db: see `compare`, as for what is raised.
        observer: see `measure`.
        select: see `Select`.

    Returns:
        The check: ``gate.fails`` says whether a limit is exceeded, ``comparison`` holds the cases.

    Raises:
        UsageError: nothing was compared, which is not to pass, and as for `compare`.
    """
    cases = definitions_of(definitions), selection_of(**select)
    how = ComparisonRequest(*cases, settings, layouts=layouts, stores=db is not None)
    asked = given_side(default_build() if new is None else new)
    with LazyStore(db) as runs:
        found = check_side(
            *(asked, Path(baseline), how, runs, observer),
            limits=read_limits(Path(limits)) if isinstance(limits, str | Path) else limits,
            allow_different=allow_different,
        )
    if found.interrupted:
        raise KeyboardInterrupt
    found.gate.require_comparison()
    compared = as_kind(Comparison, found.comparison)
    return as_kind(Check, attrs.evolve(found, comparison=compared))


def explain(
    run: StoredLike,
    label: str,
    *,
    new: StoredLike | None = None,
    db: str | Path | None = None,
    **modes: Unpack[Select],
) -> Explained:
    """Say where the instructions of a case go, or which functions changed; nothing is measured.

    Args:
        run: as ``base`` of `compare`, but for builds.
        label: a glob over the label path; with the modes, it has to leave one case.
        new: a second side. With it, the difference is from ``run`` to ``new``.
        db: the database that stored runs are read from, by default the user's own.
        modes: see `Select`, but for ``only``.

    Returns:
        The case, its sides, and the ``difference``: instructions by function, per iteration.

    Raises:
        UsageError: not exactly one case is selected, or it was not counted.
        DataError: a file or the database cannot be read.
    """
    selection = attrs.evolve(selection_of(**modes), only=(label,))
    with LazyStore(db) as runs:
        sides = [read_side(_stored(side), runs) for side in (run, new) if side is not None]
        return as_kind(Explained, explain_sides(sides, selection))


def history(
    only: str,
    *,
    last: int | None = None,
    tags: str | Sequence[str] = (),
    min_effect: str = str(MIN_EFFECT),
    db: str | Path | None = None,
) -> History:
    """The counts of cases over the stored runs, and the steps in them.

    Args:
        only: a glob over the label path.
        last: so many runs, the latest; None is all of them.
        tags: globs; only runs that have one of these tags.
        min_effect: the smallest step: ``"0.5%"``, ``"20"``, ``"0.5%,20"``.
        db: the database, by default the user's own.

    Raises:
        UsageError: no stored case is selected, or no run is left.
        DataError: the database cannot be read.
    """
    narrowed = (tags,) if isinstance(tags, str) else tuple(tags)
    asked = HistoryRequest(
        *(selection_of(only), None, narrowed, effect_of(min_effect), number_of("last", last, 1))
    )
    with Store(db, must_exist=True) as store:
        return as_kind(History, history_of(asked, store))


def bisect(
    label: str,
    builds: Mapping[str, str | Path] | Sequence[str | Build],
    *,
    definitions: Cases = STANDARD,
    settings: MeasurementSettings = _SETTINGS,
    db: str | Path | None = None,
    observer: Observer = _SILENT,
    **how: Unpack[Comparing],
) -> Bisected:
    """Find the builds between which a case changed; only builds that this needs are measured.

    Args:
        label: a glob over the label path; with the modes, it has to leave one case.
        builds: at least two, the oldest first: paths by their names, or as for `measure`.
        definitions: where the case is defined.
        settings: see `measure`.
        db: the database that runs are stored in, and counts known from, by default the user's own.
        observer: see `measure`.
        how: see `Comparing`, but for ``only``.

    Raises:
        UsageError: not exactly one case is selected, or there are fewer than two builds.
        BuildError: no two of the builds can be measured.
        DataError: the database cannot be read.
    """
    if isinstance(builds, Mapping):
        builds = [f"{name}={path}" for name, path in builds.items()]
    makers = {made.name: (lambda build=made: build) for made in builds_of(builds)}
    if len(makers) < 2:
        raise UsageError("a bisection needs at least two builds", "Give more builds.")
    how["only"] = label
    request = comparison_request(definitions, settings, how)
    with Store(db) as store:
        found = find_changes(makers, request, store, observer)
    if not found.is_conclusive:
        reason = next(iter(found.broken.values()), "")
        raise BuildError(f"fewer than two builds can be measured: {reason}", "Name others.")
    return as_kind(Bisected, found)


def _stored(given: StoredLike) -> str | Side:
    found = given_side(given)
    if isinstance(found, Build):
        raise UsageError(
            f'build "{found.name}" is not measured here', "Give a run of it: measure()"
        )
    return found
