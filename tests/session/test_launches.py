"""What the stand-ins hear beside what a GPU runs: which kernels must agree, and which may not."""

from collections.abc import Mapping
from typing import Any

import pytest

from instruction_counts.core.api import TimerArgs
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case, Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.executed import CudaCalls, CudaKind, Executed
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.selection import Selection
from instruction_counts.session import launches
from tests.fakes import FakeEngine, failed
from tests.session.fakes import WITH_GPU, fake_engines, runner_of

(CASE,) = materialize({("a",): TimerArgs("x", device="cuda")})
ADD, MM = "void at::native::add<4, at::Functor<float> >(int, float)", "ampere_sgemm_32x32"
LIBRARY = CudaCalls(CudaKind.LIBRARY, "cublasSgemm_v2", 1)


def launch(name: str, calls: int = 1) -> CudaCalls:
    """What a stand-in heard."""
    return CudaCalls(CudaKind.LAUNCH, name, calls)


def compared(outcome: Outcome, profile: launches.Profile) -> launches.CaseLaunches:
    """What is found of a case, where a GPU answers so."""
    with fake_engines({"new": FakeEngine({("a",): [outcome]})}):
        (found,) = launches.compare_launches(runner_of("new", **WITH_GPU), [CASE], profile)
    return found


def heard(*asked: CudaCalls) -> Outcome:
    """A case that asks so of CUDA."""
    return Outcome(Status.OK, executed=Executed("3.11", (), (), asked))


@pytest.mark.parametrize(
    ("asked", "kernels", "differences"),
    [
        ([launch(ADD, 2)], {ADD: 2}, {}),
        ([launch("at::native::add")], {ADD: 1}, {}),
        ([launch(ADD)], {}, {"add": -1}),
        ([launch(ADD)], {ADD: 2}, {"add": 1}),
        ([launch(ADD)], {ADD: 1, MM: 1}, {MM: 1}),
        ([launch(ADD), LIBRARY], {ADD: 1, MM: 1}, {}),
        ([launch(ADD), LIBRARY], {MM: 1}, {"add": -1}),
        ([launch(launches.A_GRAPH)], {ADD: 3}, {}),
    ],
    ids=["same", "other arguments", "not run", "more often", "unheard", "library", "lost", "graph"],
)
def test_kernels_of_torch_itself_have_to_agree(
    asked: list[CudaCalls], kernels: dict[str, int], differences: dict[str, int]
) -> None:
    """A library or a graph may run more, but no fewer."""
    found = compared(heard(*asked), lambda *_: {"status": "ok", "kernels": kernels})

    assert differences == found.differences
    assert found.agrees == (not differences)


@pytest.mark.parametrize(
    ("outcome", "answer", "expected"),
    [
        (failed(message="needs cusolverDnSgetrf"), {}, "needs cusolverDnSgetrf"),
        (Outcome(Status.OK), {}, "nothing is known of its launches"),
        (
            heard(launch(ADD)),
            {"status": "failed", "failure": {"message": "out of memory"}},
            "on the GPU: out of memory",
        ),
        (heard(launch(ADD)), BuildError("new was killed"), "new was killed"),
    ],
    ids=["stand-ins", "unknown", "GPU", "its process"],
)
def test_a_case_that_fails_does_not_agree(
    outcome: Outcome, answer: dict[str, Any] | BuildError, expected: str
) -> None:
    """Neither with stand-ins nor on the GPU, nor one that ends its process."""

    def profile(*_: object) -> Mapping[str, Any]:
        if isinstance(answer, BuildError):
            raise answer
        return answer

    found = compared(outcome, profile)

    assert expected in found.failure
    assert not found.agrees


def test_without_a_gpu_nothing_is_run() -> None:
    """It is an error that says what is needed."""

    def profile(build: Build, case: Case) -> Mapping[str, Any]:
        raise AssertionError(build, case)

    with pytest.raises(BuildError, match="reaches no GPU"):
        launches.compare_launches(runner_of("new"), [CASE], profile)


def test_cases_are_in_python_and_on_cuda() -> None:
    """Of the set of these, one of each sort. Definitions without such cases are an error."""
    chosen = launches.launch_cases(None, Selection())

    assert {(Language.PYTHON, "cuda")} == {
        (case.autolabels.language, case.timer_args.device) for case in chosen
    }
    assert 10 <= len(chosen) <= 40
    with pytest.raises(UsageError, match="in Python on cuda"):
        launches.launch_cases("definitions.ad_hoc", Selection())
