"""The Python interface: what it asks for, and what it returns."""

from __future__ import annotations

from typing import Any

import pytest

from core.types import AutogradMode, Case, Language
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Timing
from instruction_counts.session.performance import (
    _cases,
    _entry,
    _standard_schemas,
    _test,
    _without_cpp,
    categories,
    run_performance_test,
)
from instruction_counts.sources.operators.catalogue import Schema
from instruction_counts.sources.operators.entries import OperatorEntry, Tensor

ADD = OperatorEntry(
    "torch.add", "arithmetic", {"input": Tensor((8,)), "other": Tensor((8,))}, {"alpha": 1}
)
COMMON: dict[str, Any] = {"dtype": None, "run_backward": True, "seed": 0}


DROPOUT = OperatorEntry(
    "torch.nn.functional.dropout",
    "dropout",
    {"input": Tensor((8,))},
    {"p": 0.5, "training": True},
    cpp="torch::dropout(input, 0.5, true)",
)


def no_schemas() -> dict[str, list[Schema]]:
    """As of a torch that publishes none."""
    return {}


def cases_of(entry: OperatorEntry, number: int, *languages: Language, **asked: Any) -> list[Case]:
    """The cases of a test of an operator."""
    test = _test(entry, COMMON, asked, no_schemas)
    return _cases(test, number, set(languages), no_schemas)


def statements(entry: OperatorEntry = ADD, **asked: Any) -> list[str]:
    """The Python that a test runs."""
    cases = cases_of(entry, 0, Language.PYTHON, **asked)
    return [f"{case.timer_args.setup}\n{case.timer_args.stmt}" for case in cases]


def test_an_operator_is_known_by_its_function() -> None:
    """Functions of torch, of its namespaces, and methods."""
    torch = pytest.importorskip("torch")
    functions = [
        torch.add,
        torch.nn.functional.conv2d,
        torch.nn.functional.cross_entropy,
        torch.fft.rfft,
        torch.linalg.cholesky,
        torch.special.erfcx,
        torch.sparse.mm,
        torch.nn.functional.logsigmoid,
        torch.Tensor.add_,
    ]
    assert [_entry(function).name for function in functions] == [
        "torch.add",
        "torch.nn.functional.conv2d",
        "torch.nn.functional.cross_entropy",
        "torch.fft.rfft",
        "torch.linalg.cholesky",
        "torch.special.erfcx",
        "torch.sparse.mm",
        "torch.nn.functional.logsigmoid",
        "Tensor.add_",
    ]


def test_a_test_states_arguments_by_their_own_names() -> None:
    """What is left out is as the entry has it; dtype, seed and backward as in opperf."""
    (forward, _) = statements(input=(2, 3), other=[3], alpha=5)
    (alone,) = statements(dtype="float64", seed=7, run_backward=False)

    assert "input = torch.randn([2, 3])" in forward
    assert "other = torch.randn([3])" in forward
    assert forward.endswith("out = torch.add(input, other, alpha=5)")
    assert "torch.manual_seed(7)" in alone
    assert "dtype=torch.float64" in alone


def test_tests_of_one_operator_have_labels_of_their_own() -> None:
    """So that one run can hold them, and the test of each result is known."""
    cases = [
        case
        for number in range(2)
        for case in cases_of(ADD, number, Language.PYTHON, alpha=number + 1)
    ]
    assert len({(case.label, case.autolabels) for case in cases}) == len(cases) == 4
    assert [case.label[-1] for case in cases] == ["test 0"] * 2 + ["test 1"] * 2
    assert [AutogradMode.FORWARD, AutogradMode.FORWARD_BACKWARD] * 2 == [
        case.autolabels.autograd for case in cases
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"op": "torch.ad"}, "^No operator matches 'torch.ad'. Near: torch.add"),
        ({"op": print}, "is not a known operator"),
        ({"op": "torch.add", "inputs": {"input": (3,)}}, "is no list of dictionaries"),
        ({"op": "torch.add", "inputs": [{"othr": (3,)}]}, "has no argument othr"),
        ({"op": "torch.add", "seed": "x"}, "seed='x'"),
        ({"op": "torch.add", "seed": 2**63}, "seed="),
        ({"op": "torch.add", "runs": 0}, "runs=0"),
        ({"op": "torch.add", "warmup": -1}, "warmup=-1"),
        ({"op": "torch.add", "languages": "python"}, "languages='python'"),
        ({"op": "torch.add", "languages": ()}, "languages="),
        ({"op": "torch.add", "languages": ("rust",)}, r"languages=\('rust',\)"),
        (
            {"op": "torch.nn.functional.cross_entropy", "inputs": [{"input": (8,)}]},
            "an index into dimension 1 of input",
        ),
        (
            {"op": "torch.stft", "inputs": [{"hop_length": 3}]},
            r"(?s)torch.stft is measured as .* no place for hop_length.*Leave hop_length out",
        ),
        ({"op": "torch.nn.functional.gelu", "inputs": [{"a b": 1}]}, "has no argument a b"),
        ({"op": "torch.add", "dtype": "float65"}, "no dtype float65"),
        ({"op": "torch.add", "inputs": [{"input": "big"}]}, "is not a valid shape"),
        ({"op": "torch.cat", "inputs": [{"tensors": (3,)}]}, "a list of tensors"),
    ],
)
def test_a_wrong_argument_is_one_message(arguments: dict[str, Any], expected: str) -> None:
    """Before anything is measured."""
    with pytest.raises(UsageError, match=expected):
        run_performance_test(**arguments)


