"""Inputs as ``--input`` names them, of operators and of models: one grammar for both."""

from __future__ import annotations

import re

import attrs

from instruction_counts.core.errors import quoted
from instruction_counts.domain.errors import UsageError

_SIZE = "[0-9]{1,18}"  # what fits into torch's sizes
_INPUT = re.compile(
    rf"(?:(?P<model>[^@]+)@)?(?:(?P<name>[A-Za-z_]\w*)=)?"
    rf"(?P<open>\[)?(?P<shape>{_SIZE}(?:,{_SIZE})*)?(?(open)\])"
    rf"(?::(?P<dtype>[a-z]\w*))?(?:<(?P<high>{_SIZE}))?"
)
FORM = "[NAME=]SIZES[:DTYPE][<LIMIT], as 1,3,224,224 or input_ids=1,128:int64<30522"


@attrs.frozen
class InputSpec:
    """One input: integers are below ``high``."""

    shape: tuple[int, ...]
    dtype: str | None = None
    """None where it was not stated."""
    high: int | None = None
    name: str | None = None
    """Of the argument, where it is not given by position."""
    model: str | None = None
    """The model that it is for; None for all."""


def parse_input(text: str) -> InputSpec:
    """An input from ``[MODEL@][NAME=]SIZES[:DTYPE][<LIMIT]``; ``SIZES`` may stand in brackets.

    Raises:
        UsageError: it has another form.
    """
    match = _INPUT.fullmatch(text.replace(" ", ""))
    if match is None or not (match["open"] or match["shape"]):
        raise UsageError(f"--input {quoted(text)} is not a valid shape", FORM)
    dtype, high = match["dtype"], match["high"]
    is_integer = not (dtype or "float").startswith(("float", "bfloat", "complex"))
    if high is not None and not (is_integer and int(high)):
        raise UsageError(
            f"--input {quoted(text)}: only integer inputs have a limit, and it must be above 0",
            FORM,
        )
    shape = tuple(map(int, match["shape"].split(","))) if match["shape"] else ()
    return InputSpec(shape, dtype, int(high) if high else None, match["name"], match["model"])
