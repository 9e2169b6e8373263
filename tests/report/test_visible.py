"""What cannot be seen is spelled out."""

from __future__ import annotations

import pytest

from instruction_counts.report.visible import visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add / é · 日本", "add / é · 日本"),
        ("a\nb\tc", "a\nb\tc"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\r\x07\x9b", "\\r\\x07\\x9b"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_spelled_out(text: str, expected: str) -> None:
    """All else stays as it is."""
    assert expected == visible(text)
