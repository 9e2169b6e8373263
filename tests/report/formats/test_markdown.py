"""Markdown of runs."""

from __future__ import annotations

import re

import pytest

from core.types import RuntimeMode
from instruction_counts.domain.records import Run
from instruction_counts.report.formats import markdown
from instruction_counts.report.table import LEGEND
from tests.fakes import make_record, make_run
from tests.report.made import both, realistic


def table_lines(run: Run) -> list[str]:
    """The lines of the Markdown table."""
    return [line for line in markdown.run(run).splitlines() if line.startswith("|")]


def cells(line: str) -> list[str]:
    """The cells of a line of a Markdown table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_a_markdown_table_has_as_many_cells_in_each_line() -> None:
    """Whatever the labels hold."""
    run = make_run(*realistic().cases, *both("x | y", "||", "a\\b"))

    assert {7} == {len(cells(line)) for line in table_lines(run)}


def test_a_markdown_table_has_its_rule_below_the_headings() -> None:
    """Without it, it is no table."""
    rule = cells(table_lines(realistic())[1])

    assert [] == [cell for cell in rule if re.fullmatch(r":?-+:?", cell) is None]


def test_a_markdown_table_has_a_line_for_each_mode() -> None:
    """After headings and rule."""
    run = make_run(*both("a"), *both("a", runtime=RuntimeMode.JIT), make_record("b"))

    assert ["a", "a · TorchScript", "b"] == [cells(line)[0] for line in table_lines(run)[2:]]


def test_markdown_stands_apart_from_the_table() -> None:
    """Empty lines above and below it, which Markdown needs."""
    lines = markdown.run(realistic()).splitlines()
    places = [place for place, line in enumerate(lines) if line.startswith("|")]

    assert "" == lines[places[0] - 1]
    assert "" == lines[places[-1] + 1]


@pytest.mark.parametrize(
    "text",
    [
        "**default**: 2.13.0+cpu, A Processor",
        "\n- failed MatMul · Python: ValueError: bad (stmt line 1: x + y)\n",
        LEGEND,
    ],
)
def test_markdown_holds_what_readers_have_not_at_hand(text: str) -> None:
    """The build and its machine, the reason of a failure, and what the numbers are."""
    assert text in markdown.run(realistic())


def test_a_run_without_cases_is_still_markdown() -> None:
    """An interrupt may come early."""
    assert LEGEND in markdown.run(make_run())
