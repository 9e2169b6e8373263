"""Statements as they are typed, and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import DefinitionError
from core.types import Case
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.statements import Statements
from instruction_counts.sources.statements import cases_of, groups_of

SETUP = "x = torch.ones(4); y = x + 1"


def cases(*stmts: str, **asked: Any) -> tuple[Case, ...]:
    """The cases that these statements become."""
    given = Statements(stmts, **asked)
    return cases_of(given, groups_of(given))


def titles(*stmts: str, **asked: Any) -> list[str]:
    """What these are called."""
    return [case.title for case in cases(*stmts, **asked)]


def test_a_statement_is_python_eager_and_forward() -> None:
    """Unless something else is said, and as it is typed."""
    (case,) = cases("x + y", py_setup=SETUP)

    assert "x + y · Python · Eager · Forward" == case.title
    assert ("x + y", SETUP) == (case.timer_args.stmt, case.timer_args.setup)


def test_a_statement_is_called_by_its_first_line() -> None:
    """With a mark where there is more of it, or where it is typed again."""
    assert [("x + y",), ("a = x …",), ("x + y (2)",), (f"{'x' * 59}…",)] == [
        case.label for case in cases("x + y", "\n a =  x\n a + y", "x + y", "x" * 80)
    ]
    assert [("f",), ("f (2)",), ("f (3)",)] == [case.label for case in cases("f", "f (2)", "f")]


def test_a_twin_in_cpp_is_of_the_same_definition() -> None:
    """By their places; what has no twin stands alone."""
    assert [
        "a · Python · Eager · Forward",
        "a · C++ · Eager · Forward",
        "b · Python · Eager · Forward",
    ] == titles("a", "b", cpp_stmts=("a;",))
    assert ["a; · C++ · Eager · Forward"] == titles("a;", is_cpp=True)


def test_modes_replace_the_usual_ones() -> None:
    """Each that is asked for, and nothing beside it."""
    assert ["z = x · Python · Eager · Forward + Backward · 2 threads"] == titles(
        "z = x", py_setup=SETUP, autograd=True, num_threads=(2,)
    )
    assert [
        "x · Python · Eager · Forward",
        "x · Python · TorchScript · Forward",
    ] == titles("x", py_setup=SETUP, runtimes=("torchscript", "eager"))


def test_the_backward_pass_begins_at_what_the_statement_computes() -> None:
    """In both languages at the same name, which either may give."""
    codes = [
        case.timer_args.stmt
        for case in cases("x + y", cpp_stmts=("auto w = x + y;",), py_setup=SETUP, autograd=True)
    ]

    assert ["w = x + y\nw.backward()", "auto w = x + y;\nw.backward();"] == codes


def test_a_scripted_statement_gets_its_inputs() -> None:
    """From the setup."""
    (case,) = cases("x + y", py_setup=SETUP, runtimes=("torchscript",))

    assert "result = jit_model(x, y)" == case.timer_args.stmt
    assert "def f(x, y):\n    result = x + y\n    return result" in (case.model_source or "")


def test_a_signature_that_is_given_is_taken_as_it_is() -> None:
    """With the statement as it is typed."""
    (case,) = cases("z = x; print(z)", signature="f(x) -> z", autograd=True, gradient="x")

    assert "z = x; print(z)\nz.backward(x)" == case.timer_args.stmt


@pytest.mark.parametrize("stmt", ["", " \n"])
def test_an_empty_statement_is_refused(stmt: str) -> None:
    """In either language."""
    with pytest.raises(UsageError, match="a statement is empty"):
        groups_of(Statements((stmt,)))
    with pytest.raises(UsageError, match="a statement is empty"):
        groups_of(Statements(("x",), cpp_stmts=(stmt,)))


@pytest.mark.parametrize(
    ("stmts", "asked", "message"),
    [
        (("x += 1",), {}, r'ends without a value: x \+= 1\n .*"z = x \+ y".*--signature'),
        (("x;",), {"cpp_stmts": ("{ x; }",)}, r'ends without a value: { x; }\n .*"auto z'),
        (("a = x",), {"cpp_stmts": ("auto b = x;",)}, "differently: a and b"),
        (("x +",), {}, "the statement is no Python, line 1"),
    ],
)
def test_a_statement_without_an_output_has_no_backward_pass(
    stmts: tuple[str, ...], asked: dict[str, Any], message: str
) -> None:
    """The error says what to write."""
    with pytest.raises(UsageError, match=message):
        groups_of(Statements(stmts, autograd=True, **asked))


def test_what_contradicts_itself_is_an_error_of_the_definition() -> None:
    """As it is in a file: only Python can be scripted."""
    with pytest.raises(DefinitionError, match="a Python statement to script"):
        groups_of(Statements(("x;",), is_cpp=True, runtimes=("torchscript",)))
