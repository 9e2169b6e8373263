"""``predict``, called as the console script calls it."""

from pathlib import Path

import pytest

from tests.builders import file_of
from tests.cli.program import Program
from tests.fakes import make_record, make_run
from tests.sources.models.made import BACKWARD, cost, layer_record, whole_record

COMMAND = ("predict",)


@pytest.fixture
def results(tmp_path: Path) -> str:
    """A run of two models."""
    records = [
        whole_record("Net", cost(1000)),
        layer_record("one", cost(300), {"Net": 2, "Other": 1}),
        layer_record("one", cost(700), {"Net": 2, "Other": 1}, **BACKWARD),
    ]
    return file_of(make_run(*records), tmp_path / "result.json")


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        ([], ["sum of layers 2 1 600 60.0%", "sum of layers 1 1 300 100.0%"]),
        (
            # The backward pass includes the forward pass.
            ["Net", "--autograd", "forward+backward"],
            ["sum of layers 2 1 1,400 100.0%"],
        ),
    ],
)
def test_all_models_of_a_run_are_predicted_or_one(
    results: str, args: list[str], lines: list[str], program: Program
) -> None:
    """One after the other."""
    found = (" ".join(line.split()) for line in program.output(results, *args).splitlines())

    assert lines == [line for line in found if line.startswith("sum")]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["Nat"], 'has no model "Nat"'),
        (["--language", "c++"], "has no layers of Net, Other in c++, forward"),
    ],
)
def test_what_cannot_be_predicted_says_why(
    results: str, args: list[str], message: str, program: Program
) -> None:
    """With what there is."""
    assert message in program.error(results, *args)


def test_a_model_without_backward_is_not_shown_as_one_with_it(
    tmp_path: Path, program: Program
) -> None:
    """Where it is asked for, nothing is printed, and the remedy is how to measure it."""
    both = layer_record("one", cost(700), {"With": 1}, **BACKWARD)
    run = make_run(both, layer_record("two", cost(300), {"Without": 2}))
    path = file_of(run, tmp_path / "result.json")
    for others in ([], ["With"]):
        err = program.error(path, "--autograd", "forward+backward", *others, "Without")
        assert "has no layers of Without in python, forward+backward" in err
        assert "--backward" in err
    # Where none is asked for by its name, it does not hide those that were measured so.
    answer = program(path, "--autograd", "forward+backward")

    assert 0 == answer.code
    assert "With" in answer.out
    assert "Without" not in answer.out
    assert "result.json has no layers of Without in python, forward+backward\n" == answer.err


def test_a_run_of_other_cases_has_nothing_to_predict(tmp_path: Path, program: Program) -> None:
    """And says where models come from."""
    path = file_of(make_run(make_record("add")), tmp_path / "result.json")

    assert "instruction-counts generate" in program.error(path)