@pytest.mark.parametrize("entry", [OperatorEntry("torch.unknown", "a", ADD.inputs), DROPOUT])
def test_an_argument_that_no_schema_can_tell_is_for_torch_to_judge(entry: OperatorEntry) -> None:
    """Where torch's function is one of Python, which has arguments of its own."""
    assert "inplace=True)" in statements(entry, inplace=True)[0]


def test_cpp_that_is_stated_for_other_arguments_is_not_measured() -> None:
    """It would be another operation under the name of the one that was asked for."""
    cases = cases_of(DROPOUT, 0, *Language, training=False)
    expected = "the C++ of its entry, torch::dropout(input, 0.5, true), has no place for training"
    assert [(Language.PYTHON, expected)] * 2 == [
        (case.autolabels.language, case.subject.no_cpp) for case in cases
    ]


def test_cpp_that_is_stated_for_the_arguments_that_are_given_is_measured() -> None:
    """Also when they are said once more."""
    cases = cases_of(DROPOUT, 0, *Language, training=True, run_backward=False)
    assert ["out = torch.nn.functional.dropout(input, p=0.5, training=True)", DROPOUT.cpp] == [
        case.timer_args.stmt.removeprefix("auto out = ").removesuffix(";") for case in cases
    ]


def test_what_has_no_cpp_has_a_dictionary_with_the_reason() -> None:
    """One for each test, with what is known of it, however its modes."""
    made = [cases_of(DROPOUT, 0, *Language), [], cases_of(ADD, 2, *Language)]
    (found,) = _without_cpp(made, "current", None)
    assert {
        "test": 2,
        "operator": "torch.add",
        "language": "c++",
        "instructions": None,
        "shapes": {"input": [8], "other": [8]},
        "status": "skipped",
        "error": "no schema of aten::add fits its arguments (none)",
    }.items() <= found.items()


def test_schemas_are_read_once_and_only_where_they_are_needed() -> None:
    """It takes a process, and there may be hundreds of tests. Python alone does without."""

    def schemas() -> dict[str, list[Schema]]:
        raise AssertionError

    _cases(_test(ADD, COMMON, {"alpha": 2}, schemas), 0, {Language.PYTHON}, schemas)
    standard = _standard_schemas()

    assert standard() is standard()


def test_categories_can_be_listed() -> None:
    """Each once."""
    found = categories()
    assert len(set(found)) == len(found) > 20


@pytest.mark.parametrize(
    ("runs", "expected"),
    [(None, None), (1, (1, 1)), (25, (2, 13)), (105, (10, 11)), (10_000, (100, 100))],
)
def test_runs_are_timed_in_blocks_of_ten_or_more(
    runs: int | None, expected: tuple[int, int] | None
) -> None:
    """Setup precedes each block, so that short ones would be of cold runs."""
    assert Timing(1, runs).blocks == expected


@pytest.mark.slow
@pytest.mark.usefixtures("kept_engines")
def test_an_operator_is_measured_from_python() -> None:
    """A dictionary for each test, whether it succeeds or not."""
    found = run_performance_test(
        "torch.add",
        inputs=[{"input": (4, 4), "other": (4, 4)}, {"input": (4, 4), "other": (3,)}],
        runs=100,
        run_backward=False,
    )
    good, bad = found
    assert [result["arguments"]["other"] for result in found] == [(4, 4), (3,)]
    assert good["instructions"] > 5_000
    assert good["p50_s"] > 0
    assert good["allocated_bytes"] == 64
    assert "failed" == bad["status"]
    assert "torch.add" == bad["operator"]
    assert "must match the size" in bad["error"]
