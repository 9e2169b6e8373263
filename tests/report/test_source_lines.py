"""Lines of changed functions: those of base and of new below each other."""

import attrs
import pytest

from instruction_counts.domain.executed import SourceChange, SourceLines
from instruction_counts.report.document import Document
from instruction_counts.report.renderers import terminal
from instruction_counts.report.source_lines import NONE_CHANGED, blocks

BASE = (
    "    def forward(self, x):",
    *(f"        {name}" for name in "abcdefgh"),
    "        return x",
)
NEW = (*BASE[:-1], "        y = x", "        return y")
CHANGE = SourceChange("torch/linear.py", "forward", SourceLines(130, BASE), SourceLines(131, NEW))
LONG = SourceChange("a.py", "f", None, SourceLines(1, ("x = 1",) * 99))
FAR = attrs.evolve(
    CHANGE, new=SourceLines(130, (BASE[0], "        z", *BASE[2:-1], "        return y"))
)


def shown(*changes: SourceChange) -> list[str]:
    """The lines of a terminal."""
    return terminal.render(Document("x", sections=tuple(blocks(changes)))).splitlines()


def test_lines_that_changed_are_shown_with_some_around_them() -> None:
    """And with the numbers that each side has."""
    assert [
        "torch/linear.py forward",
        "     137     f",
        "     138     g",
        "     139     h",
        "  -  139     return x",
        "  +  140     y = x",
        "  +  141     return y",
    ] == shown(CHANGE)


@pytest.mark.parametrize(
    ("change", "gaps", "number"), [(FAR, 1, 13), (LONG, 1, 42), (CHANGE, 0, 7)]
)
def test_what_is_left_out_is_marked(change: SourceChange, gaps: int, number: int) -> None:
    """Between lines far from each other, and at the end of a long function of one side."""
    lines = shown(change)

    assert [NONE_CHANGED] == shown()  # the option was not overlooked
    assert gaps == [line.strip() for line in lines].count("…")
    assert number == len(lines)


def test_one_side_is_shown_alone() -> None:
    """With the reason, and not as if all of it was new."""
    lines = shown(attrs.evolve(CHANGE, base=None, remarks=("base: /a/linear.py is gone",)))

    assert ["  base: /a/linear.py is gone", "     131 def forward(self, x):"] == lines[1:3]
    assert not [line for line in lines if line.strip().startswith("+")]
