"""What stands after the magic: options first, then code as it was typed."""

from __future__ import annotations

import click
import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.notebook.options import Request, parse, split


def request(line: str, cell: str | None = None) -> Request:
    """What is asked for."""
    found = parse(line, cell)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("line", "words", "code"),
    [
        ("x + y", [], "x + y"),
        ("  \"a\" + 'b'  ", [], "\"a\" + 'b'  "),
        ("-n 3 x - y", ["-n", "3"], "x - y"),
        ("-n3 --cpp x;", ["-n3", "--cpp"], "x;"),
        ("--setup 'a = \"b\"' a", ["--setup", 'a = "b"'], "a"),
        ("--setup=a=1 a", ["--setup=a=1"], "a"),
        ("-s 'x = 1' -o x # y", ["-s", "x = 1", "-o"], "x # y"),
        ("--cpp -- -x", ["--cpp"], "-x"),
        ("--backward", ["--backward"], ""),
    ],
)
def test_code_begins_after_the_options(line: str, words: list[str], code: str) -> None:
    """Its quotes and spaces stay as they are."""
    assert (words, code) == split(line)


def test_a_line_is_a_statement() -> None:
    """With the options of `time`."""
    found = request("-n 2 --fresh -o --no-times --num-threads 2 --backward -s 'x = 1' x.sum()")

    assert ("x.sum()",) == found.asked.stmts
    assert "x = 1" == found.asked.py_setup
    assert (2,) == found.asked.num_threads
    assert found.asked.autograd
    assert (2, True, True, False) == (
        found.times_counted,
        found.fresh,
        found.returned,
        found.measuring.times,
    )


def test_of_a_cell_the_first_line_is_setup() -> None:
    """As for %%timeit; the cell is one statement."""
    found = request("-s 'x = 1' y = x", "z = y\nz + 1\n")

    assert ("z = y\nz + 1",) == found.asked.stmts
    assert "x = 1\ny = x" == found.asked.py_setup


def test_of_a_cell_in_cpp_so_it_is() -> None:
    """Setup and statement are C++."""
    found = request("--cpp --global-setup '#include <map>' auto x = 1;", "x + 1;\n")

    assert ("x + 1;",) == found.asked.stmts
    assert found.asked.is_cpp
    assert ("auto x = 1;", "#include <map>", "") == (
        found.asked.cpp_setup,
        found.asked.global_setup,
        found.asked.py_setup,
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--setup 'x", "No closing quotation"),
        ("-", "no standard input"),
        ("--setup - x", "no standard input"),
        ("-n 2 --no-counts x", "-n and --no-counts exclude each other"),
        ("--cpp --cpp-stmt x x", "--cpp-stmt and --cpp exclude each other"),
    ],
)
def test_what_contradicts_itself_is_refused(line: str, message: str) -> None:
    """In one message."""
    with pytest.raises(UsageError, match=message):
        parse(line, None)


@pytest.mark.parametrize("line", ["", "-n 0 x", "--nope x", "-n", "-x + y"])
def test_wrong_options_are_refused(line: str) -> None:
    """By click, as on the command line."""
    with pytest.raises(click.ClickException):
        parse(line, None)


def test_help_asks_for_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """It is printed."""
    assert parse("--help", None) is None
    assert "--num-threads" in capsys.readouterr().out
