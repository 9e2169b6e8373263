"""Operators with real builds: what entries give runs in every language and mode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from instruction_counts.cli import main


def run(tmp_path: Path, *args: str) -> list[dict[str, Any]]:
    """The cases of a run of ``main.py`` with these arguments."""
    output = tmp_path / "result.json"
    code = main(["run", *args, "--output", str(output), "--db", str(tmp_path / "runs.db")])
    cases: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))["cases"]
    assert 0 == code, cases
    assert {"ok"} == {case["outcome"]["status"] for case in cases}, cases
    return cases


def test_operators_can_be_listed_with_overrides(capsys: pytest.CaptureFixture[str]) -> None:
    """Each dtype gives cases of its own."""
    args = ["list", "--operators", "torch.add", "--dtype", "float64", "--dtype", "int32"]
    assert main([*args, "--runtime", "eager", "--language", "python", "--autograd", "forward"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "arithmetic/torch.add/typical/float64",
        "arithmetic/torch.add/typical/int32",
    ]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--operators", "torch.ad"], "Near: torch.add"),
        (["--dtype", "float64"], "--dtype is for operators"),
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
