"""Statements as they are typed, made into definitions and cases."""

import ast
import itertools
import re

from instruction_counts.core.api import GroupedBenchmark, GroupedSetup, GroupedStmts
from instruction_counts.core.expand import materialize
from instruction_counts.core.labels import by_option
from instruction_counts.core.types import AutogradMode, Case, Label, RuntimeMode
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection, select
from instruction_counts.domain.work import Statements

_EAGER = RuntimeMode.EAGER.option
_LONGEST = 60


def cases_of(asked: Statements) -> tuple[Case, ...]:
    """The cases that are asked for, of all that the definitions of the statements become.

    A label is the first line of a statement. What is typed again, or begins in the same way, has a
    number: ``x + y (2)``.

    Raises:
        UsageError: a statement is empty, or has no output where one is needed.
        DefinitionError: what is stated beside them contradicts them.
    """
    autograd = AutogradMode.FORWARD_BACKWARD if asked.autograd else AutogradMode.FORWARD
    modes = by_option(RuntimeMode)
    runtimes = tuple(modes[option].value for option in asked.runtimes or (_EAGER,))
    selection = Selection(runtimes=runtimes, autograds=(autograd.value,))
    return select(materialize(_groups_of(asked)), selection)


def _groups_of(asked: Statements) -> dict[Label, GroupedBenchmark]:
    """The definition of each statement, by its label."""
    found: dict[Label, GroupedBenchmark] = {}
    for stmt in asked.stmts:
        lines = [line.strip() for line in stmt.splitlines()]
        if all(not line or line.startswith("#") for line in lines):
            raise UsageError("a statement is empty", "Give its code:", 'time "x + y"')
        title = _title(stmt)
        numbered = (f"{title} ({number})" for number in itertools.count(2))
        names = itertools.chain([title], numbered)
        label = next((name,) for name in names if (name,) not in found)
        found[label] = _group(asked, stmt)
    return found


def _title(stmt: str) -> str:
    lines = [" ".join(line.split()) for line in stmt.splitlines() if line.strip()]
    line = lines[0] if len(lines) == 1 else f"{lines[0]} …"
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _group(asked: Statements, stmt: str) -> GroupedBenchmark:
    further = tuple(option for option in asked.runtimes if option != _EAGER)
    signature = asked.signature
    if signature is None and (further or asked.autograd):
        stmt, signature = _signed(asked, stmt)
    setup, is_cpp = asked.setup, asked.is_cpp
    return GroupedStmts(
        None if is_cpp else stmt,
        stmt if is_cpp else None,
        GroupedSetup("" if is_cpp else setup, setup if is_cpp else "", asked.global_setup),
        signature,
        runtimes=further,
        autograd=asked.autograd,
        num_threads=asked.num_threads,
        device=asked.device,
        gradient=asked.gradient,
    )


def _signed(asked: Statements, stmt: str) -> tuple[str, str]:
    """The statement, which names its output where it has one, and its signature."""
    if asked.is_cpp:
        example, output = "auto z = x + y;", cpp_output_of(stmt)
    else:
        example = "z = x + y"
        stmt, output = with_output(stmt, unused_name(stmt, asked.setup))
    if output is None and asked.autograd:
        raise UsageError(
            f"the statement ends without a value: {_title(stmt)}",
            f'End it with its output ("{example}"), or name it: --signature "f(x, y) -> z".',
        )
    inputs = () if asked.is_cpp else inputs_of(stmt, asked.setup)
    return stmt, f"f({', '.join(inputs)}) -> {output}"


# Signatures that nobody wrote

OUTPUT = "result"
"""What the output is called that the statement itself does not name."""

_CPP_ASSIGNED = re.compile(
    r"\s*(?:(?:const\s+)?(?:auto|[A-Za-z_][\w:]*(?:<[^=;]*>)?)\s*[&*]?\s+)?(?P<name>[A-Za-z_]\w*)"
    r"\s*=(?!=)"
)


def with_output(stmt: str, name: str = OUTPUT) -> tuple[str, str | None]:
    """The Python statement, which assigns its value to ``name`` where it is an expression.

    With it what its output is called, where it has one.

    Raises:
        UsageError: it is no Python.
    """
    try:
        last = ast.parse(stmt).body[-1:]
    except (SyntaxError, ValueError) as error:
        line, text = getattr(error, "lineno", None), getattr(error, "msg", str(error))
        where = f", line {line}" if line else ""
        raise UsageError(
            f"the statement is not valid Python{where}: {text}",
            "Fix it; --language c++ is for C++.",
        ) from None
    match last:
        case [ast.Expr() as value]:
            lines = stmt.encode().split(b"\n")
            line, column = value.lineno - 1, value.col_offset  # in bytes
            head, tail = lines[line][:column], lines[line][column:]
            lines[line] = head + f"{name} = ".encode() + tail
            return b"\n".join(lines).decode(), name
        case [ast.Assign(targets=[ast.Name(id=assigned)]) | ast.AnnAssign(ast.Name(id=assigned))]:
            return stmt, assigned
    return stmt, None


def cpp_output_of(stmt: str) -> str | None:
    """The variable that a C++ statement assigns last."""
    last = stmt.rstrip().removesuffix(";").rpartition(";")[2]
    found = _CPP_ASSIGNED.match(last)
    return found and found["name"]


def unused_name(*codes: str) -> str:
    """A name for an output that none of ``codes`` uses."""
    words = {word for code in codes for word in re.findall(r"\w+", code)}
    names = itertools.chain([OUTPUT], (f"{OUTPUT}_{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in words)


def inputs_of(stmt: str, setup: str) -> tuple[str, ...]:
    """The variables of ``setup`` that ``stmt`` names, in the order in which it does.

    What a setup imports is a global of any statement.
    """
    try:
        made, named = (
            [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
            for code in (setup, stmt)
        )
    except (SyntaxError, ValueError):
        return ()  # running it reports it, with the line
    variables = {node.id for node in made if isinstance(node.ctx, ast.Store)}
    named.sort(key=lambda node: (node.lineno, node.col_offset))
    return tuple(dict.fromkeys(node.id for node in named if node.id in variables))
