"""Helpers for definition files: flattening, and code in two columns."""

from __future__ import annotations

import contextlib
import string
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api import GroupedStmts, GroupedVariants, TimerArgs
from core.errors import DefinitionError, DefinitionErrors
from core.utils import flatten, iter_parsed_lines, parse_stmts

HEADER = f"{'Python':<40} | C++"
RULE = f"{'-' * 40} | {'-' * 40}"
ADD = GroupedStmts("x + y", "x + y;")
MUL = TimerArgs("x * y")

CODE = string.ascii_letters + string.digits + " .,;:=+-*/()[]{}<>\"'#|_äπ"
PYTHON_LINES = st.text(CODE, max_size=40).map(str.rstrip)
CPP_LINES = st.text(CODE, max_size=70).map(str.rstrip)
COLUMNS = st.lists(st.tuples(PYTHON_LINES, CPP_LINES), max_size=8)
SHAPED_TEXT = st.lists(
    st.sampled_from([HEADER, RULE, f"{'x = 1':<40} | auto x = 1;", f"{'':<40} |", "", " ", "x | y"])
).map("\n".join)

KEYS = st.sampled_from("abcdef")
LEAVES = st.integers(0, 9).map(lambda number: TimerArgs(f"x + {number}"))
TREES = st.recursive(
    LEAVES, lambda below: st.dictionaries(KEYS, below, min_size=1, max_size=3), max_leaves=12
).filter(lambda tree: isinstance(tree, dict))


def columns(*rows: tuple[str, str]) -> str:
    """A text in two columns, as a definition file holds it."""
    return "\n".join([HEADER, RULE, *(f"{python:<40} | {cpp}" for python, cpp in rows)])


def flatten_any(schema: Any) -> dict[tuple[str, ...], Any]:
    """`flatten`, for schemas that the type checker would refuse."""
    return flatten(schema)


def tree_leaves(tree: Any, prefix: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """The leaves of a tree with string keys, found by another way than the code under test."""
    stack, leaves = [(prefix, tree)], {}
    while stack:
        label, node = stack.pop()
        if isinstance(node, TimerArgs):
            leaves[label] = node
        else:
            stack.extend(((*label, key), below) for key, below in node.items())
    return leaves


# flatten


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"a": ADD}, {("a",): ADD}),
        ({"a": {"b": ADD, "c": MUL}}, {("a", "b"): ADD, ("a", "c"): MUL}),
        ({("a", "b"): ADD}, {("a", "b"): ADD}),
        ({("a", "b"): {("c", "d"): ADD}}, {("a", "b", "c", "d"): ADD}),
        ({"a": {None: ADD, "b": MUL}}, {("a",): ADD, ("a", "b"): MUL}),
        ({None: {"a": ADD}}, {("a",): ADD}),
        ({"a": {(): ADD}}, {("a",): ADD}),
        ({"a": {"": ADD}}, {("a",): ADD}),
        ({("a", None, "b"): ADD}, {("a", "b"): ADD}),
        ({"a": {}, "b": ADD}, {("b",): ADD}),
        ({("a",): {"b": ADD}, "a": {"c": MUL}}, {("a", "b"): ADD, ("a", "c"): MUL}),
    ],
)
def test_keys_of_every_kind_become_labels(schema: Any, expected: Any) -> None:
    """Strings add one part, tuples several; None and empty ones add nothing."""
    assert expected == flatten_any(schema)


def test_variants_are_mappings_like_any_other() -> None:
    """Their labels follow the key above them."""
    flat = flatten_any({"a": GroupedVariants("# @b\nx\n# @c\nx\ny"), "d": GroupedVariants("z")})
    expected = [("a", "b"), ("a", "c", "Case:  0"), ("a", "c", "Case:  1"), ("d",)]
    assert expected == list(flat)


def test_the_order_of_the_definition_is_kept() -> None:
    """Benchmarks come out as they are written."""
    flat = flatten_any({"b": {"y": ADD, "x": ADD}, "a": ADD})
    assert [("b", "y"), ("b", "x"), ("a",)] == list(flat)


@pytest.mark.parametrize(
    "schema",
    [
        {"a": {"b": ADD}, ("a", "b"): MUL},
        {("a", "b"): ADD, "a": {None: {"b": ADD}}},
        {"a": {"b": {None: ADD, (): MUL}}},
    ],
)
def test_a_label_is_used_once(schema: Any) -> None:
    """A second benchmark under the same label is an error, even by another way of nesting."""
    with pytest.raises(DefinitionError) as caught:
        flatten_any(schema)
    error = caught.value
    assert "label" == error.field
    assert "a / b" == error.found
    assert "a unique label" == error.expected
    assert ("a", "b") == error.label


