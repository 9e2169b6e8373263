"""Text in Markdown that is shown as it is, and as much of it as a comment takes."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable

from instruction_counts.report.visible import visible


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: no formatting, HTML, links, mentions or second line.

    GitHub makes links of addresses, of @names and of issue numbers, and tells who is named, however
    that is escaped. What it looks for is broken by a comment, which is not shown.
    """
    plain = html.escape(visible(" ".join(text.split())), quote=False)
    plain = re.sub(r"([\\`*_{}\[\]|~!])", r"\\\1", plain)
    return _LINKED.sub(r"\g<0><!-- -->", plain)


_LINKED = re.compile(r"[@#]|:(?=//)|www(?=\.)|gh-(?=\d)", re.IGNORECASE)


def clipped(text: str, length: int) -> str:
    """``text``, or its beginning; no more than ``length`` characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def fitting(lines: Iterable[str], room: int, most: int) -> list[str]:
    """The first of ``lines``: ``most`` at most, and together ``room`` characters."""
    kept = []
    for line in itertools.islice(lines, most):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def size(lines: Iterable[str]) -> int:
    """The characters of ``lines``, with their ends."""
    return sum(len(line) + 1 for line in lines)
