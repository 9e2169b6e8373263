"""Where the instructions of one case go, as people read it."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.report.breakdown import Breakdown
from tests.gate.fakes import counted, cpp, key, side

SIDE = side(cpp("add", outcome=counted(100, {"kernels": 60, "tensor": 40})), title="run 2")


def shown(**options: Any) -> list[str]:
    """The lines in a pipe, without the spaces that align them."""
    stream = io.StringIO()
    spent = difference(None, SIDE.records[key("add")].outcome.functions)
    Console(file=stream, width=80).print(Breakdown(key("add"), SIDE, spent, **options))
    return [" ".join(line.split()) for line in stream.getvalue().splitlines() if line.strip()]


def test_every_section_adds_up_to_the_count() -> None:
    """Below the case and the side."""
    assert [
        "add · C++ · Eager · Forward",
        "run 2 torch 2.13.0+cpu 100 instructions",
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


def test_functions_beyond_the_limit_are_one_line() -> None:
    """Of the sections that are asked for."""
    assert [
        "by function (1 of 2) instructions share",
        "at::native::add 60 60.0% kernels",
        "… and 1 more 40 40.0%",
        "sum 100 100.0%",
    ] == shown(sections=("function",), limit=1)[2:]
