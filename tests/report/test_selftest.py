"""What a selftest shows: a row for each case, and a summary."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from core.types import Case, Language
from instruction_counts.report.selftest import percent, summary, table
from instruction_counts.session.selftest import CaseNoise
from tests.fakes import make_case

A, B = make_case("a"), make_case("b", stmt="x - y")
C = make_case("c", language=Language.CPP)


def noise(
    *repeats: int | None, layouts: tuple[int | None, ...] = (), case: Case = A, agree: bool = True
) -> CaseNoise:
    """What the rounds said of a case."""
    return CaseNoise(case, repeats, layouts, agree)


def shown(*noises: CaseNoise) -> list[list[str]]:
    """The table, row by row, with its heads."""
    columns = table(noises).columns
    return [
        [str(column.header) for column in columns],
        *(
            [str(cell) for cell in row]
            for row in zip(*(column.cells for column in columns), strict=True)
        ),
    ]


def test_a_case_that_repeated_is_called_the_same() -> None:
    """With its count."""
    assert [A.title, "12,345", "same", "agree"] == shown(noise(12_345, 12_345))[1]


def test_a_case_that_did_not_repeat_shows_by_how_much() -> None:
    """As a share of its count."""
    assert [A.title, "1,000", "0.1000%", "vary"] == shown(noise(1000, 999, agree=False))[1]


@pytest.mark.parametrize("repeats", [(None, 5), (5, None), (None, None)])
def test_a_case_that_failed_in_a_round_says_so(repeats: tuple[int | None, ...]) -> None:
    """It must not look like one without noise."""
    assert "failed" in shown(noise(*repeats, agree=False))[1]


def test_layouts_have_a_column_where_there_were_some() -> None:
    """And none otherwise."""
    heads = [shown(noise(5, 5, layouts=layouts))[0] for layouts in [(), (6,)]]

    assert [[], ["layouts"]] == [head[4:] for head in heads]


def test_markup_in_a_label_is_left_alone() -> None:
    """``x[red]`` is code."""
    stream = io.StringIO()
    Console(file=stream, width=200).print(table([noise(5, 5, case=make_case("x[red]"))]))

    assert "x[red]" in stream.getvalue()


def test_each_language_has_its_shares() -> None:
    """Those that repeat, and those whose windows agree."""
    noises = [noise(5, 5), noise(1000, 999, case=B, agree=False), noise(5, 5, case=C)]

    assert [
        ["Python: 1 of 2 repeat to the instruction", "(noise floor of the others: 0.1000%)", "1"],
        ["C++: 1 of 1 repeat to the instruction", "(noise floor of the others: 0)", "1"],
    ] == [re.split(r" (?=\()|; windows agree in ", line) for line in summary(noises)]


def test_layouts_are_summed_up_by_their_spread() -> None:
    """As many as there were, with the one that is measured in."""
    layouts = [(10_000, 10_000), (10_000, 9_999), (10_000, 9_996), (10_000, 9_900)]
    noises = [noise(10_000, 10_000, layouts=counts) for counts in layouts]

    assert (
        "  over 3 layouts: 25% within 0, 50% within 0.01%, 75% within 0.05%, 75% within 0.1%;"
        " worst 1.0000%"
    ) == list(summary(noises))[1]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0"), (0.5, "50.0000%"), (0.000001, "0.0001%"), (4e-8, "0.0001%"), (1e-30, "0.0001%")],
)
def test_a_spread_that_is_there_is_shown(share: float, text: str) -> None:
    """However small: nothing but 0 is none."""
    assert text == percent(share)
