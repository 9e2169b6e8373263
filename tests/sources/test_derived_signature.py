"""Signatures that nobody wrote."""

from __future__ import annotations

import ast

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.derived_signature import (
    Derived,
    signature_of,
    unused_name,
    with_cpp_output,
    with_output,
)


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        ("x + y", Derived("result = x + y", "result")),
        ("(x\n + y)", Derived("result = (x\n + y)", "result")),
        ("ü = x; ü * y", Derived("ü = x; result = ü * y", "result")),
        ("a = x\n# why\na.sum()", Derived("a = x\n# why\nresult = a.sum()", "result")),
        ("z = x + y", Derived("z = x + y", "z")),
        ("z: object = x", Derived("z: object = x", "z")),
        ("x += y", Derived("x += y", None)),
        ("a, b = x", Derived("a, b = x", None)),
        ("for i in x:\n    i + 1", Derived("for i in x:\n    i + 1", None)),
        ("# nothing", Derived("# nothing", None)),
    ],
)
def test_the_output_is_what_the_statement_ends_in(stmt: str, expected: Derived) -> None:
    """An expression gets a name for its value, and stays Python."""
    found = with_output(stmt)

    assert expected == found
    ast.parse(found.stmt)


@pytest.mark.parametrize("stmt", ["x +", "x = (", "a\0b"])
def test_what_is_no_python_has_no_output(stmt: str) -> None:
    """It is refused with what Python says."""
    with pytest.raises(UsageError, match="the statement is no Python"):
        with_output(stmt)


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        ("x + y;", Derived("auto result = x + y;", "result")),
        ("x.add_(y)", Derived("auto result = x.add_(y);", "result")),
        ("auto a = x;\n  a * 2;", Derived("auto a = x;\n  auto result = a * 2;", "result")),
        ("auto z = x + y;", Derived("auto z = x + y;", "z")),
        ("torch::Tensor z = x;", Derived("torch::Tensor z = x;", "z")),
        ("const auto& z = x;", Derived("const auto& z = x;", "z")),
        ("std::vector<at::Tensor> z = x;", Derived("std::vector<at::Tensor> z = x;", "z")),
        ("z = x;", Derived("z = x;", "z")),
        ("x == y;", Derived("auto result = x == y;", "result")),
        ("for (;;) { x; }", Derived("for (;;) { x; }", None)),
        ("return x;", Derived("return x;", None)),
    ],
)
def test_the_output_in_cpp_is_found_likewise(stmt: str, expected: Derived) -> None:
    """As far as its last statement shows it."""
    assert expected == with_cpp_output(stmt)


@pytest.mark.parametrize(
    ("stmt", "setup", "expected"),
    [
        ("z = x + y", "x = 1; y = x", "f(x, y) -> z"),
        ("z = y(x)", "import math as x\ny = 1", "f(y) -> z"),
        ("z = b + b + a", "a, (b, c) = 1, (2, 3)", "f(b, a) -> z"),
        ("x += y", "x = y = 1", "f(x, y) -> z"),
        ("z = torch.ones(1)", "x = 1", "f() -> z"),
        ("z = [i for i in x]", "x = i = 1", "f(i, x) -> z"),
        ("z = x", "x = (", "f() -> z"),
        (None, "x = 1", "f() -> z"),
    ],
)
def test_the_inputs_are_what_is_read_of_the_setup(
    stmt: str | None, setup: str, expected: str
) -> None:
    """In the order in which they are read; imports are globals."""
    assert expected == signature_of(stmt, setup, "z")


def test_an_output_never_takes_the_name_of_something_else() -> None:
    """That the statement or a setup uses."""
    assert "result" == unused_name("x + y", "x = y = 1")
    assert "result_3" == unused_name("result + y", "result_2 = 1")
