"""What is not covered, as people and programs read it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from instruction_counts.report.coverage import as_json, markdown, share, summary, table
from instruction_counts.sources.operators.catalogue import PublicOperator
from instruction_counts.sources.operators.coverage import Coverage, total


def public(name: str, uses: int) -> PublicOperator:
    """A public operator of torch.fft."""
    return PublicOperator(f"torch.fft.{name}", "torch.fft", f"fft_{name}", (), uses)


FOUND = (
    Coverage(
        "torch.fft",
        named=(public("fft", 1200),),
        shared=(public("ifft", 30),),
        uncovered=(public("hfft", 20), public("ihfft", 3), public("hfft2", 0)),
    ),
)


def shown(limit: int | None) -> list[str]:
    """The table as a pipe has it."""
    stream = io.StringIO()
    Console(file=stream, width=80).print(table(FOUND, limit), highlight=False)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_the_table_shows_the_first_of_each_category_and_counts_the_rest() -> None:
    """With the calls of the rest, which tell whether they matter."""
    assert [
        "not covered       calls  covered  by calls",
        "torch.fft         1,253      2/5     98.2%",
        "  torch.fft.hfft     20",
        "  … and 2 more        3",
        "all               1,253      2/5     98.2%",
    ] == shown(1)


def test_without_a_limit_the_table_shows_everything() -> None:
    """And counts no rest."""
    lines = shown(None)
    assert "  torch.fft.hfft2      0" in lines
    assert "more" not in " ".join(lines)


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(1, 3, "33.3%"), (0, 3, "0.0%"), (3, 3, "100.0%"), (9999, 10000, "99.9%"), (0, 0, "–")],
)
def test_a_share_of_all_is_distinguished_from_nearly_all(
    part: int, whole: int, expected: str
) -> None:
    """Rounding never hides that something is missing."""
    assert expected == share(part, whole)


def test_the_summary_tells_how_operators_are_covered() -> None:
    """By name, or by a function."""
    assert "Covered 2 of 5 operators (1 by name, 1 by function), 98.2% by calls" == summary(
        total(FOUND)
    )


def test_markdown_names_every_operator_with_its_native_name() -> None:
    """Whatever the screen shows."""
    lines = markdown(FOUND, "nightly").splitlines()
    assert "# Public operators without an entry: build nightly" == lines[0]
    assert "| torch.fft | 1,253 | 2/5 | 98.2% |" == next(
        line for line in lines if line.startswith("| torch.fft ")
    )
    assert "| <code>torch.fft.hfft2</code> | fft\\_hfft2 | 0 |" == lines[-1]


def test_json_has_numbers_and_every_operator() -> None:
    """For programs, which need no limit."""
    found = as_json(FOUND, "nightly")
    (category,) = found["categories"]
    assert found["build"] == "nightly"
    assert found["public"] == 5
    assert category["covered_calls"] == 1230
    expected = {"name": "torch.fft.ihfft", "native": "fft_ihfft", "calls": 3}
    assert expected == category["uncovered"][1]
