"""The signature of a benchmark, ``f(a, b) -> y``, and the code that follows from it."""

import keyword
import re

import attrs

from instruction_counts.core.errors import DefinitionError, quoted, require
from instruction_counts.core.labels import Language

_SIGNATURE = re.compile(r"f\((?P<args>[^()]*)\)\s*->\s*(?P<output>.*)")
_EXPECTED = '"f(a, b, …) -> output" or "f(a, b, …) -> None"'


@attrs.frozen
class Signature:
    """Names of the inputs, and of the output (None where the statement works in place)."""

    args: tuple[str, ...]
    output: str | None

    def __str__(self) -> str:
        return f"f({', '.join(self.args)}) -> {self.output}"


def parse_signature(text: str) -> Signature:
    """Parse ``f(a, b) -> y`` or ``f(a, b) -> None``; no arguments are allowed too.

    Raises:
        DefinitionError: the text has another form, or names two outputs.
    """
    require("signature", text, isinstance(text, str), _EXPECTED)
    match = _SIGNATURE.fullmatch(text.strip())
    if match is None:
        raise DefinitionError("signature", quoted(text), _EXPECTED)
    args, output = match["args"].strip(), match["output"].strip()
    names = tuple(name.strip() for name in args.split(",")) if args else ()
    require("signature", text, "," not in output, "one output; return several as a tuple")
    are_names = all(map(_is_name, names)) and (output == "None" or _is_name(output))
    require("signature", text, are_names, _EXPECTED)
    require("signature", text, len(set(names)) == len(names), "each argument once")
    return Signature(names, None if output == "None" else output)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def call(function: str, signature: Signature, language: Language = Language.PYTHON) -> str:
    """The statement that calls a function, and keeps its output."""
    end = ";" if language is Language.CPP else ""
    return f"{assign(signature, language)}{function}({', '.join(signature.args)}){end}"


def assign(signature: Signature, language: Language) -> str:
    """What precedes a call to keep its output."""
    keyword = "auto " if language is Language.CPP else ""
    return "" if signature.output is None else f"{keyword}{signature.output} = "
