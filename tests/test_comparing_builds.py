"""Two builds with known changes between them: measured, compared, verified and explained."""

import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from benchmarks import injected
from instruction_counts.domain.build import Build
from tests.real import NEEDS_VALGRIND_AND_COMPILER, reported

pytestmark = [pytest.mark.slow, pytest.mark.thorough, NEEDS_VALGRIND_AND_COMPILER]

_CASES = """\
from core.api import GroupedSetup, GroupedStmts

SETUP = GroupedSetup("x = torch.ones(4, 4)", "auto x = torch::ones({4, 4});")
BENCHMARKS = {
    "wrapped": GroupedStmts("torch.mm(x, x)", None, SETUP),
    "wrong": GroupedStmts("torch.relu(x)", None, SETUP),
    "slower": GroupedStmts(None, "auto z = x + x;", SETUP),
    "untouched": GroupedStmts("x.numel()", "x.numel();", SETUP),
    "fails": GroupedStmts("torch.only_in_new(x)", None, SETUP),
}
"""


@attrs.frozen
class Compared:
    """What a comparison gave."""

    folder: Path
    code: int
    text: str
    document: dict[str, Any]

    def case(self, label: str, language: str = "python") -> dict[str, Any]:
        """What is said of one case."""
        (found,) = (
            case
            for case in self.document["cases"]
            if (case["label"], case["language"]) == ([label], language)
        )
        return found

    def explained(self, label: str) -> str:
        """What `explain` says of one case, from the database alone."""
        return reported(self.folder, "explain", "1:base", "1:new", label)[1]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """A base, and a build with one more call, a slower library, a wrong and an added function."""
    folder = tmp_path_factory.mktemp("compared")
    wrapped = injected.wrapped("new", sys.executable, folder / "site", ["mm"])
    site = folder / "site" / "sitecustomize.py"
    more = "\ntorch.relu = lambda x: x - 1\ntorch.only_in_new = torch.abs\n"
    site.write_text(site.read_text() + more)
    slower = injected.slower("new", sys.executable, folder / "slower")
    new = Build("new", sys.executable, env={**wrapped.env, **slower.env})
    builds = injected.write_builds(folder, Build("base", sys.executable), new)
    (folder / "cases.py").write_text(_CASES)
    what = ("--build", builds, "--definitions", folder / "cases.py")
    how = ("--layouts", "1", "--no-times", "--time-budget", "1h")
    return Compared(folder, *reported(folder, "compare", "base", "new", *what, *how))


def test_a_known_change_is_found_and_verified(compared: Compared) -> None:
    """A Python wrapper around one function, and some twenty instructions of C++ for each tensor.

    The function that a library put in front of torch's own is named as the cause, in the
    explanation too, which has what is stored and not the builds.
    """
    python, cpp = compared.case("wrapped"), compared.case("slower", "c++")

    assert ["worse", "worse"] == [python["verdict"], cpp["verdict"]]
    assert [True, True] == [python["verified"], cpp["verified"]]
    assert 0 < cpp["change"] < 50
    assert "GetCPUAllocator" in " ".join(cpp["causes"])
    assert "GetCPUAllocator" in compared.explained("slower")


def test_a_wrong_answer_is_no_improvement(compared: Compared) -> None:
    """It says by how much it is wrong."""
    case = compared.case("wrong")

    assert ("incomparable", "output differs") == (case["verdict"], case["reason"])
    assert "differs by up to 1 (relative 1)" in case["output"]["text"]


@pytest.mark.parametrize("language", ["python", "c++"])
def test_what_only_lies_elsewhere_in_memory_is_not_reported(
    compared: Compared, language: str
) -> None:
    """Both builds run the same code there."""
    assert compared.case("untouched", language)["verdict"] in {"same", "ambiguous"}


def test_what_one_build_lacks_is_a_row(compared: Compared) -> None:
    """The comparison goes on."""
    case = compared.case("fails")

    assert ("failed", "failed in base") == (case["verdict"], case["reason"])


def test_a_regression_counts_for_more_than_a_case_that_failed(compared: Compared) -> None:
    """Within a generous budget nothing is left out; what was verified is said."""
    sure = "1 verified in 1 memory layout, 1 certain: different code is executed"

    assert 3 == compared.code
    assert [] == compared.document["skipped_by_budget"]
    assert f"WORSE  {sure}" in compared.text
