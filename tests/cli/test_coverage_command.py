"""``operators coverage`` with the installed torch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.program import Program

OPERATORS = """\
version: 1
operators:
  torch.linalg.norm: {category: linalg, inputs: {input: [3]}}
  torch.add: {category: arithmetic, inputs: {input: [3], other: [3]}}
"""


@pytest.fixture
def coverage(tmp_path: Path) -> list[str]:
    """The command, with a file of two operators."""
    path = tmp_path / "operators.yaml"
    path.write_text(OPERATORS, encoding="utf-8")
    return ["operators", "coverage", "--operators-file", str(path)]


def test_the_installed_torch_has_operators_without_an_entry(
    coverage: list[str], program: Program
) -> None:
    """The entry of torch.add covers the method, too."""
    found = json.loads(program.output(*coverage, "--format", "json"))
    uncovered = {
        operator["name"] for below in found["categories"] for operator in below["uncovered"]
    }
    assert {"torch.linalg.norm", "torch.add", "Tensor.add"} & uncovered == set()
    assert {"torch.mm", "Tensor.add_", "torch.linalg.det"} - uncovered == set()
    assert 2 == found["covered_by_name"]


def test_the_screen_shows_ten_of_a_category_at_most_and_the_file_all(
    coverage: list[str], tmp_path: Path, program: Program
) -> None:
    """In 80 columns where it is piped."""
    output = tmp_path / "uncovered.md"
    lines = program.output(
        *coverage, "--category", "torch.linalg", "--output", str(output)
    ).splitlines()
    headings = [line for line in lines if line.startswith("torch.linalg ")]
    shown = [line for line in lines if line.startswith("  torch.linalg.")]
    assert 1 == len(headings)
    assert len(shown) <= 10 * sum(line.startswith("torch.linalg") for line in lines)
    assert max(len(line) for line in lines) <= 80
    assert output.read_text(encoding="utf-8").count("| <code>torch.linalg.") > len(shown) >= 10


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--category", "torch.linag"], "Near: torch.linalg"),
        (["--output", "found.txt"], "found.txt: unknown format"),
        (["--output", "nowhere/found.md"], "nowhere/found.md: there is no folder nowhere"),
        (
            ["--build", f"a={sys.executable}", "--build", f"b={sys.executable}"],
            "coverage needs one build, not several: a, b",
        ),
    ],
)
def test_a_wrong_use_of_coverage_is_one_message(
    coverage: list[str], args: list[str], expected: str, program: Program
) -> None:
    """With the remedy, and exit code 1."""
    assert expected in program.error(*coverage, *args)
