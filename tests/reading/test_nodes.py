"""Taking the values of a file apart, and gathering what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from instruction_counts.domain.errors import ValidationError
from instruction_counts.reading import documents, nodes
from instruction_counts.reading.nodes import Node, Problems


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Node]:
    """Reads a text as a file ``a.yaml``."""

    def read_text(text: str) -> Node:
        path = tmp_path / "a.yaml"
        path.write_text(text, encoding="utf-8")
        return documents.read(path)

    return read_text


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (nodes.mapping, "[1]", "a mapping"),
        (nodes.items, "a: 1", "a list"),
        (nodes.text, "1", "a non-empty string"),
        (nodes.text, "' '", "a non-empty string"),
        (nodes.flag, "1", "true or false"),
        (nodes.integer, "1.5", "a whole number"),
        (nodes.integer, "true", "a whole number"),
        (lambda node: nodes.integer(node, 1), "0", "a whole number, at least 1"),
        (lambda node: nodes.choice(node, ["float32"]), "float33", "did you mean float32?"),
        (lambda node: nodes.choice(node, ["float32"]), "[]", "one of float32"),
        (lambda node: nodes.fields(node, ["a"]), "b: 1", "one of a"),
        (lambda node: nodes.fields(node, [], ["inputs"]), "input: 1", "did you mean inputs?"),
        (lambda node: nodes.fields(node, ["a"], ["b"]), "b: 1", 'a field "a"'),
    ],
)
def test_a_value_of_another_kind_is_reported_with_what_was_expected(
    read: Callable[[str], Node], parse: Callable[[Node], object], text: str, expected: str
) -> None:
    """Near names are offered."""
    with pytest.raises(ValidationError) as caught:
        parse(read(text))
    assert expected in str(caught.value)


def test_all_mistakes_are_reported_in_the_order_of_their_lines(read: Callable[[str], Node]) -> None:
    """One message for the whole file."""
    found = read("a: 1\nb: 2\n").value
    problems = Problems()
    assert problems.attempt(nodes.text, found["b"], otherwise="-") == "-"
    problems.attempt(nodes.text, found["a"])
    with pytest.raises(ValidationError) as caught:
        problems.raise_any()
    assert ["$.a", "$.b"] == [problem.path for problem in caught.value.problems]


def test_without_a_mistake_nothing_is_raised(read: Callable[[str], Node]) -> None:
    """And the value comes back."""
    problems = Problems()
    assert problems.attempt(nodes.integer, read("3")) == 3
    problems.raise_any()
