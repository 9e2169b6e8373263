"""Models, inputs and sizes, those of operators too, as the command line names them."""

import keyword
import re
from collections.abc import Sequence

import attrs

from instruction_counts.core.errors import quoted
from instruction_counts.domain.errors import UsageError

_SIZE = "[0-9]{1,18}"  # what fits into torch's sizes
_INPUT = re.compile(
    rf"(?:(?P<model>[^@]+)@)?(?:(?P<name>[A-Za-z_]\w*)=)?"
    rf"(?P<open>\[)?(?P<shape>{_SIZE}(?:,{_SIZE})*)?(?(open)\])"
    rf"(?::(?P<dtype>[a-z]\w*)(?:<(?P<high>[1-9][0-9]{{0,17}}))?)?"
)
_INTEGER = re.compile(r"u?int\d*|long|short")
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
        UsageError: it has another form, or a limit for what is no integer.
    """
    match = _INPUT.fullmatch(text.replace(" ", ""))
    has_shape = match is not None and (match["open"] or match["shape"])
    if match is None or not has_shape or keyword.iskeyword(match["name"] or ""):
        raise UsageError(f"--input {quoted(text)} is not a valid shape", FORM)
    high = match["high"]
    if high and not _INTEGER.fullmatch(match["dtype"]):
        raise UsageError(
            f"--input {quoted(text)}: {match['dtype']} takes no limit",
            f"Drop <{high}, or choose integers: int64<{high}.",
        )
    shape = tuple(map(int, match["shape"].split(","))) if match["shape"] else ()
    return InputSpec(
        shape, match["dtype"], int(high) if high else None, match["name"], match["model"]
    )


# Sizes

MOST_ELEMENTS = 2**28
"""Of a tensor: 1 GiB of float32."""
_RANGE = re.compile(rf"{_SIZE}:{_SIZE}(:{_SIZE})?")
_LIST = re.compile(rf"{_SIZE}(,{_SIZE})*")


def sizes_in(text: str) -> tuple[int, ...]:
    """``16:65536`` is powers of four, ``16:65536:2`` of two; ``16,100,1000`` is just these.

    Raises:
        UsageError: the text has another form, or a size at which no tensor fits into memory.
    """
    found: list[int] = []
    if _RANGE.fullmatch(text):
        first, last, factor = (int(part) for part in [*text.split(":"), "4"][:3])
        size = first
        while factor >= 2 and 1 <= size <= last <= MOST_ELEMENTS:
            found.append(size)
            size *= factor
    elif _LIST.fullmatch(text):
        found = [int(part) for part in text.split(",")]
    if not found or sorted(set(found)) != found or not 1 <= found[0] <= found[-1] <= MOST_ELEMENTS:
        raise UsageError(
            f"{quoted(text)} is not a range of sizes between 1 and {MOST_ELEMENTS:,}",
            "For example: 16:65536, 16:4096:2 or 10,100",
        )
    return tuple(found)


# Models

_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@attrs.frozen
class ModelSource:
    """Where a model comes from."""

    name: str
    """How results call it."""
    target: str
    """``module:factory``."""


def parse_source(text: str) -> ModelSource:
    """A model from ``module:factory[=NAME]``.

    Raises:
        UsageError: it has another form.
    """
    target, _, name = text.partition("=")
    if not _FACTORY.fullmatch(target):
        raise UsageError(
            f"{quoted(text)} is not a factory",
            "Name one: module:factory[=NAME]. A model in a file is loaded in such a function.",
        )
    return ModelSource(name or target.rpartition(":")[2], target)


def inputs_of(
    sources: Sequence[ModelSource], specs: Sequence[InputSpec]
) -> list[tuple[InputSpec, ...]]:
    """The inputs of each model: its own where it has any, else those for all.

    Raises:
        UsageError: two models have one name, or an input is for none of them, or for an argument
            that has one already.
    """
    names = [source.name for source in sources]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f'two models are named "{twice[0]}"', "Name them: module:factory=NAME")
    for name in {spec.model for spec in specs} - {None, *names}:
        raise UsageError(
            f'--input {name}@…: no model is named "{name}"', f"Models: {', '.join(names)}"
        )
    found = []
    for name in names:
        own = tuple(spec for spec in specs if spec.model == name)
        found.append(own or tuple(spec for spec in specs if spec.model is None))
        arguments = [spec.name for spec in found[-1] if spec.name is not None]
        if again := [each for each in arguments if arguments.count(each) > 1]:
            problem = f"--input {again[0]}=…: {name} got this argument twice"
            raise UsageError(problem, "Specify it only once.")
    return found
