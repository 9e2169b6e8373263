"""A real CUDA build of torch, without a GPU: what its host side costs, and what has no stand-in."""

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from instruction_counts import cli
from instruction_counts.domain.metrics import OF_CUDA

VARIABLE = "CUDA_BUILD"
BUILD = os.environ.get(VARIABLE, "")
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


def measured(folder: Path, definitions: str, *options: str) -> dict[tuple[str, ...], Any]:
    """What a run says of each case, by its label and modes."""
    output = folder / "run.json"
    command = ["run", "--build", f"cuda={BUILD}", "--definitions", definitions, *options]
    command += ["--db", str(folder / "runs.db"), "--output", str(output)]
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(command)
    cases = json.loads(output.read_text(encoding="utf-8"))["cases"]
    return {
        ("/".join(case["label"]), case["language"], case["autograd"]): case["outcome"]
        for case in cases
    }


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Any]:
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
def test_a_case_is_counted(
    outcomes: dict[tuple[str, ...], Any], case: tuple[str, str, str]
) -> None:
    """From the allocator to autograd and a library with plans, in both languages."""
    assert ("ok", True) == (
        outcomes[case]["status"],
        outcomes[case]["instructions"]["per_run"] > 1000,
    )


def test_launching_costs_more_than_calling_a_kernel(outcomes: dict[tuple[str, ...], Any]) -> None:
    """The caching allocator and the launch come on top of what both devices share."""
    cpu, cuda = (
        outcomes[f"add/{device}", "python", "forward"]["instructions"]["per_run"]
        for device in ("cpu", "cuda")
    )

    assert cpu < cuda


@pytest.mark.parametrize("language", ["python", "c++"])
def test_what_is_asked_of_cuda_is_told(outcomes: dict[tuple[str, ...], Any], language: str) -> None:
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


def test_a_case_on_the_cpu_asks_nothing_of_cuda(outcomes: dict[tuple[str, ...], Any]) -> None:
    """It has no such metrics."""
    names = {metric.name for metric in OF_CUDA}

    assert set() == names & outcomes["add/cpu", "python", "forward"]["metrics"].keys()


def test_there_are_no_times(outcomes: dict[tuple[str, ...], Any]) -> None:
    """They would be those of stand-ins."""
    assert outcomes["add/cuda", "python", "forward"]["times"] is None


@pytest.mark.parametrize(
    ("label", "expected"),
    [("inv", r"which has no stand-in"), ("too much", "OutOfMemoryError")],
)
def test_what_fails_says_why(
    outcomes: dict[tuple[str, ...], Any], label: str, expected: str
) -> None:
    """A function without a stand-in by its name, and memory as a device that is full."""
    assert expected in outcomes[label, "python", "explicit"]["failure"]["message"]


@pytest.mark.thorough
def test_each_definition_is_counted(tmp_path: Path) -> None:
    """Nothing of the suite needs what has no stand-in."""
    outcomes = measured(tmp_path, "definitions.cuda", "--no-times")
    failed = {case: found["failure"] for case, found in outcomes.items() if found["failure"]}

    assert {} == failed
