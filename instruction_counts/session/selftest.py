"""Is it exact? The same cases under conditions that must not matter, and in several layouts."""

from __future__ import annotations

import contextlib
import datetime as dt
import multiprocessing
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from core.types import AutogradMode, Case, CaseKey, RuntimeMode
from instruction_counts import __version__
from instruction_counts.builds.files import files_of
from instruction_counts.builds.links import places_of
from instruction_counts.builds.probing import BuildFacts, probe
from instruction_counts.domain.build import Build
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.selection import Selection
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.entry import Profile
from instruction_counts.engines.registry import DEFAULT
from instruction_counts.execution.cores import available_cores, machine_wide
from instruction_counts.execution.events import Finished
from instruction_counts.execution.lanes import execute, refused
from instruction_counts.session.cases import load_cases
from instruction_counts.session.measuring import make_engine
from instruction_counts.session.observer import Observer
from instruction_counts.sources.definitions import Definitions
from instruction_counts.system.folders import WorkFolder

_MANY_VARIABLES = {f"INHERITED_{number:03}": "x" * 100 for number in range(200)}


@attrs.frozen
class CaseNoise:
    """One case over all rounds: counts that had to agree, and counts in other layouts."""

    case: Case
    repeats: tuple[int | None, ...]
    layouts: tuple[int | None, ...]
    windows_agree: bool

    @property
    def repeated(self) -> bool:
        """Whether all rounds in the same layout gave the same count."""
        return None not in self.repeats and len(set(self.repeats)) == 1

    @property
    def noise(self) -> float:
        """Relative spread over the rounds that had to agree; 0 where the count repeated."""
        return _spread(self.repeats)

    @property
    def layout_spread(self) -> float:
        """Relative spread over all layouts."""
        return _spread((*self.repeats[:1], *self.layouts))


@attrs.frozen
class Selftest:
    """What the rounds say of each case, and the first of them as a run that knows it."""

    noises: tuple[CaseNoise, ...]
    run: Run


def run_selftest(
    build: Build,
    cases: Sequence[Case],
    observer: Observer,
    *,
    layouts: int = 0,
    allocator: str = "steady",
) -> Selftest:
    """Count ``cases`` under all conditions.

    Raises:
        BuildError: the build cannot be used.
    """
    facts = probe(build)
    repeats: list[Round] = []
    others: list[Round] = []
    for condition in conditions(layouts):
        observer.note(f"{len(cases)} cases, {condition.title}")
        # The first round becomes a run, which baselines are made from, too.
        found = measure(cases, facts, condition, allocator, observer, executed=not repeats)
        (others if condition.layout else repeats).append(found)
    noises = noise_of(
        cases, *([measured.outcomes for measured in rounds] for rounds in (repeats, others))
    )
    run = run_of(build.name, repeats[0], floors(noises), facts.package_folder)
    return Selftest(noises, run)


def selftest_cases(definitions: Definitions, selection: Selection) -> tuple[Case, ...]:
    """The selected cases; without a selection a representative set.

    Raises:
        DefinitionErrors, DataError: the definitions cannot be used.
        UsageError: the selection leaves no case.
    """
    if selection == Selection():
        return representative(load_cases(definitions, selection))
    return load_cases(definitions, selection)


def noise_of(
    cases: Sequence[Case],
    repeats: Sequence[Mapping[Case, Outcome]],
    layouts: Sequence[Mapping[Case, Outcome]],
) -> tuple[CaseNoise, ...]:
    """What the rounds say of each case."""
    return tuple(
        CaseNoise(
            case,
            tuple(_count(outcomes[case]) for outcomes in repeats),
            tuple(_count(outcomes[case]) for outcomes in layouts),
            all(_is_exact(outcomes[case]) for outcomes in repeats),
        )
        for case in cases
    )


def floors(noises: Sequence[CaseNoise]) -> dict[CaseKey, Noise]:
    """What is stored with the run.

    A case that failed in a round is left out: of its noise nothing is known.
    """
    return {
        noise.case.key: Noise(noise.noise, noise.layout_spread, len(noise.layouts))
        for noise in noises
        if None not in (*noise.repeats, *noise.layouts)
    }


def _count(outcome: Outcome) -> int | None:
    return None if outcome.instructions is None else outcome.instructions.per_run


def _is_exact(outcome: Outcome) -> bool:
    return outcome.instructions is not None and outcome.instructions.exact


def _spread(counts: Sequence[int | None]) -> float:
    known = [count for count in counts if count is not None]
    return min(1.0, (max(known) - min(known)) / max(1, *known)) if known else 0.0


@attrs.frozen
class Condition:
    """Something that is different in a round; ``layout`` 0 is the layout that `run` counts in."""

    title: str
    layout: int = 0
    busy: bool = False
    another_directory: bool = False
    variables: Mapping[str, str] = attrs.field(factory=dict, hash=False)


@attrs.frozen
class Round:
    """How the cases ended in servers of their own, and what these were."""

    outcomes: Mapping[Case, Outcome]
    fingerprint: Fingerprint


