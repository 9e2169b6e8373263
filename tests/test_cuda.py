"""A real CUDA build of torch, without a GPU: what its host side costs, and what has no stand-in."""

import os
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import pytest

from instruction_counts import cli
from instruction_counts.builds.probing import BuildFacts, made_for, probe
from instruction_counts.core.types import Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.metrics import OF_CUDA
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.selection import Selection
from instruction_counts.execution.events import Silent
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.sources.definitions import load_cases
from instruction_counts.system.cache import Cache
from tests.real import reported

VARIABLE = "CUDA_BUILD"
BUILD = os.environ.get(VARIABLE, "")
PYTHON = Build("cuda", str(Path(BUILD, "bin", "python")))
pytestmark = [
    pytest.mark.cuda,
    pytest.mark.slow,
    pytest.mark.skipif(not BUILD, reason=f"{VARIABLE} names no build of torch with CUDA"),
]

DEFINITIONS = """\
from core.api import GroupedSetup, GroupedStmts, TimerArgs

X = "x = torch.ones(16, 16, device=device)"

BENCHMARKS = {
    "add": GroupedStmts("x + x", "x + x;", GroupedSetup(
        X, "auto x = torch::ones({16, 16}, device);"), device=("cpu", "cuda")),
    "backward": GroupedStmts(
        "z = (w * x).sum()",
        setup=GroupedSetup(X + "; w = torch.ones(16, device=device, requires_grad=True)"),
        signature="f(w, x) -> z", autograd=True, device="cuda"),
    "conv2d": TimerArgs(
        "torch.nn.functional.conv2d(x.view(1, 1, 16, 16), x[:3, :3].reshape(1, 1, 3, 3))",
        X, device="cuda"),
    "inv": TimerArgs("torch.linalg.inv(x)", X, device="cuda"),
    "too much": TimerArgs("torch.empty(1 << 40, device=device)", device="cuda"),
}
"""


Outcomes: TypeAlias = dict[tuple[str, ...], Any]


def measured(folder: Path, definitions: str, *options: str) -> Outcomes:
    """What a run says of each case, by its label and modes."""
    what = ("--build", f"cuda={BUILD}", "--definitions", definitions)
    *_, found = reported(folder, "run", *what, *options)
    return {
        ("/".join(case["label"]), case["language"], case["autograd"]): case["outcome"]
        for case in found["cases"]
    }


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """Of cases of each sort."""
    folder = tmp_path_factory.mktemp("cuda")
    path = folder / "defined.py"
    path.write_text(DEFINITIONS, encoding="utf-8")
    return measured(folder, str(path))


@pytest.mark.parametrize(
    "case",
    [
        ("add/cpu", "python", "forward"),
        ("add/cuda", "python", "forward"),
        ("add/cuda", "c++", "forward"),
        ("backward", "python", "forward"),
        ("backward", "python", "forward+backward"),
        ("conv2d", "python", "explicit"),
    ],
)
def test_a_case_is_counted(outcomes: Outcomes, case: tuple[str, str, str]) -> None:
    """From the allocator to autograd and a library with plans, in both languages."""
    assert ("ok", True) == (
        outcomes[case]["status"],
        outcomes[case]["instructions"]["per_run"] > 1000,
    )


def test_launching_costs_more_than_calling_a_kernel(outcomes: Outcomes) -> None:
    """The caching allocator and the launch come on top of what both devices share."""
    cpu, cuda = (
        outcomes[f"add/{device}", "python", "forward"]["instructions"]["per_run"]
        for device in ("cpu", "cuda")
    )

    assert cpu < cuda


@pytest.mark.parametrize("language", ["python", "c++"])
def test_what_is_asked_of_cuda_is_told(outcomes: Outcomes, language: str) -> None:
    """A kernel, for a block of memory that torch has; nobody waits."""
    asked = outcomes["add/cuda", language, "forward"]["metrics"]

    assert {
        "launches": 1,
        "synchronisations": 0,
        "copies": 0,
        "library_calls": 0,
        "cuda_allocations": 0,
        "cached_blocks": 1,
    } == {metric.name: asked[metric.name] for metric in OF_CUDA}


def test_a_case_on_the_cpu_asks_nothing_of_cuda(outcomes: Outcomes) -> None:
    """It has no such metrics."""
    names = {metric.name for metric in OF_CUDA}

    assert set() == names & outcomes["add/cpu", "python", "forward"]["metrics"].keys()


@pytest.mark.parametrize(
    ("label", "expected"), [("inv", r"which has no stand-in"), ("too much", "OutOfMemoryError")]
)
def test_what_fails_says_why(outcomes: Outcomes, label: str, expected: str) -> None:
    """A function without a stand-in by its name, and memory as a device that is full."""
    assert expected in outcomes[label, "python", "explicit"]["failure"]["message"]


def test_without_a_gpu_there_are_no_launches_to_compare_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The selftest on a device says so, and what it needs."""
    assert 1 == cli.main(["selftest", "--device", "cuda", "--build", BUILD])
    assert "reaches no GPU" in capsys.readouterr().err


def test_a_case_is_timed_where_torch_reaches_a_gpu(tmp_path: Path) -> None:
    """Here it reaches stand-ins, loaded as if they were CUDA's own libraries."""
    facts = probe(PYTHON)
    assert facts.cuda is not None
    made = made_for(PYTHON, Path(facts.torch_root, "lib"), facts.cuda, Cache())
    build = attrs.evolve(PYTHON, env={"LD_PRELOAD": ":".join(map(str, made.paths))})
    found = probe(build)
    add, inv = outcomes_on(found, tmp_path, "add/cuda", "inv", counts=False)

    assert "H100" in found.fingerprint.gpu
    assert add.times is not None
    assert "no stand-in" in str(inv.failure)


def test_a_case_that_fails_on_a_gpu_keeps_its_count(tmp_path: Path) -> None:
    """Here because there is none."""
    facts = probe(PYTHON)
    facts = attrs.evolve(facts, fingerprint=attrs.evolve(facts.fingerprint, gpu="none in truth"))
    (add,) = outcomes_on(facts, tmp_path, "add/cuda")

    assert (None, True) == (add.times, add.instructions is not None)


def outcomes_on(facts: BuildFacts, folder: Path, *only: str, **settings: Any) -> list[Outcome]:
    """What is measured of Python cases on a build that is known."""
    path = folder / "defined.py"
    path.write_text(DEFINITIONS, encoding="utf-8")
    cases = load_cases(str(path), Selection(only=only, languages=(Language.PYTHON.value,)))
    chosen = MeasurementSettings(keeps_servers=False, **settings)
    runner = BuildRunner((facts,), chosen, Silent())
    run = runner.run(runner.orders(cases)).finished().run
    return [record.outcome for record in run.cases]


@pytest.mark.thorough
def test_each_definition_is_counted(tmp_path: Path) -> None:
    """Nothing of the suite needs what has no stand-in."""
    outcomes = measured(tmp_path, "definitions.cuda", "--no-times")
    failed = {case: found["failure"] for case, found in outcomes.items() if found["failure"]}

    assert {} == failed
