"""Is it exact? The same cases under conditions that must not matter, and in several layouts.

And do the stand-ins for CUDA's libraries hear what a GPU is asked for?
"""

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.attribution.names import unqualified
from instruction_counts.builds.inquiry import ask
from instruction_counts.builds.links import places_of
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.types import AutogradMode, Case, CaseKey, Language, RuntimeMode
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.executed import CudaKind
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.selection import Selection
from instruction_counts.engines.engine import artefact_source, case_message
from instruction_counts.engines.warm.channel import keep_s
from instruction_counts.execution.cores import available_cores
from instruction_counts.session.builds import BuildRunner, has_gpu, is_on_cuda
from instruction_counts.session.comparing import recount
from instruction_counts.sources.definitions import STANDARD, Definitions, load_cases
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


def _spread(counts: Sequence[int | None]) -> float:
    known = [count for count in counts if count is not None]
    return min(1.0, (max(known) - min(known)) / max(1, *known)) if known else 0.0


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


# The stand-ins: kernels by name, beside torch's profiler

SUITE = "definitions.cuda"
A_GRAPH = "a graph"
"""What the stand-ins call the launch of one, whose kernels were launched before."""
_NAME_WIDTH = 200

Profile: TypeAlias = Callable[[Build, Case], Mapping[str, Any]]
"""Asks a build for the kernels of a case on its GPU: the whole answer of the task."""


@attrs.frozen
class CaseLaunches:
    """Kernels of one iteration by name: as the stand-ins hear of them, and as a GPU ran them."""

    case: Case
    heard: Mapping[str, int] = attrs.field(factory=dict)
    ran: Mapping[str, int] = attrs.field(factory=dict)
    may_run_more: bool = False
    """Whether a library or a graph launches kernels, too, of which the stand-ins do not hear."""
    failure: str = ""

    @property
    def differences(self) -> Mapping[str, int]:
        """By how much more often each kernel ran than it was heard of; none where both agree."""
        names = sorted({*self.heard, *self.ran})
        more = {name: self.ran.get(name, 0) - self.heard.get(name, 0) for name in names}
        return {name: by for name, by in more.items() if by < 0 or (by and not self.may_run_more)}

    @property
    def agrees(self) -> bool:
        """Whether both are known, and the stand-ins heard of all that torch launched itself."""
        return not (self.failure or self.differences)


def launch_cases(definitions: Definitions | None, selection: Selection) -> tuple[Case, ...]:
    """The selected cases that can be compared: in Python, on CUDA, and made of nothing saved.

    Without definitions they are those of the suite for CUDA, and without a selection a
    representative set.

    Raises:
        DefinitionError, DataError: the definitions cannot be used.
        UsageError: the selection leaves no case, or none that can be compared.
    """
    named = SUITE if definitions in {None, STANDARD} else definitions
    cases = tuple(filter(_is_comparable, load_cases(named, selection)))
    if not cases:
        raise UsageError(
            "no selected case is one in Python on cuda, whose launches a profiler sees",
            "Without --definitions, those of definitions.cuda are taken.",
        )
    return representative(cases) if selection == Selection() else cases


def _is_comparable(case: Case) -> bool:
    is_python = case.autolabels.language is Language.PYTHON
    return is_python and is_on_cuda(case) and artefact_source(case) is None


def profiled(build: Build, case: Case) -> Mapping[str, Any]:
    """See `Profile`."""
    return ask(build, "profile", {"case": case_message(case)})


def compare_launches(
    runner: BuildRunner, cases: Sequence[Case], profile: Profile = profiled
) -> tuple[CaseLaunches, ...]:
    """What ``cases`` launch, as the stand-ins hear of it and as the GPU of the build runs it.

    Raises:
        BuildError: the build reaches no GPU, or cannot be used.
    """
    (facts,) = runner.facts
    if not has_gpu(facts):
        raise BuildError(
            f'build "{facts.build.name}" reaches no GPU, with whose launches to compare',
            "Run it where a GPU and its driver are, with CUDA's own libraries beside torch.",
        )
    settings = runner.settings
    orders = [
        settings.order(case, facts.build, counts=False, times=False, executed=True)
        for case in cases
    ]
    records = {record.key: record for record in runner.run(orders).finished().run.cases}
    return tuple(_launches(case, records[case.key], facts.build, profile) for case in cases)


def _launches(case: Case, record: Record, build: Build, profile: Profile) -> CaseLaunches:
    outcome = record.outcome
    if outcome.failure is not None or outcome.executed is None or outcome.executed.cuda is None:
        failure = "" if outcome.failure is None else outcome.failure.summary
        return CaseLaunches(case, failure=failure or "nothing is known of its launches")
    try:
        answer = profile(build, case)
    except BuildError as error:  # its process has ended
        return CaseLaunches(case, failure=error.message)
    if answer["status"] != "ok":
        return CaseLaunches(case, failure=f"on the GPU: {answer['failure']['message']}")
    heard, others = Counter[str](), Counter[CudaKind]()
    for asked in outcome.executed.cuda:
        if asked.kind is CudaKind.LAUNCH and asked.name != A_GRAPH:
            heard[unqualified(asked.name, _NAME_WIDTH)] += asked.calls
        else:
            others[asked.kind] += asked.calls
    ran = Counter[str]()
    for name, calls in answer["kernels"].items():
        ran[unqualified(name, _NAME_WIDTH)] += calls
    may_run_more = bool(others[CudaKind.LAUNCH] or others[CudaKind.LIBRARY])
    return CaseLaunches(case, heard, ran, may_run_more)
