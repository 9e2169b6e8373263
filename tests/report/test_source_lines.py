"""Lines of changed functions, side by side or one below another."""

from __future__ import annotations

import io

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from instruction_counts.domain.source_lines import SourceChange, SourceLines
from instruction_counts.report.source_lines import NONE_CHANGED, renderables, unified
from instruction_counts.report.terminal import TerminalConsole

BASE = (
    "    def forward(self, x):",
    *(f"        {name}" for name in "abcdefgh"),
    "        return x",
)
NEW = (*BASE[:-1], "        y = x", "        return y")
CHANGE = SourceChange("torch/linear.py", "forward", SourceLines(130, BASE), SourceLines(131, NEW))


def shown(*changes: SourceChange, width: int = 80) -> list[str]:
    """The lines in a pipe."""
    stream = io.StringIO()
    console = TerminalConsole(width=width, file=stream, emoji=False)
    for renderable in renderables(changes, width):
        console.print(renderable, highlight=False)
    return [line.rstrip() for line in stream.getvalue().splitlines() if line.strip()]


def test_narrow_terminals_show_lines_below_each_other() -> None:
    """With some lines around them, and the numbers that each side has."""
    assert [
        "torch/linear.py forward",
        "     137     f",
        "     138     g",
        "     139     h",
        "  -  139     return x",
        "  +  140     y = x",
        "  +  141     return y",
    ] == shown(CHANGE)


def test_wide_terminals_show_sides_beside_each_other() -> None:
    """A line that has no counterpart has room beside it."""
    lines = shown(CHANGE, width=100)

    assert ["base", "new"] == lines[1].split()
    assert ["-", "139", "return", "x", "+", "140", "y", "=", "x"] == lines[5].split()
    assert "+  141     return y" == lines[6].strip()


def test_lines_far_from_each_other_are_apart() -> None:
    """Something was left out."""
    other = (BASE[0], "        z", *BASE[2:-1], "        return y")
    change = attrs.evolve(CHANGE, new=SourceLines(130, other))

    assert 1 == [line.strip() for line in shown(change)].count("…")


@pytest.mark.parametrize("width", [80, 120])
def test_one_side_is_shown_alone(width: int) -> None:
    """With the reason, and not as if all of it was new."""
    alone = attrs.evolve(CHANGE, base=None, remarks=("base: /a/linear.py is gone",))
    lines = shown(alone, width=width)

    assert ["  base: /a/linear.py is gone", "     131 def forward(self, x):"] == lines[1:3]
    assert not [line for line in lines if line.strip().startswith("+")]


def test_long_functions_of_one_side_are_cut() -> None:
    """They would hide all else."""
    long = SourceChange("a.py", "f", None, SourceLines(1, ("x = 1",) * 99))

    assert 41 == len(list(unified(long)))


def test_nothing_to_show_is_said() -> None:
    """The option was not overlooked."""
    assert [NONE_CHANGED] == shown()


def test_terminals_obey_nothing_in_a_file() -> None:
    """Nor is it taken for markup."""
    hostile = SourceChange(
        "a\x1b.py", "f", None, SourceLines(1, ("x = '\x1b]0;title\x07' # [red] :b:",))
    )

    assert [
        r"a\x1b.py f",
        r"       1 x = '\x1b]0;title\x07' # [red] :b:",
    ] == shown(hostile)


TEXTS = st.lists(st.text(st.characters(exclude_characters="\n\r"), max_size=200), max_size=9)


@given(TEXTS, TEXTS, st.sampled_from([80, 100, 200]))
def test_any_lines_fit(base: list[str], new: list[str], width: int) -> None:
    """However long they are."""
    sides = (SourceLines(1, tuple(lines)) for lines in (base, new))

    assert all(
        cell_len(line) <= width for line in shown(SourceChange("a", "b", *sides), width=width)
    )
