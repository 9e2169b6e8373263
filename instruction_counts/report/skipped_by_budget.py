"""What a time budget skipped, for people: how many, why, and which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

Budgets = Mapping[str, str]
"""The titles of the skipped cases, each with the budget that was used up."""

Fit: TypeAlias = Callable[[Iterable[str]], list[str]]
"""Chooses the lines there is room for: the first of those it is given."""

SHOWN = 20


def sentence(budgets: Budgets, measured: int) -> str:
    """``12 of 300 cases measured within 60 s; …``; empty where nothing was skipped."""
    if not budgets:
        return ""
    within = " and ".join(dict.fromkeys(budgets.values()))
    return (
        f"{measured:,} of {measured + len(budgets):,} cases measured within {within}; "
        f"skipped: {len(budgets):,}, the least likely to have changed first"
    )


def lines(budgets: Budgets, measured: int, limit: int = SHOWN) -> Iterator[str]:
    """For a terminal: the sentence, then at most ``limit`` cases (0: all)."""
    if not budgets:
        return
    yield f"{sentence(budgets, measured)}:"
    titles = list(budgets)
    yield from (f"  {title}" for title in titles[: limit or None])
    if 0 < limit < len(titles):
        yield f"  … and {len(titles) - limit:,} more"
