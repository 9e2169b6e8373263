"""``operators``: what it lists and measures; `test_commands` has what it refuses."""

import json
from pathlib import Path

import pytest

from tests.cli.program import Program

OPERATORS = """\
version: 1
operators:
  torch.linalg.norm: {category: linalg, inputs: {input: [3]}}
  torch.add: {category: arithmetic, inputs: {input: [3], other: [3]}}
"""


def test_operators_are_listed(program: Program, tmp_path: Path) -> None:
    """With their inputs, their shapes, and what they have not; for programs, too."""
    listed = ["operators", "list", "torch.add", "Tensor.numpy"]
    text = program.output(*listed, "--output", str(tmp_path / "found.csv"), "--output", "-")
    found = json.loads(program.output(*listed, "--format", "json"))["operators"]
    lines = [line.split() for line in text.splitlines()]

    assert ["torch.add", "arithmetic", "input,", "other", "all"] in lines
    assert any(line[:3] == ["Tensor.numpy", "conversion", "input"] for line in lines)
    assert "2 operators in 2 categories" in text
    assert ["Tensor.numpy", "torch.add"] == [operator["name"] for operator in found]
    assert 3 == len((tmp_path / "found.csv").read_text().splitlines())


def test_operators_of_a_file_of_ones_own_do_not_lose_cpp_silently(
    program: Program, tmp_path: Path
) -> None:
    """Neither the list of them nor that of their cases."""
    path = tmp_path / "operators.yaml"
    split = "  torch.split: {category: x, inputs: {t: [8]}, kwargs: {split_size_or_sections: 3}}\n"
    path.write_text(OPERATORS + split, encoding="utf-8")
    listed = program.output("operators", "list", "--operators-file", str(path))
    cases = program("list", "--operators", "*", "--operators-file", str(path))

    assert "torch.split without C++: aten::split has no argument split_size" in listed
    assert "skipped in C++: torch.split; `operators list` says why\n" in cases.err


def test_the_installed_torch_has_operators_without_an_entry(
    program: Program, tmp_path: Path
) -> None:
    """The entry of torch.add covers the method, too."""
    path = tmp_path / "operators.yaml"
    path.write_text(OPERATORS, encoding="utf-8")
    coverage = ["operators", "coverage", "--operators-file", str(path)]
    found = json.loads(program.output(*coverage, "--format", "json"))
    uncovered = {operator["name"] for operator in found["uncovered"]}
    lines = program.output(*coverage, "--limit", "7").splitlines()

    assert {"torch.linalg.norm", "torch.add", "Tensor.add"} & uncovered == set()
    assert {"torch.mm", "Tensor.add_", "torch.linalg.det"} - uncovered == set()
    assert max(map(len, lines)) <= 80


def test_operators_can_be_listed_with_overrides(program: Program) -> None:
    """Each dtype gives cases of its own; what has no shape that was asked for is named."""
    asked = ["--operators", "torch.add", "--dtype", "float64", "--dtype", "int32"]
    asked += ["--operators", "torch.eye", "--shape", "skewed"]
    modes = ["--runtime", "eager", "--language", "python", "--autograd", "forward"]
    answer = program("list", *asked, *modes)

    assert [
        "arithmetic/torch.add/skewed/float64",
        "arithmetic/torch.add/skewed/int32",
    ] == answer.out.splitlines()
    assert "skipped, without the requested shapes: torch.eye\n" in answer.err


@pytest.mark.slow
@pytest.mark.thorough
def test_an_operator_is_measured_over_a_range_of_sizes(program: Program, tmp_path: Path) -> None:
    """The counts, and a complexity that is linear."""
    shapes = ["--input", "input=N", "--input", "other=N"]
    modes = ["--language", "python", "--no-times", "--db", f"{tmp_path}/runs.db"]
    sizes = ["operators", "sizes", "torch.add", "16:16384:8", *shapes, *modes]
    found = json.loads(program.output(*sizes, "--format", "json"))

    assert [16, 128, 1024, 8192] == [row["n"] for row in found["sizes"]]
    assert "·N instructions" in found["answer"][0]
