"""What a time budget skipped, as people read it."""

from __future__ import annotations

from instruction_counts.report.skipped_by_budget import lines, sentence

BUDGETS = {"a": "60 s", "b": "60 s", "c": "60 s"}


def test_nothing_skipped_is_no_sentence() -> None:
    """Nor a line."""
    assert sentence({}, 12) == ""
    assert list(lines({}, 12)) == []


def test_the_sentence_says_how_many_cases_were_measured_and_skipped() -> None:
    """Of all, within which budget."""
    expected = (
        "12 of 15 cases measured within 60 s; skipped: 3, the least likely to have changed first"
    )

    assert expected == sentence(BUDGETS, 12)


def test_lines_beyond_the_limit_are_counted() -> None:
    """A limit of 0 shows all."""
    assert ["  a", "  … and 2 more"] == list(lines(BUDGETS, 12, 1))[1:]
    assert ["  a", "  b", "  c"] == list(lines(BUDGETS, 12, 0))[1:]
