"""Terminals that do not know all characters; `test_faults` has whole commands."""

from __future__ import annotations

import pytest

from instruction_counts.cli import streams

pytestmark = pytest.mark.faults


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", b"plain"),
        ("2.1 µs ± 7%", b"2.1 us +- 7%"),
        ("add → sub …", b"add -> sub ..."),
        ("┌─█│", b"+-#|"),
        ("n² · ünknown ✗", rb"n^2 | \xfcnknown \u2717"),
        ("half \udc80", rb"half \udc80"),
    ],
)
def test_what_a_terminal_does_not_know_has_a_plain_form(text: str, expected: bytes) -> None:
    """What stands for something is replaced by it, all else by its number."""
    streams.register()

    assert expected == text.encode("ascii", streams.ERRORS)
