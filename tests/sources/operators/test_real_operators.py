"""Operators with real builds: what entries give runs in every language and mode."""

import pytest

from instruction_counts.cli import main


def test_operators_can_be_listed_with_overrides(capsys: pytest.CaptureFixture[str]) -> None:
    """Each dtype gives cases of its own; what has no shape that was asked for is named."""
    args = ["list", "--operators", "torch.add", "--dtype", "float64", "--dtype", "int32"]
    args += ["--operators", "torch.eye", "--shape", "skewed"]
    assert main([*args, "--runtime", "eager", "--language", "python", "--autograd", "forward"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "arithmetic/torch.add/skewed/float64",
        "arithmetic/torch.add/skewed/int32",
    ]
    assert "skipped, without the requested shapes: torch.eye\n" in captured.err


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--operators", "torch.ad"], "Near: torch.add"),
        (["--operators", "torch.add", "--definitions", "x.py"], "exclude each other"),
        (["--operators", "torch.add", "--input", "x=[1]"], 'torch.add has no tensor "x"'),
        (["--operators", "torch.add", "--operators-file", "none.yaml"], "none.yaml: No such file"),
        (["--operators", "torch.add", "--input", "input=3:int64"], "is not NAME=SIZES"),
        (
            ["--operators", "torch.add", "--input", "input=[3]", "--shape", "small"],
            "--input sets the shapes",
        ),
    ],
)
def test_a_wrong_use_of_operators_is_one_message(
    args: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the remedy, and exit code 1."""
    assert main(["list", *args]) == 1
    assert expected in capsys.readouterr().err
