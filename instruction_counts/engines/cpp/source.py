"""The C++ that a case is compiled from: its parts, its headers, and what stands around them.

What also tells what a case computes, with its tensors saved before and after, is compiled beside
what is measured, never in place of it: code that saves a value changes how it is treated.

The unit exports

- ``instruction_counts_case(runs, count, begin, end, error, size)``: runs the setup, then for each
  of ``count`` numbers in ``runs`` calls ``begin``, runs the statement that often, calls ``end``.
  Returns 0, or puts what was thrown into ``error`` (of ``size`` bytes) and returns 1.
- ``instruction_counts_model``: 4096 characters that the caller fills with the path of the artefact
  before the call. The path is no part of the code, which can therefore be cached.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import attrs

from instruction_counts.core.runtimes import ARTEFACT_PATH
from instruction_counts.core.types import Case

MODEL_BUFFER = "instruction_counts_model"


@attrs.frozen
class CppSource:
    """The three parts of a C++ case, as written; `ARTEFACT_PATH` may stand in them as a literal."""

    global_setup: str
    setup: str
    stmt: str

    @classmethod
    def of(cls, case: Case) -> "CppSource":
        """What ``case`` is compiled from."""
        args = case.timer_args
        return cls(args.global_setup, args.setup, args.stmt)


@attrs.frozen
class Prelude:
    """Headers that a case is compiled with, and the words in a case that call for them."""

    name: str
    headers: tuple[str, ...]
    words: str = "(?!)"

    @property
    def text(self) -> str:
        """The header that includes them all."""
        return "".join(f"#include <{header}>\n" for header in self.headers)


PRELUDES = (
    Prelude("tensors", ("torch/types.h",)),
    Prelude(
        "script",
        ("torch/script.h",),
        r"\b(jit::(?!IValue\b|Stack\b)|AutogradContext\b|autograd::Function\b|torch/script\.h)",
    ),
    Prelude(
        "full",
        ("torch/torch.h", "torch/script.h"),
        r"\b(nn|optim|data|serialize|nested|fft|linalg|special|sparse|cuda|mps|xpu)::"
        r"|\b(NoGradGuard|AutoGradMode|(torch|autograd)::(grad|backward|load|save|print)\b)"
        r"|\b[gs]et_num_(interop_)?threads\b|#\s*include\s*<torch/(?!script\.h|types\.h|csrc/inductor/)",
    ),
)
"""Smallest first; the last one has everything, and is what a case is tried with at last."""


_UNIT = Path(__file__).with_name("unit.cpp")
"""With a comment in the place of each part of a case.

The inner loop of one turn ends a statement at "break", which would otherwise end the window.
"""
_PART = re.compile(r"^// (global_setup|setup|stmt)\n", re.MULTILINE)
_OURS = "instruction_counts.cpp"


def translation_unit(source: CppSource) -> str:
    """The C++ that is compiled for ``source``, except its prelude."""

    def pasted(part: re.Match[str]) -> str:
        code = getattr(source, part[1]).replace(f'"{ARTEFACT_PATH}"', MODEL_BUFFER)
        # The empty line ends what a backslash at the end of the text would continue.
        return f'#line 1 "{part[1]}"\n{code}\n\n#line 1 "{_OURS}"\n'

    return _PART.sub(pasted, _UNIT.read_text(encoding="utf-8"))


def candidates(source: CppSource, preludes: tuple[Prelude, ...]) -> tuple[Prelude, ...]:
    """What ``source`` is compiled with: what its words suggest, and the full prelude after that."""
    text = f"{source.global_setup}\n{source.setup}\n{source.stmt}"
    suggested = [prelude for prelude in preludes if re.search(prelude.words, text)]
    chosen = suggested[-1] if suggested else preludes[0]
    return (chosen,) if chosen == preludes[-1] else (chosen, preludes[-1])


# With its output

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
