"""Reading YAML with places: what is read, and where each mistake is told to be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts import located
from instruction_counts.errors import DataError
from instruction_counts.located import Misfit, Mistakes, Node

# YAML has no pairs of surrogates, which JSON writes for what lies beyond them.
TEXTS = st.text(st.characters(max_codepoint=0xD7FF), max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below),
    max_leaves=10,
)


BOMB = "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 9)
)
"""A few lines that mean 9^9 values."""


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Node]:
    """Reads a text as a file ``a.yaml``."""

    def read_text(text: str) -> Node:
        path = tmp_path / "a.yaml"
        path.write_text(text, encoding="utf-8")
        return located.read(path)

    return read_text


@given(value=VALUES)
def test_a_json_file_reads_as_yaml_reads_it(tmp_path_factory: Any, value: Any) -> None:
    """Places are all that is added."""
    path = tmp_path_factory.mktemp("located") / "a.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == located.read(path).plain


def test_a_node_knows_its_line_and_path(read: Callable[[str], Node]) -> None:
    """Names that are no words stand in brackets."""
    root = read("version: 1\noperators:\n  torch.add:\n    inputs: [4, 5]\n")
    node = root.value["operators"].value["torch.add"].value["inputs"].value[1]
    assert (node.line, node.path, node.value) == (4, 'operators["torch.add"].inputs[1]', 5)


def test_an_empty_file_is_a_node_without_a_value(read: Callable[[str], Node]) -> None:
    """Whoever expects something there says so."""
    assert read("").value is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: b: c\n", "a.yaml:1: no YAML:"),
        ("a: 1\na: 2\n", 'a.yaml:2: a\n  found     "a" again, first in line 1'),
        ("1: 2\n", "a name that is text"),
        ("[a]: 2\n", "a name that is text"),
        ("a: !!python/object:os.system x\n", "a plain value"),
        ("a: 2020-13-45\n", "a plain value"),
        ("a: &x [*x]\n", "no alias of itself"),
        (BOMB, "too many values"),
        ("a: " + "[" * 30_000 + "]" * 30_000, "a.yaml:1: nested more than 100 levels deep"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_line(
    read: Callable[[str], Node], text: str, expected: str
) -> None:
    """Also what YAML itself would accept: a name twice, objects, loops."""
    with pytest.raises(DataError) as caught:
        read(text)
    assert expected in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the reason that the system gives."""
    with pytest.raises(DataError, match="No such file"):
        located.read(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (located.mapping, "[1]", "a mapping"),
        (located.items, "a: 1", "a list"),
        (located.text, "1", "a text"),
        (located.text, "' '", "a text"),
        (located.flag, "1", "true or false"),
        (located.integer, "1.5", "a whole number"),
        (located.integer, "true", "a whole number"),
        (lambda node: located.integer(node, 1), "0", "a whole number, at least 1"),
        (lambda node: located.choice(node, ["float32"]), "float33", "do you mean float32?"),
        (lambda node: located.choice(node, ["float32"]), "[]", "one of float32"),
        (lambda node: located.fields(node, ["a"]), "b: 1", "one of a"),
        (lambda node: located.fields(node, [], ["inputs"]), "input: 1", "do you mean inputs?"),
        (lambda node: located.fields(node, ["a"], ["b"]), "b: 1", 'a field "a"'),
    ],
)
def test_a_value_of_another_kind_is_told_with_what_was_expected(
    read: Callable[[str], Node], parse: Callable[[Node], object], text: str, expected: str
) -> None:
    """Near names are offered."""
    with pytest.raises(Misfit) as caught:
        parse(read(text))
    assert expected in str(caught.value)


def test_all_mistakes_are_reported_in_the_order_of_their_lines(
    read: Callable[[str], Node],
) -> None:
    """One message for the whole file."""
    found = read("a: 1\nb: 2\n").value
    mistakes = Mistakes()
    assert mistakes.attempt(located.text, found["b"], otherwise="-") == "-"
    mistakes.attempt(located.text, found["a"])
    with pytest.raises(DataError) as caught:
        mistakes.raise_any()
    lines = [line for line in str(caught.value).splitlines() if line.endswith((": a", ": b"))]
    assert [line.rsplit("a.yaml:", 1)[1] for line in lines] == ["1: a", "2: b"]


def test_without_a_mistake_nothing_is_raised(read: Callable[[str], Node]) -> None:
    """And the value comes back."""
    mistakes = Mistakes()
    assert mistakes.attempt(located.integer, read("3")) == 3
    mistakes.raise_any()
