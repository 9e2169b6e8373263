"""The signature of a statement for which nobody wrote one: its inputs, and its named output."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

import attrs

from instruction_counts.domain.errors import UsageError

OUTPUT = "result"
"""What the output is called that the statement itself does not name."""

_CPP_ASSIGNED = re.compile(
    r"\s*(?:(?:const\s+)?(?:auto|[A-Za-z_][\w:]*(?:<[^=;]*>)?)\s*[&*]?\s+)?(?P<name>[A-Za-z_]\w*)"
    r"\s*=(?!=)"
)
_CPP_NO_VALUE = re.compile(r"\s*(?:$|[{}#]|//|/\*|(?:for|while|if|do|switch|return|using)\b)")


@attrs.frozen
class Derived:
    """A statement whose output has a name, where it has an output."""

    stmt: str
    output: str | None


def signature_of(stmt: str | None, setup: str, output: str | None) -> str:
    """``f(x, y) -> z``: what the Python statement reads of what its setup makes, and the output.

    Without a statement in Python there are no inputs that anything depends on.
    """
    inputs = () if stmt is None else _inputs(stmt, setup)
    return f"f({', '.join(inputs)}) -> {output}"


def with_output(stmt: str, name: str = OUTPUT) -> Derived:
    """The Python statement, which assigns its value to ``name`` where it is an expression.

    Raises:
        UsageError: it is no Python.
    """
    try:
        last = ast.parse(stmt).body[-1:]
    except (SyntaxError, ValueError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UsageError(
            f"the statement is no Python{where}: {text}", "Fix it; --cpp is for C++."
        ) from None
    match last:
        case [ast.Expr() as value]:
            lines = stmt.encode().split(b"\n")
            line, column = value.lineno - 1, value.col_offset  # in bytes
            head, tail = lines[line][:column], lines[line][column:]
            lines[line] = head + f"{name} = ".encode() + tail
            return Derived(b"\n".join(lines).decode(), name)
        case [ast.Assign(targets=[ast.Name(id=assigned)]) | ast.AnnAssign(ast.Name(id=assigned))]:
            return Derived(stmt, assigned)
    return Derived(stmt, None)


def with_cpp_output(stmt: str, name: str = OUTPUT) -> Derived:
    """The same for a C++ statement."""
    before, end, last = stmt.rstrip().removesuffix(";").rpartition(";")
    if found := _CPP_ASSIGNED.match(last):
        return Derived(stmt, found["name"])
    if _CPP_NO_VALUE.match(last) or last.rstrip().endswith("}"):
        return Derived(stmt, None)
    indent = last[: len(last) - len(last.lstrip())]
    return Derived(f"{before}{end}{indent}auto {name} = {last.strip()};", name)


def unused_name(*codes: str) -> str:
    """A name for an output that none of ``codes`` uses."""
    words = {word for code in codes for word in re.findall(r"\w+", code)}
    names = itertools.chain([OUTPUT], (f"{OUTPUT}_{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in words)


def _inputs(stmt: str, setup: str) -> tuple[str, ...]:
    """The variables of ``setup`` that ``stmt`` reads, in the order in which it does."""
    try:
        made, tree = set(_made(ast.parse(setup))), ast.parse(stmt)
    except (SyntaxError, ValueError):
        return ()  # running it reports it, with the line
    reads = sorted(_reads(tree), key=lambda node: (node.lineno, node.col_offset))
    return tuple(dict.fromkeys(node.id for node in reads if node.id in made))


def _reads(tree: ast.Module) -> Iterator[ast.Name]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target


def _made(setup: ast.Module) -> Iterator[str]:
    """The variables that a setup makes; what it imports is a global of any statement."""
    for node in ast.walk(setup):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
