"""Text for terminals that do not know all characters: something readable in their place."""

from __future__ import annotations

import codecs

ERRORS = "instruction_counts.plain"
"""What encodes text so: the name for ``errors``, once `register` has been called."""

_PLAIN = {
    "…": "...",
    "·": "|",
    "→": "->",
    "–": "-",
    "—": "-",
    "±": "+-",
    "×": "x",
    "²": "^2",
    "³": "^3",
    "µ": "u",
    "μ": "u",
    "≤": "<=",
    "≥": ">=",
    # Marks and bars of plots and tables
    "•": "*",
    "●": "*",
    "○": "o",
    "■": "#",
    "□": "%",
    "▲": "^",
    "△": "A",
    "◆": "@",
    "◇": "v",
    **dict.fromkeys("─━═╌╴╶╸╺", "-"),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╯╰┏┓┗┛┡┩╇", "+"),
    **dict.fromkeys("█▉▊▋▌▐", "#"),
    **dict.fromkeys("▍▎▏", "|"),
}


def register() -> None:
    """Make `ERRORS` known to Python."""
    codecs.register_error(ERRORS, _in_plain_text)


def _in_plain_text(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(
        _PLAIN.get(character) or ascii(character)[1:-1] for character in found
    ), error.end
