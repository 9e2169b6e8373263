"""Is it exact? The same cases under conditions that must not matter, and in several layouts."""

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from instruction_counts.builds.links import places_of
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.types import AutogradMode, Case, CaseKey, RuntimeMode
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.records import Run
from instruction_counts.domain.selection import Selection
from instruction_counts.engines.warm.channel import keep_s
from instruction_counts.execution.cores import available_cores
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.comparing import recount, spread_of
from instruction_counts.sources.definitions import Definitions, load_cases
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
        return spread_of(self.repeats)

    @property
    def layout_spread(self) -> float:
        """Relative spread over all layouts."""
        return spread_of((*self.repeats[:1], *self.layouts))

    @property
    def floor(self) -> Noise | None:
        """What was seen to move the case; nothing is known of one that failed."""
        is_known = None not in (*self.repeats, *self.layouts)
        return Noise(self.noise, self.layout_spread, len(self.layouts)) if is_known else None


@attrs.frozen
class Condition:
    """Something that is different in a round, and must not matter."""

    title: str
    busy: bool = False
    another_directory: bool = False
    kept: bool = False
    variables: Mapping[str, str] = attrs.field(factory=dict, hash=False)


CONDITIONS = (
    Condition("fresh servers"),
    Condition(
        "fresh servers, another folder and TMPDIR, a longer path of the build",
        another_directory=True,
    ),
    Condition("under load on every core", busy=True),
    Condition("with a larger inherited environment", variables=_MANY_VARIABLES),
)
KEPT = Condition("servers that outlive a command", kept=True)


def run_selftest(
    runner: BuildRunner, cases: Sequence[Case], layouts: int = 0
) -> tuple[tuple[CaseNoise, ...], Run]:
    """Count ``cases`` under all conditions, then in ``layouts`` other memory layouts.

    Returns what the rounds say of each case, and the first of them as a run that knows it.

    Raises:
        BuildError: the build cannot be used.
    """
    rounds: list[Run] = []
    for condition in (*CONDITIONS, *([KEPT] if keep_s() else [])):
        number = f"{len(cases)} case{'' if len(cases) == 1 else 's'}"
        runner.observer.note(f"{number}, {condition.title}")
        rounds.append(counted(cases, runner, condition, executed=not rounds))
    others = recount(runner, cases, layouts).counts[0] if layouts else []
    noises = noise_of(cases, rounds, others)
    floors = {noise.case.key: noise.floor for noise in noises}
    records = (attrs.evolve(record, noise=floors.get(record.key)) for record in rounds[0].cases)
    return noises, attrs.evolve(rounds[0], cases=tuple(records))


def selftest_cases(definitions: Definitions | None, selection: Selection) -> tuple[Case, ...]:
    """The selected cases; without a selection a representative set.

    Raises:
        DefinitionError, DataError: the definitions cannot be used.
        UsageError: the selection leaves no case.
    """
    cases = load_cases(definitions, selection)
    return representative(cases) if selection == Selection() else cases


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


def noise_of(
    cases: Sequence[Case], rounds: Sequence[Run], layouts: Sequence[Mapping[CaseKey, int]]
) -> tuple[CaseNoise, ...]:
    """What the rounds, and the counts in other layouts, say of each case."""
    by_round = [{record.key: record.outcome.instructions for record in run.cases} for run in rounds]
    noises = []
    for case in cases:
        found = [counts[case.key] for counts in by_round]
        repeats = tuple(None if count is None else count.per_run for count in found)
        others = tuple(counts.get(case.key) for counts in layouts)
        agree = all(count is not None and count.exact for count in found)
        noises.append(CaseNoise(case, repeats, others, agree))
    return tuple(noises)


def counted(
    cases: Sequence[Case], runner: BuildRunner, condition: Condition, *, executed: bool = False
) -> Run:
    """Count ``cases`` once, in servers of their own, under ``condition``."""
    (facts,) = runner.facts
    with contextlib.ExitStack() as stack:
        facts = _anchored(facts)
        if condition.another_directory:
            facts = _at_longer_path(facts, stack.enter_context(_elsewhere()))
        if condition.busy:
            stack.enter_context(_load(available_cores()))
        stack.enter_context(_inherited(condition.variables))
        settings = attrs.evolve(runner.settings, keeps_servers=condition.kept)
        orders = [
            settings.order(case, facts.build, times=False, executed=executed) for case in cases
        ]
        measured = attrs.evolve(runner, facts=(facts,), settings=settings).run(orders)
    return measured.finished().run


@contextlib.contextmanager
def _inherited(variables: Mapping[str, str]) -> Iterator[None]:
    """Let what is started inherit ``variables``, and nothing after it."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)


@contextlib.contextmanager
def _elsewhere() -> Iterator[Path]:
    """Let the program work in another directory, which is its TMPDIR, too; its value is that one.

    Neither may reach a counted process, where the length of a path moves what lies behind it.
    """
    before = tempfile.tempdir
    with WorkFolder() as folder:
        elsewhere = folder / "a-folder-with-a-longer-name-than-usual"
        elsewhere.mkdir()
        tempfile.tempdir = str(elsewhere)
        try:
            with _inherited({"TMPDIR": str(elsewhere)}), contextlib.chdir(elsewhere):
                yield elsewhere
        finally:
            tempfile.tempdir = before


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
    if (links := facts.links()) is None:
        return facts
    links.make(folder)
    build = links.linked(facts.build, folder)
    python = str(build.python)
    found = attrs.evolve(facts, build=build, interpreter=python, places=places_of(build))
    return attrs.evolve(found, files=found.files_now())


@contextlib.contextmanager
def _load(cores: Sequence[int]) -> Iterator[None]:
    spin = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
    with contextlib.ExitStack() as stack:
        for core in cores:
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", spin, str(core)]))
            stack.callback(busy.kill)
        yield
