"""Where the instructions of one case go, as people read it."""

from __future__ import annotations

import io
import json
from typing import Any

import attrs
from rich.console import Console

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction
from instruction_counts.report.breakdown import Breakdown
from instruction_counts.report.formats import explained
from tests.builders import counted, cpp, key, side

OUTCOME = counted(100, {"kernels": 60, "tensor": 40})
LONG = PythonFunction(f"torch/{'folder/' * 12}linear.py", 130, "Linear.forward", "aa", 30)
EXECUTED = Executed(
    (PythonFunction("<case>", 0, "statement", "", 10), LONG),
    (
        OperatorCalls("aten::add", backward=True, calls=1),
        OperatorCalls("aten::mm", backward=False, calls=3),
    ),
    "3.11",
)


def made(executed: Executed | None = None, **options: Any) -> Breakdown:
    """What is said of a side that executed this."""
    found = side(cpp("add", outcome=attrs.evolve(OUTCOME, executed=executed)), title="run 2")
    return Breakdown(key("add"), found, difference(None, OUTCOME.functions), **options)


def shown(executed: Executed | None = None, **options: Any) -> list[str]:
    """The lines in a pipe, without the spaces that align them."""
    stream = io.StringIO()
    Console(file=stream, width=80).print(made(executed, **options))
    return [" ".join(line.split()) for line in stream.getvalue().splitlines() if line.strip()]


def test_every_section_adds_up_to_the_count() -> None:
    """Below the case and the side."""
    assert [
        "add · C++ · Eager · Forward",
        "run 2 torch 2.13.0+cpu 100 instructions",
        "Python functions and operators were not stored for run 2.",
        "by layer instructions share",
        "kernels 60 60.0%",
        "tensor 40 40.0%",
        "sum 100 100.0%",
        "by library instructions share",
        "libtorch_cpu.so 100 100.0%",
        "sum 100 100.0%",
        "by function (2) instructions share",
        "at::native::add 60 60.0% kernels",
        "at::empty 40 40.0% tensor",
        "sum 100 100.0%",
    ] == shown()


def test_what_ran_comes_first() -> None:
    """Python functions by bytecodes and operators by calls, the largest first."""
    lines = shown(EXECUTED)

    assert [
        "by Python function (2) bytecodes share",
        "…der/folder/folder/folder/linear.py:130 Linear.forward 30 75.0%",
        "<case> statement 10 25.0%",
        "sum 40 100.0%",
        "by operator (2) calls share",
        "aten::mm 3 75.0%",
        "aten::add 1 25.0% backward",
        "sum 4 100.0%",
        "by layer instructions share",
    ] == lines[2:11]


def test_a_cpp_case_has_operators_alone() -> None:
    """No Python is executed."""
    lines = shown(attrs.evolve(EXECUTED, functions=None), sections=("python", "operator"))

    assert "by operator (2) calls share" == lines[2]


def test_what_ran_is_limited_as_functions_are() -> None:
    """The rest is one line."""
    assert [
        "by operator (1 of 2) calls share",
        "aten::mm 3 75.0%",
        "… and 1 more 1 25.0%",
        "sum 4 100.0%",
    ] == shown(EXECUTED, sections=("operator",), limit=1)[2:]


def test_json_holds_both_levels() -> None:
    """Everything, with digests of the code."""
    document = json.loads(explained.breakdown(made(EXECUTED)))

    assert [10, 30] == [function["bytecodes"] for function in document["executed"]["functions"]]
    assert "aa" == document["executed"]["functions"][1]["digest"]
    assert [1, 3] == [operator["calls"] for operator in document["executed"]["operators"]]
    assert [60, 40] == [function["instructions"] for function in document["functions"]]
    assert 100 == sum(layer["instructions"] for layer in document["layers"])


def test_json_has_null_where_what_ran_is_not_known() -> None:
    """As with the timer engine."""
    assert json.loads(explained.breakdown(made()))["executed"] is None


def test_functions_beyond_the_limit_are_one_line() -> None:
    """Of the sections that are asked for."""
    assert [
        "by function (1 of 2) instructions share",
        "at::native::add 60 60.0% kernels",
        "… and 1 more 40 40.0%",
        "sum 100 100.0%",
    ] == shown(sections=("function",), limit=1)[2:]
