"""Statements as they are typed, and what becomes of them."""

import ast
from typing import Any

import pytest

from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.types import Case
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Statements
from instruction_counts.sources import statements

SETUP = "x = torch.ones(4); y = x + 1"


def cases(*stmts: str, **asked: Any) -> tuple[Case, ...]:
    """The cases that these statements become."""
    return statements.cases_of(Statements(stmts, **asked))


def test_a_statement_is_python_eager_and_forward_or_cpp() -> None:
    """As it is typed; in C++, what belongs to the top of the file stands there."""
    (case,) = cases("x + y", setup=SETUP)
    (cpp,) = cases("a;", is_cpp=True, setup="int a = 1;", global_setup="#include <map>")

    assert "x + y · Python · Eager · Forward" == case.title
    assert ("x + y", SETUP) == (case.timer_args.stmt, case.timer_args.setup)
    assert "a; · C++ · Eager · Forward" == cpp.title
    assert "int a = 1;" == cpp.timer_args.setup
    assert "#include <map>" == cpp.timer_args.global_setup


def test_a_statement_is_called_by_its_first_line() -> None:
    """With a mark where there is more of it, or where it is typed again."""
    assert [("x + y",), ("a = x …",), ("x + y (2)",), (f"{'x' * 59}…",)] == [
        case.label for case in cases("x + y", "\n a =  x\n a + y", "x + y", "x" * 80)
    ]
    assert [("f",), ("f (2)",), ("f (3)",)] == [case.label for case in cases("f", "f (2)", "f")]


def test_modes_replace_the_usual_ones() -> None:
    """Each that is asked for, and nothing beside it."""
    (backward,) = cases("z = x", setup=SETUP, autograd=True, num_threads=(2,))
    several = cases("x", setup=SETUP, runtimes=("torchscript", "eager"))

    assert "z = x · Python · Eager · Forward + Backward · 2 threads" == backward.title
    assert ["x · Python · Eager · Forward", "x · Python · TorchScript · Forward"] == [
        case.title for case in several
    ]


def test_the_backward_pass_begins_at_what_the_statement_computes() -> None:
    """At a name of ours in Python, and in C++ at what the statement assigns."""
    (python,) = cases("x + y", setup=SETUP, autograd=True)
    (cpp,) = cases("auto w = x + y;", is_cpp=True, autograd=True)

    assert "result = x + y\nresult.backward()" == python.timer_args.stmt
    assert "auto w = x + y;\nw.backward();" == cpp.timer_args.stmt


def test_a_scripted_statement_gets_its_inputs() -> None:
    """From the setup."""
    (case,) = cases("x + y", setup=SETUP, runtimes=("torchscript",))

    assert "result = jit_model(x, y)" == case.timer_args.stmt
    assert "def f(x, y):\n    result = x + y\n    return result" in (case.model_source or "")


def test_a_signature_that_is_given_is_taken_as_it_is() -> None:
    """With the statement as it is typed."""
    (case,) = cases("z = x; print(z)", signature="f(x) -> z", autograd=True, gradient="x")

    assert "z = x; print(z)\nz.backward(x)" == case.timer_args.stmt


@pytest.mark.parametrize("stmt", ["", " \n", "# x + y"])
def test_an_empty_statement_is_refused(stmt: str) -> None:
    """With an example of one."""
    with pytest.raises(UsageError, match=r'a statement is empty\n.* time "x \+ y"'):
        cases(stmt)


@pytest.mark.parametrize(
    ("stmt", "is_cpp", "message"),
    [
        ("x += 1", False, r'ends without a value: x \+= 1\n .*"z = x \+ y".*--signature'),
        ("{ x; }", True, r'ends without a value: { x; }\n .*"auto z'),
        ("x +", False, "the statement is not valid Python, line 1"),
        ("a\0b", False, "the statement is not valid Python: "),
    ],
)
def test_a_statement_without_an_output_has_no_backward_pass(
    stmt: str, is_cpp: bool, message: str
) -> None:
    """The error says what to write."""
    with pytest.raises(UsageError, match=message):
        cases(stmt, is_cpp=is_cpp, autograd=True)


def test_what_contradicts_itself_is_an_error_of_the_definition() -> None:
    """As it is in a file: only Python can be scripted."""
    with pytest.raises(DefinitionError, match="a Python statement to script"):
        cases("x;", is_cpp=True, runtimes=("torchscript",))


# Signatures that nobody wrote


@pytest.mark.parametrize(
    ("stmt", "expected", "output"),
    [
        ("x + y", "result = x + y", "result"),
        ("(x\n + y)", "result = (x\n + y)", "result"),
        ("ü = x; ü * y", "ü = x; result = ü * y", "result"),
        ("a = x\n# why\na.sum()", "a = x\n# why\nresult = a.sum()", "result"),
        ("z = x + y", "z = x + y", "z"),
        ("z: object = x", "z: object = x", "z"),
        *((stmt, stmt, None) for stmt in ("x += y", "a, b = x", "for i in x:\n    i + 1", "#")),
    ],
)
def test_the_output_is_what_the_statement_ends_in(
    stmt: str, expected: str, output: str | None
) -> None:
    """An expression gets a name for its value, and stays Python."""
    assert (expected, output) == statements.with_output(stmt)
    ast.parse(expected)


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        ("auto z = x + y;", "z"),
        ("auto a = x;\n  torch::Tensor z = x", "z"),
        ("const auto& z = x;", "z"),
        ("std::vector<at::Tensor> z = x;", "z"),
        ("z = x;", "z"),
        *((stmt, None) for stmt in ("x == y;", "x + y;", "for (;;) { x; }", "return x;")),
    ],
)
def test_the_output_in_cpp_is_what_it_assigns_last(stmt: str, expected: str | None) -> None:
    """As far as its last statement shows it."""
    assert expected == statements.cpp_output_of(stmt)


@pytest.mark.parametrize(
    ("stmt", "setup", "expected"),
    [
        ("z = x + y", "x = 1; y = x", ("x", "y")),
        ("z = y(x)", "import math as x\ny = 1", ("y",)),
        ("z = b + b + a", "a, (b, c) = 1, (2, 3)", ("b", "a")),
        ("x += y", "x = y = 1", ("x", "y")),
        ("z = torch.ones(1)", "x = 1", ()),
        ("z = [i for i in x]", "x = i = 1", ("i", "x")),
        ("z = x", "x = (", ()),
    ],
)
def test_the_inputs_are_what_is_read_of_the_setup(
    stmt: str, setup: str, expected: tuple[str, ...]
) -> None:
    """In the order in which they are read; imports are globals."""
    assert expected == statements.inputs_of(stmt, setup)


def test_an_output_never_takes_the_name_of_something_else() -> None:
    """That the statement or a setup uses."""
    assert "result" == statements.unused_name("x + y", "x = y = 1")
    assert "result_3" == statements.unused_name("result + y", "result_2 = 1")
