"""Helpers for definition files: flattening, and code in two columns."""

import contextlib
import string
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.core.api import GroupedStmts, GroupedVariants, TimerArgs
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.utils import flatten, iter_parsed_lines, parse_stmts

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


def columns(*rows: tuple[str, str]) -> str:
    """A text in two columns, as a definition file holds it."""
    return "\n".join([HEADER, RULE, *(f"{python:<40} | {cpp}" for python, cpp in rows)])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"a": ADD}, {("a",): ADD}),
        ({"a": {"b": ADD, "c": MUL}}, {("a", "b"): ADD, ("a", "c"): MUL}),
        ({("a", "b"): {("c", "d"): ADD}}, {("a", "b", "c", "d"): ADD}),
        ({"a": {None: ADD, "b": MUL}}, {("a",): ADD, ("a", "b"): MUL}),
        ({"a": {"": ADD}}, {("a",): ADD}),
        ({"a": {}, "b": ADD}, {("b",): ADD}),
        ({("a",): {"b": ADD}, "a": {"c": MUL}}, {("a", "b"): ADD, ("a", "c"): MUL}),
        (
            {"b": {"y": ADD, "x": MUL}, "a": GroupedVariants("x")},
            {("b", "y"): ADD, ("b", "x"): MUL, ("a",): GroupedStmts("x")},
        ),
    ],
)
def test_keys_of_every_kind_become_labels(schema: Any, expected: Any) -> None:
    """Strings add one part, tuples several; None and empty ones add nothing."""
    assert list(expected.items()) == list(flatten(schema).items())


@pytest.mark.parametrize(
    ("schema", "label", "field", "found"),
    [
        ({"a": {"b": ADD}, ("a", "b"): MUL}, ("a", "b"), "label", "a / b"),
        ({"a": {("b", 1): ADD}}, ("a",), "key", "('b', 1) (tuple)"),
        ({"a": {frozenset("a"): ADD}}, ("a",), "key", "frozenset({'a'}) (frozenset)"),
        ({"a": {"b": "x + y"}}, ("a", "b"), "value", '"x + y"'),
        ({}, None, "BENCHMARKS", "no benchmark"),
        ({None: ADD}, (), "label", "nothing"),
    ],
)
def test_a_mistake_in_a_schema_is_placed(
    schema: Any, label: tuple[str, ...] | None, field: str, found: str
) -> None:
    """A label twice, a key or a value of another type, nothing at all, or no label."""
    with pytest.raises(DefinitionError) as caught:
        flatten(schema)
    error = caught.value
    assert (label, field, found) == (error.label, error.field, error.found)


def test_a_line_without_columns_is_a_row_of_which_both_cells_are_empty() -> None:
    """Between others, which stay beside each other."""
    assert ("\nz", "\nz;") == parse_stmts(f"{HEADER}\n{RULE}\n\n{'z':<40} | z;")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", '""'),
        (f"{'Python':<39} | C++\n{RULE}", f'"{"Python":<39} | C++"'),
        (HEADER, '""'),
        (f"{HEADER}\n{'x':<40} | y;", f'"{"x":<40} | y;"'),
        (f"{HEADER}\n{RULE}\nx = 1", '"x = 1"'),
        (f"{HEADER}\n{RULE}\n{'x' * 41} | y;", f'"{"x" * 41} | y;"'),
        (f"{HEADER}\n{RULE}\n{'x':<40} |y;", f'"{"x":<40} |y;"'),
        (f"{HEADER}\n{RULE}\n{'x':<40}", '"x"'),
    ],
)
def test_a_line_of_another_form_is_refused(text: str, found: str) -> None:
    """The error quotes the first line that does not parse."""
    with pytest.raises(DefinitionError) as caught:
        parse_stmts(text)
    assert "parse_stmts" == caught.value.field
    assert found == caught.value.found


@given(COLUMNS, st.integers(0, 12))
def test_columns_come_out_as_they_went_in(rows: list[tuple[str, str]], width: int) -> None:
    """Wherever the text stands in a file, each cell is kept."""
    text = f"\n{textwrap.indent(columns(*rows), ' ' * width)}\n"
    expected = ("\n".join(row[0] for row in rows), "\n".join(row[1] for row in rows))
    assert expected == parse_stmts(text)
    lines = [(python.strip(), cpp.strip()) for python, cpp in rows]
    assert lines == list(iter_parsed_lines(columns(*rows)))


@given(st.text() | SHAPED_TEXT)
def test_any_text_is_two_columns_or_a_definition_error(text: str) -> None:
    """No text makes the parser fail in another way."""
    with contextlib.suppress(DefinitionError):
        python, cpp = parse_stmts(text)
        assert python.count("\n") == cpp.count("\n")
