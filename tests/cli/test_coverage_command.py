"""``operators coverage`` with the installed torch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from instruction_counts.cli import main

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
    coverage: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The entry of torch.add covers the method, too."""
    assert main([*coverage, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    uncovered = {one["name"] for below in found["categories"] for one in below["uncovered"]}
    assert (
        {"torch.linalg.norm", "torch.add", "Tensor.add"} & uncovered,
        {"torch.mm", "Tensor.add_", "torch.linalg.det"} - uncovered,
        found["covered_by_name"],
    ) == (set(), set(), 2)


def test_the_screen_shows_ten_of_a_category_at_most_and_the_file_all(
    coverage: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In 80 columns where it is piped."""
    output = tmp_path / "uncovered.md"
    assert main([*coverage, "--category", "torch.linalg", "--output", str(output)]) == 0
    lines = capsys.readouterr().out.splitlines()
    headings = [line for line in lines if line.startswith("torch.linalg ")]
    shown = [line for line in lines if line.startswith("  torch.linalg.")]
    assert (1, True, True) == (
        len(headings),
        len(shown) <= 10 * sum(line.startswith("torch.linalg") for line in lines),
        max(len(line) for line in lines) <= 80,
    )
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
    coverage: list[str], args: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the remedy, and exit code 1."""
    assert main([*coverage, *args]) == 1
    assert expected in capsys.readouterr().err
