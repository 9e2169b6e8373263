"""C++ that also tells what it computes: a case, with its tensors saved before and after.

Such a source is compiled beside the one that is measured, never in place of it: code that saves a
value changes how the compiler treats it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import attrs

from instruction_counts.engines.cpp.source import CppSource

_NAME = r"[A-Za-z_]\w*"
_DECLARATION = re.compile(
    rf"\s*(?:const\s+)?(?:auto|(?:torch|at)::Tensor)\s*&{{0,2}}\s*"
    rf"(?:(?P<one>\b{_NAME})|\[(?P<several>[^\]]*)\])\s*(?:=|\{{|\()"
)
_CALL = re.compile(
    r"\s*(?!(?:if|for|while|switch|return|throw|delete|using)\b)[\w:.>-]+.*\)\s*", re.DOTALL
)
"""A statement that is an expression ending in a call, whose value is dropped."""
_ASSIGNS = re.compile(r"(?<![=!<>])=(?!=)")
_TEXT_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)

_SAVING = Path(__file__).with_name("saving.h")
"""What the source that saves its tensors calls."""


def with_output(source: CppSource) -> CppSource:
    """``source``, saving every tensor that it declares: after its setup, and after its statement.

    The files are named by the environment of the process: ``INSTRUCTION_COUNTS_OUTPUT``, and the
    seed of the statement by ``INSTRUCTION_COUNTS_SEED``.
    """
    before = tuple(declared(source.setup))
    saving = _SAVING.read_text(encoding="utf-8")
    after = tuple(dict.fromkeys([*before, *declared(source.stmt)]))
    return attrs.evolve(
        source,
        global_setup=f"{source.global_setup}\n\n{saving}",
        setup=f"{source.setup}\n;{_saved('before', before)}\ninstruction_counts_output::seed();",
        stmt=f"{_with_named_result(source.stmt)}\n;{_saved('after', after)}",
    )


def _with_named_result(stmt: str) -> str:
    """The statement, saving the value of the call that it ends in, if it drops one."""
    plain = _TEXT_OR_COMMENT.sub(lambda match: " " * len(match[0]), stmt)
    starts = [place for place in _statements(plain) if plain[place:].strip(" \n\t;")]
    last = plain[starts[-1] :].rstrip(" \n\t;") if starts else ""
    if not _CALL.fullmatch(last) or _ASSIGNS.search(last) or _DECLARATION.match(last):
        return stmt
    expression = stmt[starts[-1] :][: len(last)]
    return (
        f"{stmt[: starts[-1]]}\nauto &&instruction_counts_result = "
        f"({expression}, instruction_counts_output::Nothing{{}});\n"
        'instruction_counts_output::save("after", "result", instruction_counts_result);'
    )


def declared(code: str) -> Iterator[str]:
    """The variables that ``code`` declares as ``auto`` or as a tensor, outside of any block."""
    plain = _TEXT_OR_COMMENT.sub(lambda match: " " * len(match[0]), code)
    for start in _statements(plain):
        match = _DECLARATION.match(plain, start)
        if match:
            names = match["one"] or match["several"]
            yield from (name.strip() for name in names.split(","))


def _statements(code: str) -> Iterator[int]:
    """Where each statement begins that stands in no block, parenthesis or list."""
    yield 0
    depth = 0
    for place, character in enumerate(code):
        depth += (character in "({[") - (character in ")}]")
        if depth == 0 and character in ";}":
            yield place + 1


def _saved(when: str, names: tuple[str, ...]) -> str:
    return "".join(
        f'\ninstruction_counts_output::save("{when}", "{name}", {name});' for name in names
    )
