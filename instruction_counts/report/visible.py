"""Text from outside, without what a terminal would obey."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""``text`` with control characters, and all else that cannot be seen, spelled out: ``\x1b``.

    Line ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(one if one in "\n\t" or one.isprintable() else ascii(one)[1:-1] for one in text)
