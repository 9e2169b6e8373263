"""Markdown: what is shown as it is, and as much of it as there is room for."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.report.markdown import clipped, escaped, fitting, size
from instruction_counts.report.visible import visible

LINKED = ["http", "HTTPS", "://", "www", "WWW", ".", "@", "#", "GH-", "gh-", "1", "a", " ", "/"]
TEXTS = st.text() | st.lists(st.sampled_from(LINKED)).map("".join)


@given(TEXTS)
def test_any_text_is_one_cell_of_plain_text(text: str) -> None:
    """No formatting, no HTML, no second cell or line; and nothing is lost, but made visible."""
    shown = escaped(text)
    bare = shown.replace("<!-- -->", "")

    assert len(shown.splitlines()) <= 1
    assert not re.search(r"[<>]|(?<!\\)(?:\\\\)*[|`]", bare)
    assert visible(" ".join(text.split())) == html.unescape(
        re.sub(r"\\([\\`*_{}\[\]|~!])", r"\1", bare)
    )


@given(TEXTS)
def test_no_text_is_a_link_or_tells_somebody(text: str) -> None:
    """What GitHub looks for is nowhere."""
    assert not re.search(r"://|www\.|gh-\d|[@#](?!<!-- -->)", escaped(text), re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see https://evil.example/x", "see https:<!-- -->//evil.example/x"),
        ("www.evil.example", "www<!-- -->.evil.example"),
        ("@torvalds #12 ~~x~~", "@<!-- -->torvalds #<!-- -->12 \\~\\~x\\~\\~"),
        ("GH-12", "GH-<!-- -->12"),
        ("add / Tensor-Tensor · C++: 1.5", "add / Tensor-Tensor · C++: 1.5"),
        ("a|b", "a\\|b"),
        ("<script>", "&lt;script&gt;"),
        ("*x*", "\\*x\\*"),
        ("[x](y)", "\\[x\\](y)"),
        ("`code`", "\\`code\\`"),
    ],
)
def test_what_would_be_markup_is_escaped(text: str, shown: str) -> None:
    """A link is broken by a comment, that nobody sees."""
    assert shown == escaped(text)


@given(st.text(), st.integers(1, 20))
def test_a_clipped_text_is_no_longer_than_allowed(text: str, length: int) -> None:
    """It says that something is missing."""
    found = clipped(text, length)

    assert len(found) <= length
    assert found == text or (text.startswith(found[:-1]) and found.endswith("…"))


@given(st.lists(st.text(max_size=9)), st.integers(0, 50), st.integers(0, 9))
def test_what_fits_is_the_beginning(lines: list[str], room: int, most: int) -> None:
    """As much as there is room for."""
    found = fitting(lines, room, most)

    assert found == lines[: len(found)]
    assert len(found) <= most
    assert size(found) <= room
    assert len(found) in {most, len(lines)} or size(lines[: len(found) + 1]) > room