@pytest.mark.parametrize("key", [1, 2.0, True, b"a", ("a", 1), (("a",),), frozenset("a")])
def test_a_key_of_another_type_is_refused(key: Any) -> None:
    """The error shows the key, and the label that it stands under."""
    with pytest.raises(DefinitionError) as caught:
        flatten_any({"above": {key: ADD}})
    assert "key" == caught.value.field
    assert f"{key!r} ({type(key).__name__})" == caught.value.found
    assert ("above",) == caught.value.label


@pytest.mark.parametrize("value", [None, "x + y", 1, ["x"], ADD.setup, TimerArgs, GroupedStmts])
def test_a_value_that_is_no_benchmark_is_refused(value: Any) -> None:
    """Text is no benchmark, and neither is a constructor that was never called."""
    with pytest.raises(DefinitionError) as caught:
        flatten_any({"a": {"b": value}})
    assert "value" == caught.value.field
    assert ("a", "b") == caught.value.label


@pytest.mark.parametrize("schema", [{}, {"a": {}}, {"a": {"b": {}}, None: {}}])
def test_an_empty_definition_is_refused(schema: Any) -> None:
    """A definition without a benchmark is a mistake."""
    with pytest.raises(DefinitionError) as caught:
        flatten_any(schema)
    assert "BENCHMARKS" == caught.value.field
    assert "no benchmark" == caught.value.found


@pytest.mark.parametrize("schema", [{None: ADD}, {(): ADD}, ADD])
def test_a_benchmark_needs_a_label(schema: Any) -> None:
    """A benchmark with no key above it is a mistake."""
    with pytest.raises(DefinitionError) as caught:
        flatten_any(schema)
    assert "label" == caught.value.field
    assert "a label: put the benchmark under a key" == caught.value.expected


def test_several_mistakes_are_raised_together() -> None:
    """All of them are named, in the order of the definition."""
    with pytest.raises(DefinitionErrors) as caught:
        flatten_any({"a": 1, "b": {"c": ADD, 2: ADD}, "d": ADD, ("d",): MUL})
    expected = [("value", ("a",)), ("key", ("b",)), ("label", ("d",))]
    assert expected == [(error.field, error.label) for error in caught.value.errors]


@given(TREES)
def test_every_leaf_is_kept_exactly_once(tree: Any) -> None:
    """Nothing is lost, nothing doubled, and every leaf stands under its path."""
    assert tree_leaves(tree) == flatten_any(tree)


@given(TREES)
def test_nesting_and_tuples_of_keys_are_the_same(tree: Any) -> None:
    """A flat definition flattens to itself."""
    assert flatten_any(tree) == flatten_any(tree_leaves(tree))


@given(TREES)
def test_none_adds_nothing_at_any_depth(tree: Any) -> None:
    """Wrapping each level in None changes no label."""

    def wrapped(node: Any) -> Any:
        if isinstance(node, TimerArgs):
            return node
        return {None: {key: wrapped(below) for key, below in node.items()}}

    assert flatten_any(tree) == flatten_any(wrapped(tree))


# parse_stmts


def test_two_columns_are_two_texts() -> None:
    """The code keeps its indentation, and blank cells stay as blank lines."""
    text = """
        Python                                   | C++
        ---------------------------------------- | ----------------------------------------
        # add                                    | // add
        z = torch.cat([                          | auto z = torch::cat(
            x, y])                               |     {x, y});
                                                 |
        z += 1                                   |
                                                 | z.add_(1);
    """
    expected = (
        "# add\nz = torch.cat([\n    x, y])\n\nz += 1\n",
        "// add\nauto z = torch::cat(\n    {x, y});\n\n\nz.add_(1);",
    )
    assert expected == parse_stmts(text)


