"""The console of a terminal."""

from __future__ import annotations

import io

import pytest
from rich.text import Text

from instruction_counts.report.terminal import TerminalConsole


@pytest.mark.parametrize("shown", ["a\x1b[2Jb", Text("a\x1b[2Jb")])
def test_a_control_character_is_spelled_out(shown: str | Text) -> None:
    """Whether rich gets it as text or as a renderable."""
    stream = io.StringIO()

    TerminalConsole(file=stream, width=100, emoji=False).print(shown, highlight=False, markup=False)

    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().startswith("a")
    assert stream.getvalue().endswith("b\n")
