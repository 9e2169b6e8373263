"""Errors as values: printing, and the mistakes of a whole file at once."""

from __future__ import annotations

from typing import Any

import pytest

from instruction_counts.core.api import GroupedStmts
from instruction_counts.core.errors import (
    DefinitionError,
    DefinitionErrors,
    deferring,
    quoted,
)
from instruction_counts.core.utils import flatten

FLAWED = '''
from core.api import GroupedModules, GroupedSetup, GroupedStmts, GroupedVariants, TimerArgs
from core.utils import flatten, parse_stmts

SHARED = GroupedSetup(*parse_stmts("""
    Python                                   | C++
    x = torch.ones((4, 4))                   | auto x = torch::ones({4, 4});
"""))

BENCHMARKS = flatten({
    "good": GroupedStmts("x + x"),
    "statements": {
        "missing": GroupedStmts(),
        "columns": GroupedStmts(*parse_stmts("x | x;")),
        "shared setup": GroupedStmts("x", setup=SHARED),
        "own setup": GroupedStmts("x", setup=GroupedSetup(py_setup=1)),
    },
    ("modules", "no model"): GroupedModules("net = 1", signature="f(x) -> y"),
    "variants": {
        "empty": GroupedVariants("# @Setup"),
        "columns": GroupedVariants(*parse_stmts("x | x;")),
    },
    "explicit": {
        "language": TimerArgs("x", language="rust"),
        "columns": TimerArgs(parse_stmts("x | x;")[0]),
        "setup": TimerArgs("x", setup=1),
    },
    "nothing at all": None,
    "keys": {7: GroupedStmts("x")},
    ("good",): GroupedStmts("x + x"),
})
'''

FLAWS = [
    (("statements", "missing"), "py_stmt"),
    (("statements", "columns"), "parse_stmts"),
    (("statements", "shared setup"), "parse_stmts"),
    (("statements", "own setup"), "py_setup"),
    (("modules", "no model"), "py_model_setup"),
    (("variants", "empty"), "py_block"),
    (("variants", "columns"), "parse_stmts"),
    (("explicit", "language"), "language"),
    (("explicit", "columns"), "parse_stmts"),
    (("explicit", "setup"), "setup"),
    (("nothing at all",), "value"),
    (("keys",), "key"),
    (("good",), "label"),
]


def run_definition(text: str) -> dict[str, Any]:
    """Execute a definition file as a program that loads one does."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "suite.py", "exec"), namespace)  # noqa: S102 - definitions are code
    return namespace


# One error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DefinitionError("stmt", "1 (int)", "text"), "stmt\n  found     1 (int)\n  expected  text"),
        (
            DefinitionError("stmt", "1 (int)", "text", ("a", "b c")),
            "BENCHMARKS['a']['b c'].stmt\n  found     1 (int)\n  expected  text",
        ),
        (
            DefinitionError("BENCHMARKS", "no benchmark", "at least one", source="suite.py"),
            "suite.py: BENCHMARKS\n  found     no benchmark\n  expected  at least one",
        ),
    ],
)
def test_an_error_prints_its_place_what_was_found_and_what_was_expected(
    error: DefinitionError, expected: str
) -> None:
    """As much of the place as is known stands first."""
    assert expected == str(error)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x + y", '"x + y"'),
        ("  x\n    y\n", '"x ⏎ y"'),
        ("x" * 60, f'"{"x" * 60}"'),
        ("x" * 61, f'"{"x" * 59}…"'),
        (3, "3 (int)"),
        (["x"], "['x'] (list)"),
        ([0] * 99, f"[{'0, ' * 19}0… (list)"),
    ],
)
def test_a_value_is_quoted_on_one_short_line(value: object, expected: str) -> None:
    """Text stands in quotes, anything else with its type, and nothing runs on."""
    assert expected == quoted(value)


# Many errors


def test_every_mistake_of_a_file_is_reported_with_its_label() -> None:
    """One run shows them all, in the order of the file."""
    with deferring(), pytest.raises(DefinitionErrors) as caught:
        run_definition(FLAWED)
    assert FLAWS == [(error.label, error.field) for error in caught.value.errors]


def test_without_deferring_the_first_mistake_is_raised_at_once() -> None:
    """A definition that is written at a prompt fails where it is wrong."""
    with pytest.raises(DefinitionError):
        run_definition(FLAWED)


def test_a_single_mistake_is_raised_by_itself() -> None:
    """One mistake needs no collection."""
    with deferring(), pytest.raises(DefinitionError) as caught:
        flatten({"a": GroupedStmts(), "b": GroupedStmts("x")})
    assert ("a",) == caught.value.label