@pytest.mark.parametrize(
    ("row", "python", "cpp"),
    [
        (f"{'x' * 40} | y;", "x" * 40, "y;"),
        (f"{'x | y':<40} | x | y;", "x | y", "x | y;"),
        (f"{'x':<40} |", "x", ""),
        (f"{'x':<40} | ", "x", ""),
        (f"{'x':<40} |     y;   ", "x", "    y;"),
        ("", "", ""),
        (f"{'x':<40} | {'y' * 90}", "x", "y" * 90),
    ],
)
def test_a_row_is_cut_at_the_fortieth_character(row: str, python: str, cpp: str) -> None:
    """The left column is exactly 40 wide; the right one is as wide as it likes."""
    assert (f"{python}\nz", f"{cpp}\nz;") == parse_stmts(f"{HEADER}\n{RULE}\n{row}\n{'z':<40} | z;")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", '""'),
        ("x + y", '"x + y"'),
        ("Python | C++", '"Python | C++"'),
        (f"{'Python':<39} | C++\n{RULE}", f'"{"Python":<39} | C++"'),
        (f"{'python':<40} | c++\n{RULE}", f'"{"python":<40} | c++"'),
        (f"{HEADER} too", f'"{HEADER} too"'),
        (HEADER, '""'),
        (f"{HEADER}\n{'-' * 39} | ---", f'"{"-" * 39} | ---"'),
        (f"{HEADER}\n{'x':<40} | y;", f'"{"x":<40} | y;"'),
        (f"{HEADER}\n{RULE}\nx = 1", '"x = 1"'),
        (f"{HEADER}\n{RULE}\nx = 1 | y;", '"x = 1 | y;"'),
        (f"{HEADER}\n{RULE}\n{'x' * 41} | y;", f'"{"x" * 41} | y;"'),
        (f"{HEADER}\n{RULE}\n{'x':<40} |y;", f'"{"x":<40} |y;"'),
        (f"{HEADER}\n{RULE}\n{'x':<40}| y;", f'"{"x":<40}| y;"'),
        (f"{HEADER}\n{RULE}\n{'x':<40}", '"x"'),
    ],
)
def test_a_line_of_another_form_is_refused(text: str, found: str) -> None:
    """The error quotes the first line that does not parse."""
    with pytest.raises(DefinitionError) as caught:
        parse_stmts(text)
    assert "parse_stmts" == caught.value.field
    assert found == caught.value.found


@pytest.mark.parametrize("value", [None, 1, ("x", "y"), b"x"])
def test_columns_are_text(value: Any) -> None:
    """Anything else is refused with its type."""
    with pytest.raises(DefinitionError) as caught:
        parse_stmts(value)
    assert f"{value!r} ({type(value).__name__})" == caught.value.found


def test_a_header_alone_holds_no_code() -> None:
    """Columns without a row are empty, not wrong."""
    assert ("", "") == parse_stmts(f"{HEADER}\n{RULE}")


@given(COLUMNS, st.integers(0, 12))
def test_columns_come_out_as_they_went_in(rows: list[tuple[str, str]], width: int) -> None:
    """Wherever the text stands in a file, each cell is kept."""
    text = f"\n{textwrap.indent(columns(*rows), ' ' * width)}\n"
    expected = ("\n".join(row[0] for row in rows), "\n".join(row[1] for row in rows))
    assert expected == parse_stmts(text)


@given(st.text() | SHAPED_TEXT)
def test_any_text_is_two_columns_or_a_definition_error(text: str) -> None:
    """No text makes the parser fail in another way."""
    with contextlib.suppress(DefinitionError):
        python, cpp = parse_stmts(text)
        assert python.count("\n") == cpp.count("\n")


# iter_parsed_lines


def test_parsed_lines_come_in_stripped_pairs() -> None:
    """Each row is one pair, ready for a comprehension."""
    text = columns(("[0]", "{0}"), ("  [0, 0]", "   {0, 0}"), ("[...]", '{"..."}'))
    expected = [("[0]", "{0}"), ("[0, 0]", "{0, 0}"), ("[...]", '{"..."}')]
    assert expected == list(iter_parsed_lines(text))


@given(COLUMNS)
def test_parsed_lines_are_the_lines_of_the_two_texts(rows: list[tuple[str, str]]) -> None:
    """Both functions read the same columns."""
    expected = [(python.strip(), cpp.strip()) for python, cpp in rows]
    assert expected == list(iter_parsed_lines(columns(*rows)))


def test_parsed_lines_refuse_what_the_columns_refuse() -> None:
    """A bad row is an error here too."""
    with pytest.raises(DefinitionError) as caught:
        list(iter_parsed_lines(f"{HEADER}\n{RULE}\nx | y"))
    assert '"x | y"' == caught.value.found
