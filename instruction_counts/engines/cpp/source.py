"""The C++ that a case is compiled from: its parts, its headers, and what stands around them.

The unit exports

- ``instruction_counts_case(runs, count, begin, end, error, size)``: runs the setup, then for each
  of ``count`` numbers in ``runs`` calls ``begin``, runs the statement that often, calls ``end``.
  Returns 0, or puts what was thrown into ``error`` (of ``size`` bytes) and returns 1.
- ``instruction_counts_model``: 4096 characters that the caller fills with the path of the artefact
  before the call. The path is no part of the code, which can therefore be cached.
"""

import re
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
