"""Two builds with known changes between them: measured, compared, verified and explained."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml

from benchmarks import injected
from instruction_counts import cli

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(
        not (shutil.which("valgrind") and shutil.which("g++")), reason="Valgrind or g++ is missing"
    ),
]

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

    code: int
    text: str
    document: dict[str, Any]
    database: Path

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
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            cli.main(["explain", "1:base", "1:new", label, "--db", str(self.database)])
        return stream.getvalue()


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """A base, and a build with one more call, a slower library, a wrong and an added function."""
    folder = tmp_path_factory.mktemp("compared")
    wrapped = injected.wrapped("new", sys.executable, folder / "site", ["mm"])
    site = folder / "site" / "sitecustomize.py"
    more = "\ntorch.relu = lambda x: x - 1\ntorch.only_in_new = torch.abs\n"
    site.write_text(site.read_text() + more)
    slower = injected.slower("new", sys.executable, folder / "slower")
    builds = [
        {"name": "base", "python": sys.executable},
        {"name": "new", "python": sys.executable, "env": {**wrapped.env, **slower.env}},
    ]
    (folder / "builds.yaml").write_text(yaml.safe_dump({"builds": builds}))
    (folder / "cases.py").write_text(_CASES)
    database, output = folder / "runs.db", folder / "compared.json"
    command = ["compare", "base", "new", "--builds", str(folder / "builds.yaml")]
    command += ["--definitions", str(folder / "cases.py"), "--layouts", "1", "--no-times"]
    command += ["--time-budget", "1h"]
    command += ["--db", str(database), "--output", str(output)]
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        code = cli.main(command)
    return Compared(code, stream.getvalue(), json.loads(output.read_text()), database)


def test_one_more_call_is_found_and_verified(compared: Compared) -> None:
    """A Python wrapper around one function."""
    case = compared.case("wrapped")

    assert "worse" == case["verdict"]
    assert case["verified"] is True


def test_a_tenth_of_a_per_cent_is_found_and_verified(compared: Compared) -> None:
    """Some twenty instructions for each new tensor, in C++."""
    case = compared.case("slower", "c++")

    assert "worse" == case["verdict"]
    assert case["verified"] is True
    assert 0 < case["change"] < 50


def test_the_cause_is_named_in_the_comparison(compared: Compared) -> None:
    """The function that a library put in front of torch's own."""
    assert "GetCPUAllocator" in " ".join(compared.case("slower", "c++")["causes"])


def test_the_cause_is_named_in_the_explanation(compared: Compared) -> None:
    """From what is stored, without the builds."""
    assert "GetCPUAllocator" in compared.explained("slower")


def test_a_wrong_answer_is_no_improvement(compared: Compared) -> None:
    """It says by how much it is wrong."""
    case = compared.case("wrong")

    assert "incomparable" == case["verdict"]
    assert "output differs" == case["reason"]
    assert 1.0 == case["output"]["tensors"][0]["largest_absolute"]


@pytest.mark.parametrize("language", ["python", "c++"])
def test_what_only_lies_elsewhere_in_memory_is_not_reported(
    compared: Compared, language: str
) -> None:
    """Both builds run the same code there."""
    assert compared.case("untouched", language)["verdict"] in {"same", "ambiguous"}


def test_what_one_build_lacks_is_a_row(compared: Compared) -> None:
    """The comparison goes on."""
    case = compared.case("fails")

    assert "failed" == case["verdict"]
    assert "failed in base" == case["reason"]


def test_a_regression_has_its_own_exit_code(compared: Compared) -> None:
    """It counts for more than the case that failed."""
    assert 3 == compared.code


def test_within_a_generous_budget_nothing_is_left_out(compared: Compared) -> None:
    """It only changes the order."""
    assert [] == compared.document["skipped_by_budget"]


def test_what_was_verified_is_said(compared: Compared) -> None:
    """On the terminal, too."""
    sure = "1 of 2 verified in 1 memory layout, 1 of 2 certain: other code is executed"
    assert f"WORSE  {sure}" in compared.text
