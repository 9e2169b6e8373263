"""``operators``: what it lists, and what it refuses before anything is measured."""

from __future__ import annotations

import json

import pytest

from tests.cli.program import Program


def test_operators_are_listed_by_category(program: Program) -> None:
    """With their inputs, their shapes, and what they have not."""
    lines = [
        line.split()
        for line in program.output("operators", "list", "torch.add", "Tensor.numpy").splitlines()
    ]
    assert ["torch.add", "input,", "other", "sm", "ty", "la", "sk"] in lines
    (numpy,) = (line for line in lines if line[:1] == ["Tensor.numpy"])
    assert {"C++,", "TorchScript,"} <= set(numpy)


def test_each_cell_of_the_list_says_what_it_is(program: Program) -> None:
    """No shape reads like another, and what is counted stands under its heading."""
    captured = program("operators", "list", "torch.add")
    headings, category, _, _, legend = captured.out.splitlines()

    assert ["operator", "count", "inputs", "shapes", "without"] == headings.split()
    assert headings.index("count") + len("count") - 1 == category.index("1")
    assert "shapes: sm small, ty typical, la large, sk skewed" == legend
    assert "1 operator in 1 category\n" == captured.err


def test_operators_are_listed_as_json(program: Program) -> None:
    """For programs."""
    found = json.loads(program.output("operators", "list", "category:fft", "--format", "json"))
    assert {operator["category"] for operator in found} == {"fft"}
    assert "torch.fft.rfft" in {operator["name"] for operator in found}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["list", "torch.ad"], "No operator matches 'torch.ad'. Near: torch.add"),
        (["sizes", "torch.ad"], "Near: torch.add"),
        (["sizes", "torch.fft.*"], "matches several operators"),
        (["sizes", "torch.add", "--sizes", "9:1"], "is not a range of sizes"),
        (["sizes", "torch.add", "--scale", "x=[N]"], 'torch.add has no tensor "x"'),
        (["sizes", "torch.add", "--scale", "input=[3]"], "no shape to scale"),
        (["sizes", "torch.rand"], "no shape to scale"),
        (["sizes", "torch.add", "--no-counts"], "leaves nothing to fit"),
        (["sizes", "torch.add", "--build", "a=python3", "--build", "b=python3"], "on one build"),
    ],
)
def test_a_wrong_use_is_one_message(args: list[str], expected: str, program: Program) -> None:
    """With exit code 1, and nothing measured."""
    assert expected in program.error("operators", *args)


def test_operators_without_cpp_are_reported(program: Program) -> None:
    """Beside the cases that there are."""
    answer = program("list", "--operators", "Tensor.numpy")

    assert 0 == answer.code
    assert "1 operator has no C++: Tensor.numpy" in answer.err


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("kept_engines")
def test_an_operator_is_measured_over_a_range_of_sizes(
    program: Program, tmp_path: pytest.TempPathFactory
) -> None:
    """The counts, a complexity that is linear, and a plot."""
    shapes = ["--scale", "input=[N]", "--scale", "other=[N]", "--sizes", "16:16384:8"]
    modes = ["--language", "python", "--no-times", "--db", f"{tmp_path}/runs.db"]
    out = program.output("operators", "sizes", "torch.add", *shapes, *modes)
    assert [line.split()[0] for line in out.splitlines()[3:7]] == ["16", "128", "1,024", "8,192"]
    assert "·N instructions" in out
    assert "torch.add: instructions" in out
