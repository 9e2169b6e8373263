"""Two real builds of torch: Debian's 1.13 against the wheel that is installed."""

import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.process import called
from tests.real import reported

DEBIAN = "/usr/bin/python3"
MM, ADD = ("MatMul", "mm"), ("Pointwise", "Math", "add", "Tensor-Tensor")


pytestmark = pytest.mark.builds
Cases: TypeAlias = dict[tuple[Any, ...], dict[str, Any]]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """What is said of each case, by its label, language and runtime."""
    if not Path(DEBIAN).exists() or called([DEBIAN, "-c", "import torch"]).returncode:
        pytest.skip(f"{DEBIAN} has no torch: make test-builds installs it")
    builds = ("--build", f"base={DEBIAN}", "--build", f"new={sys.executable}")
    chosen = ("--only", "/".join(MM), "--only", "/".join(ADD))
    modes = ("--num-threads", "1", "--autograd", "forward")
    folder = tmp_path_factory.mktemp("debian")
    *_, found = reported(folder, "compare", "base", "new", *builds, *chosen, *modes)
    return {
        (tuple(case["label"]), case["language"], case["runtime"]): case for case in found["cases"]
    }


@pytest.mark.parametrize("label", [MM, ADD])
@pytest.mark.parametrize("language", ["python", "c++"])
@pytest.mark.parametrize("runtime", ["eager", "torchscript"])
def test_a_case_is_compared(
    cases: Cases, label: tuple[str, ...], language: str, runtime: str
) -> None:
    """In every language and mode, with a verified verdict."""
    case = cases[label, language, runtime]

    assert {"better", "worse", "ambiguous"} >= {case["verdict"]}, case
    assert case["verified"] is True, case


def test_the_newer_torch_costs_more_and_computes_the_same(cases: Cases) -> None:
    """As was measured by other means: between 8,000 and 9,000, and above 9,000 for ``x + y``."""
    case = cases[ADD, "python", "eager"]
    compared = [case["output"] for case in cases.values() if case["output"] is not None]

    assert "worse" == case["verdict"]
    assert case["base"] < case["new"]
    assert compared
    assert not any(output["differs"] for output in compared)
