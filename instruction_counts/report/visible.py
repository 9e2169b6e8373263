"""Text from outside, without what a terminal would obey."""


def visible(text: str) -> str:
    r"""``text`` with control characters, and all else that cannot be seen, spelled out: ``\x1b``.

    Line ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(each if each in "\n\t" else _spelled(each) for each in text)


def visible_line(text: str) -> str:
    r"""The same as one line: line ends and tabs are spelled out, too: ``\n``."""
    return text if text.isprintable() else "".join(map(_spelled, text))


def _spelled(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]
