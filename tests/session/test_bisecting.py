"""The case that a bisection is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.session.bisecting import only_case


@pytest.fixture
def definitions(tmp_path: Path) -> str:
    """A file with more cases than a message names."""
    path = tmp_path / "cases.py"
    path.write_text(
        "from core.api import TimerArgs\n"
        "BENCHMARKS = {f'case {n}': TimerArgs(f'{n}') for n in range(14)}\n"
    )
    return str(path)


def test_the_case_that_is_left_is_taken(definitions: str) -> None:
    """By its label."""
    assert ("case 3",) == only_case(definitions, Selection(("case 3",))).label


def test_several_cases_are_refused(definitions: str) -> None:
    """The first ones are named."""
    with pytest.raises(UsageError, match="14 cases match") as caught:
        only_case(definitions, Selection(("*",)))

    lines = str(caught.value).splitlines()
    assert 12 == sum(line.startswith("  case ") for line in lines)
    assert any(line.startswith("  …") for line in lines)
