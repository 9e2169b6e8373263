"""Blocks of one-line benchmarks: ``# @Label`` in Python, ``// @Label`` in C++."""

import re
import textwrap
from itertools import zip_longest

import attrs

from instruction_counts.core.checks import check_text
from instruction_counts.core.errors import require
from instruction_counts.core.labels import Language

_COMMENT = {Language.PYTHON: "#", Language.CPP: "//"}
_RESERVED = {"SETUP": "setup", "GLOBAL_SETUP": "global_setup"}


@attrs.frozen
class VariantsBlock:
    """One parsed block. ``cases`` keeps blank lines, since lines pair up by their position."""

    setup: str
    global_setup: str
    cases: dict[str, tuple[str, ...]]


def parse_blocks(py_block: str, cpp_block: str) -> tuple[VariantsBlock, VariantsBlock]:
    """Both blocks, so that lines that stand side by side have the same position.

    Columns have one height, and begin where they begin. Otherwise, the line break after opening
    quotes is no line.
    """
    check_text("py_block", py_block)
    check_text("cpp_block", cpp_block)
    if py_block.count("\n") != cpp_block.count("\n"):
        py_block, cpp_block = (block.removeprefix("\n") for block in (py_block, cpp_block))
    return parse_block(py_block, Language.PYTHON), parse_block(cpp_block, Language.CPP)


def parse_block(block: str, language: Language) -> VariantsBlock:
    """Split a block into its setup and the lines of each label, in order.

    Blank lines and lines that are wholly comment become empty strings.
    """
    field = "py_block" if language is Language.PYTHON else "cpp_block"
    comment = _COMMENT[language]
    heading = re.compile(rf"{comment}\s*@(.*)")
    sections: dict[str, list[str]] = {}
    label = ""
    for line in textwrap.dedent(block).splitlines():
        match = heading.fullmatch(line.strip())
        if match:
            label = match[1].strip()
            require(field, line, label, "a label after the @")
            label = _RESERVED.get(label.replace(" ", "_").upper(), label)
        else:
            # A comment inside the setup may explain it, but carries no case anywhere.
            is_case = line.strip() and not line.lstrip().startswith(comment)
            sections.setdefault(label, []).append(line if is_case else "")
    setup, global_setup = (
        "\n".join(sections.pop(name, [])).strip("\n") for name in _RESERVED.values()
    )
    cases = {label: tuple(lines) for label, lines in sections.items() if any(lines)}
    return VariantsBlock(setup, global_setup, cases)


def pair_lines(
    py_cases: dict[str, tuple[str, ...]], cpp_cases: dict[str, tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[str | None, str | None]]:
    """Labels, each with its Python and C++ line; several lines become ``Case:  0``, ….

    Lines of one label pair up by position; a position that is blank in both carries no case.
    """
    paired: dict[tuple[str, ...], tuple[str | None, str | None]] = {}
    for label in dict.fromkeys([*py_cases, *cpp_cases]):
        both = zip_longest(py_cases.get(label, ()), cpp_cases.get(label, ()), fillvalue="")
        lines = [pair for pair in both if any(pair)]
        prefix = (label,) if label else ()
        for number, (py_line, cpp_line) in enumerate(lines):
            suffix = (f"Case: {number:>2}",) if len(lines) > 1 else ()
            paired[prefix + suffix] = (py_line.strip() or None, cpp_line.strip() or None)
    return paired
