"""Do the stand-ins hear what a GPU is asked for? Kernels by name, beside torch's profiler."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.attribution.names import unqualified
from instruction_counts.builds.probing import ask
from instruction_counts.core.types import Case, Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.executed import CudaKind
from instruction_counts.domain.records import Record
from instruction_counts.domain.selection import Selection
from instruction_counts.engines.engine import artefact_source, case_message
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.devices import has_gpu, is_on_cuda
from instruction_counts.session.selftest import representative
from instruction_counts.sources.definitions import STANDARD, Definitions, load_cases

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
