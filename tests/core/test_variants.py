"""Blocks of one-line benchmarks: how they are split, and how two languages pair up."""

import contextlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from instruction_counts.core.api import GroupedSetup, GroupedVariants
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.types import Language
from instruction_counts.core.utils import parse_stmts
from instruction_counts.core.variants import VariantsBlock, pair_lines, parse_block

LABELS = st.text("ABCxyz ()-", min_size=1, max_size=8).map(str.strip).filter(bool)
PY_LINES = st.sampled_from(["", "x + y", "x += 1", "torch.add(x, y, out=x)", "# a remark"])
CPP_LINES = st.sampled_from(["", "x + y;", "x += 1;", "torch::add_out(x, x, y);", "// a remark"])
SECTIONS = st.dictionaries(LABELS, st.lists(st.tuples(PY_LINES, CPP_LINES), max_size=5))
SHAPED_TEXT = st.lists(
    st.sampled_from(["# @a", "// @a", "# @", "# @setup", "// @Global Setup", "x", "", "  y;", "#"])
).map("\n".join)


@pytest.mark.parametrize(
    ("language", "line", "is_heading"),
    [
        (Language.PYTHON, "# @a label (1)", True),
        (Language.PYTHON, "#@a label (1)", True),
        (Language.CPP, "// @a label (1)", True),
        (Language.CPP, "\t//  @a label (1)", True),
        (Language.PYTHON, "// @label", False),
        (Language.CPP, "# @label", False),
        (Language.PYTHON, "x + y  # @label", False),
        (Language.CPP, "x + y; // @label", False),
    ],
)
def test_only_a_whole_comment_with_an_at_sign_is_a_heading(
    language: Language, line: str, is_heading: bool
) -> None:
    """Indentation and the space before the sign do not matter; other lines are statements."""
    expected = {"a label (1)": ("x",)} if is_heading else {"": (line, "x")}

    assert expected == parse_block(f"{line}\nx", language).cases


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        *((name, VariantsBlock("y;", "", {"b": ("x;",)})) for name in ("Setup", " sEtUp ")),
        *(
            (name, VariantsBlock("", "y;", {"b": ("x;",)}))
            for name in ("Global_Setup", "global setup", "GLOBAL_SETUP")
        ),
        ("Setup 2", VariantsBlock("", "", {"Setup 2": ("y;",), "b": ("x;",)})),
    ],
)
def test_setups_are_labels_that_are_reserved(heading: str, expected: VariantsBlock) -> None:
    """In any case, with space or underscore, and only the whole words."""
    assert expected == parse_block(f"    // @{heading}\n    y;\n    // @b\n    x;", Language.CPP)


def test_lines_stand_under_their_label() -> None:
    """Those of a label that comes again follow its first ones; an indented remark is no case.

    It keeps its place for the line opposite.
    """
    block = "# @a\nx\n# @b\ny\n  # a remark\n# @a\nz"

    assert {"a": ("x", "z"), "b": ("y", "")} == parse_block(block, Language.PYTHON).cases


def test_lines_are_labelled_in_order() -> None:
    """Numbers of two digits sort as text, too; a line without a label that is alone has none.

    Labels are first as Python names them, then what C++ adds.
    """
    labels = list(pair_lines({"": ("x",) * 11}, {}))
    assert [("Case:  0",), ("Case:  9",), ("Case: 10",)] == [labels[0], labels[9], labels[10]]
    assert {(): ("x", None)} == pair_lines({"": ("x",)}, {})
    pairs = pair_lines({"b": ("x",), "a": ("x",)}, {"c": ("x;",), "a": ("x;",)})
    assert [("b",), ("a",), ("c",)] == list(pairs)


COLUMNS = parse_stmts(
    f"{'Python':<40} | C++\n{'-' * 40} | ---\n{'':<40} | y;\n{'x':<40} | x;\n{'z':<40} |"
)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (COLUMNS, [(None, "y;"), ("x", "x;"), ("z", None)]),
        (("\n    \n    x\n    ", "\n    y;\n    x;\n    "), [(None, "y;"), ("x", "x;")]),
        (
            ("\n    \n    x\n    ", "\n    y;\n    x;\n    z;\n"),
            [(None, "y;"), ("x", "x;"), (None, "z;")],
        ),
        # The line break after opening quotes is no row.
        (("x", "\n    x;\n    y;\n    "), [("x", "x;"), (None, "y;")]),
    ],
)
def test_a_first_row_that_one_language_has_keeps_its_place(
    blocks: tuple[str, str], expected: list[tuple[str | None, str | None]]
) -> None:
    """What stands beside each other is one benchmark."""
    groups = GroupedVariants(*blocks).values()

    assert expected == [(group.py_fwd_stmt, group.cpp_fwd_stmt) for group in groups]


def test_every_variant_has_the_setup_and_threads_of_its_block() -> None:
    """Python, C++ and global setup are collected from both blocks."""
    variants = GroupedVariants(
        "# @Setup\nx = 1\n# @a\nx\nx + x",
        "// @Setup\nint x = 1;\n// @Global_Setup\n#include <vector>\n// @a\nx;\nx + x;",
        num_threads=(1, 4),
    )
    expected = GroupedSetup("x = 1", "int x = 1;", "#include <vector>"), (1, 4)
    assert [expected] * 2 == [(group.setup, group.num_threads) for group in variants.values()]


@given(SECTIONS)
def test_generated_blocks_pair_up_line_by_line(sections: dict[str, list[tuple[str, str]]]) -> None:
    """What was written side by side comes out side by side, and nothing else does."""
    py_block, cpp_block, expected = "", "", {}
    for label, rows in sections.items():
        py_block += f"# @{label}\n" + "".join(f"{python}\n" for python, _ in rows)
        cpp_block += f"// @{label}\n" + "".join(f"{cpp}\n" for _, cpp in rows)
        code = [
            ("" if python.startswith("#") else python, "" if cpp.startswith("//") else cpp)
            for python, cpp in rows
        ]
        pairs = [(python or None, cpp or None) for python, cpp in code if python or cpp]
        for number, pair in enumerate(pairs):
            suffix = () if len(pairs) == 1 else (f"Case: {number:>2}",)
            expected[label, *suffix] = pair
    assume(expected)
    variants = GroupedVariants(py_block, cpp_block)
    assert expected == {
        label: (group.py_fwd_stmt, group.cpp_fwd_stmt) for label, group in variants.items()
    }


@given(st.text() | SHAPED_TEXT, st.text() | SHAPED_TEXT)
def test_any_two_texts_are_variants_or_a_definition_error(py_block: str, cpp_block: str) -> None:
    """No text makes the parser fail in another way, and none gives an empty answer."""
    with contextlib.suppress(DefinitionError):
        assert GroupedVariants(py_block, cpp_block)