def conditions(layouts: int) -> tuple[Condition, ...]:
    """What must not matter, then ``layouts`` memory layouts, which may."""
    return (
        Condition("fresh servers"),
        Condition(
            "fresh servers again, from another working directory and TMPDIR, "
            "of the build at a longer path",
            another_directory=True,
        ),
        Condition("under load on every core", busy=True),
        Condition("with a larger inherited environment", variables=_MANY_VARIABLES),
        *(Condition(f"memory layout {number}", layout=number) for number in range(1, layouts + 1)),
    )


def representative(cases: Sequence[Case]) -> tuple[Case, ...]:
    """A case of each top label in each language, and one of each further mode: about 40."""
    chosen: dict[tuple[object, ...], Case] = {}
    for case in cases:
        labels = case.autolabels
        if case.num_threads == 1:
            chosen.setdefault((case.label[0], labels.language), case)
            usual = {RuntimeMode.EAGER, RuntimeMode.EXPLICIT}
            if labels.runtime not in usual or labels.autograd is AutogradMode.FORWARD_BACKWARD:
                chosen.setdefault(("modes", labels), case)
    return tuple(case for case in cases if case in set(chosen.values()))


def measure(
    cases: Sequence[Case],
    facts: BuildFacts,
    condition: Condition,
    allocator: str,
    observer: Observer,
    *,
    executed: bool = False,
) -> Round:
    """Count ``cases`` once, in servers of their own, under ``condition``."""
    facts = _anchored(facts)
    orders = [
        WorkOrder(case, facts.build, times=False, retries=1, executed=executed) for case in cases
    ]
    cores = available_cores()
    pool = machine_wide(cores, observer.note)
    refusals = {order.case: refused(order, pool) for order in orders}
    outcomes = {case: outcome for case, outcome in refusals.items() if outcome is not None}
    possible = [order for order in orders if order.case not in outcomes]
    with (
        _arranged(condition, cores) as elsewhere,
        observer.progress(len(possible)) as progress,
    ):
        facts = facts if elsewhere is None else _at_longer_path(facts, elsewhere)
        profile = Profile(allocator=allocator, layout=condition.layout)
        with contextlib.closing(make_engine(DEFAULT, facts, profile, observer.note)) as engine:
            engine.check(possible)
            events = execute(possible, {facts.build.name: engine}, pool, len(cores))
            with contextlib.closing(events):
                for event in events:
                    if isinstance(event, Finished):
                        outcomes[event.order.case] = event.outcome
                    progress.show(event)
    return Round({case: outcomes[case] for case in cases}, engine.fingerprint)


def run_of(
    build: str, first: Round, noises: Mapping[CaseKey, Noise], package_folder: str = ""
) -> Run:
    """The first round as a run, with what was seen to move its cases in the others."""
    records = (Record.of(case, build, outcome) for case, outcome in first.outcomes.items())
    return Run(
        __version__,
        DEFAULT,
        {build: first.fingerprint},
        tuple(attrs.evolve(record, noise=noises.get(record.key)) for record in records),
        dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        package_folders={build: package_folder} if package_folder else {},
    )


def _anchored(facts: BuildFacts) -> BuildFacts:
    """The same build from any directory: its command is written for the one of now."""
    build = facts.build
    if build.source_cmd is None:
        return facts
    command = f"cd -- {shlex.quote(str(Path.cwd()))} && {build.source_cmd}"
    return attrs.evolve(facts, build=attrs.evolve(build, source_cmd=command))


def _at_longer_path(facts: BuildFacts, folder: Path) -> BuildFacts:
    """The build as it starts through a link in ``folder``, where it does that.

    Python takes what it finds there for its place, as in a copy.
    """
    links = facts.links()
    if links is None:
        return facts
    links.make(folder)
    build = links.linked(facts.build, folder)
    python = str(build.python)
    return attrs.evolve(
        facts,
        build=build,
        interpreter=python,
        places=places_of(build),
        files=files_of(python, facts.torch_root, facts.library_paths),
    )


@contextlib.contextmanager
def _arranged(condition: Condition, cores: Sequence[int]) -> Iterator[Path | None]:
    """Let ``condition`` hold; its value is the folder that is worked in, if that is another one."""
    with contextlib.ExitStack() as stack:
        elsewhere = stack.enter_context(_elsewhere()) if condition.another_directory else None
        if condition.busy:
            stack.enter_context(_load(cores))
        os.environ.update(condition.variables)
        try:
            yield elsewhere
        finally:
            for name in condition.variables:
                del os.environ[name]


@contextlib.contextmanager
def _elsewhere() -> Iterator[Path]:
    """Let the program work in another directory, which is its TMPDIR, too; its value is that one.

    Neither may reach a counted process, where the length of a path moves what lies behind it.
    """
    name = "a-folder-with-a-longer-name-than-usual"
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    with WorkFolder() as folder:
        elsewhere = folder / name
        elsewhere.mkdir()
        tempfile.tempdir = os.environ["TMPDIR"] = str(elsewhere)
        try:
            with contextlib.chdir(elsewhere):
                yield elsewhere
        finally:
            tempfile.tempdir = before
            del os.environ["TMPDIR"]
            if variable is not None:
                os.environ["TMPDIR"] = variable


@contextlib.contextmanager
def _load(cores: Sequence[int]) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    busy = [context.Process(target=_spin, args=(core,), daemon=True) for core in cores]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.join()


def _spin(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        pass
