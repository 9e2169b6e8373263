"""Text from outside, without what a terminal would obey."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""``text`` with control characters, and all else that cannot be seen, spelled out: ``\x1b``.

    Line ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character in "\n\t" or character.isprintable() else ascii(character)[1:-1]
        for character in text
    )
