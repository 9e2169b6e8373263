"""Calls from the samples that torch tests its operators with, and what is left out of them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from instruction_counts.sources.operators import cpp_code
from instruction_counts.sources.operators.calls import Call, Ref, Value, usual
from instruction_counts.sources.operators.catalogue import OperatorSamples, Sample, Schema
from instruction_counts.sources.operators.entries import DTYPES, Distribution, OperatorEntry
from instruction_counts.sources.operators.names import is_variable

OP_DB = "op_db"
"""What torch calls its database of samples; the category of what is made of them."""
_TORCH_OBJECT = re.compile(r"torch\.\w+")
_FLOAT = re.compile(r"float\('(-?inf|nan)'\)")
_NAMED = 3


@attrs.frozen
class LeftOut:
    """A sample that cannot be written down, or an operator that has none."""

    operator: str
    reason: str
    is_sample: bool = True


@attrs.frozen
class Sampled:
    """What samples give."""

    calls: tuple[Call, ...]
    left_out: tuple[LeftOut, ...]


class _InexpressibleError(Exception):
    """A value of a sample that no entry could hold."""


def calls_of(
    operators: Iterable[OperatorSamples],
    schemas: Mapping[str, Sequence[Schema]],
    dtype: str = "",
    seed: int = 0,
) -> Sampled:
    """A call for each sample, labelled ``sample 0``, ``sample 1``, … in torch's order.

    Operators are called as entries call them. ``dtype`` is what was asked for, empty if nothing
    was; ``schemas`` holds all overloads by name.
    """
    calls: list[Call] = []
    left_out: list[LeftOut] = []
    numbers: Counter[tuple[str, str]] = Counter()
    for operator in operators:
        if operator.reason:
            left_out.append(
                LeftOut(operator.name, operator.reason.partition("\n")[0], is_sample=False)
            )
        for sample in operator.samples:
            number = numbers[operator.name, operator.variant]
            numbers[operator.name, operator.variant] += 1
            entry = OperatorEntry(operator.name, OP_DB, file=OP_DB, line=number)
            label = ", ".join(filter(None, [operator.variant, f"sample {number}"]))
            try:
                call = _call(entry, label, sample, dtype, seed)
            except _InexpressibleError as error:
                left_out.append(LeftOut(operator.name, str(error)))
            else:
                calls.append(_differentiating(call, schemas))
    return Sampled(tuple(calls), tuple(left_out))


def remarks(left_out: Iterable[LeftOut]) -> Iterator[str]:
    """A line for each reason why something is left out."""
    names: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for operator in left_out:
        names[operator.reason, operator.is_sample][operator.operator] += 1
    for (reason, is_sample), counts in names.items():
        shown = ", ".join(list(counts)[:_NAMED])
        more = f" and {len(counts) - _NAMED} more" if len(counts) > _NAMED else ""
        what = f"{counts.total()} samples of " if is_sample else ""
        yield f"{OP_DB}: skipped: {what}{shown}{more}: {reason}"


def _call(entry: OperatorEntry, label: str, sample: Sample, dtype: str, seed: int) -> Call:
    values: list[Value] = []
    positional = [
        _argument(f"arg{place}" if place else "input", value, values)
        for place, value in enumerate((sample.input, *sample.args))
    ]
    keywords = {
        name: _argument(
            name if name != "input" and is_variable(name) else f"{name}_", value, values
        )
        for name, value in sample.kwargs.items()
        # Here it only says what holds anyway, and no C++ could be derived with it.
        if (name, value) != ("device", "cpu")
    }
    if entry.is_method and not isinstance(positional[0], Ref):
        raise _InexpressibleError("a receiver that is not a tensor")
    return Call(entry, label, dtype, seed, tuple(values), tuple(positional), keywords)


def _differentiating(call: Call, schemas: Mapping[str, Sequence[Schema]]) -> Call:
    """The call, with the output that has a gradient; forward alone if no schema tells which.

    What works in place has none: a second run would not begin where the first did.
    """
    if call.entry.name.endswith("_"):
        values = tuple(attrs.evolve(value, requires_grad=False) for value in call.values)
        return attrs.evolve(call, values=values)
    returns = cpp_code.returns_of(call, schemas)
    if returns == ("Tensor",):
        return call
    has_first = bool(returns) and returns[0] in {"Tensor", "List[Tensor]"}
    if call.differentiates and has_first:
        return attrs.evolve(call, entry=attrs.evolve(call.entry, output=0))
    return attrs.evolve(call, entry=attrs.evolve(call.entry, autograd=False))


# ---------------------------------------------------------------------------------------------
# Arguments, as the catalogue script describes them
# ---------------------------------------------------------------------------------------------


def _argument(name: str, described: Any, values: list[Value]) -> Any:
    """What a call holds in place of an argument; its tensors join ``values``."""
    if _is_tensor(described):
        values.append(_tensor(name, described))
        return Ref(name)
    elements = _elements(described)
    if elements is None:
        return _plain(described)
    if elements and all(_is_tensor(element) for element in elements):
        return tuple(
            _argument(f"{name}_{place}", element, values) for place, element in enumerate(elements)
        )
    if any(_is_tensor(element) for element in elements):
        raise _InexpressibleError("a list that mixes tensors and other values")
    if any(_elements(element) is not None for element in elements):
        raise _InexpressibleError("a nested list")
    return tuple(_plain(element) for element in elements)


def _is_tensor(described: Any) -> bool:
    return isinstance(described, Mapping) and "tensor" in described


def _elements(described: Any) -> Sequence[Any] | None:
    if isinstance(described, Mapping):
        described = described.get("tuple")
    return described if isinstance(described, list) else None


def _tensor(name: str, described: Mapping[str, Any]) -> Value:
    dtype = described["dtype"]
    if "layout" in described:
        raise _InexpressibleError(f"a tensor with the layout {described['layout']}")
    if dtype not in DTYPES:
        raise _InexpressibleError(f"a tensor with dtype {dtype}")
    distribution = usual(dtype)
    if "range" in described:
        low, high = described["range"]
        distribution = Distribution("integers", low, high + 1)
    shape = tuple(described["tensor"])
    return Value(name, shape, dtype, distribution, bool(described["requires_grad"]))


def _plain(described: Any) -> Any:
    if not isinstance(described, Mapping):
        return described
    code = described.get("code", "")
    if _TORCH_OBJECT.fullmatch(code):
        return code
    infinite = _FLOAT.fullmatch(code)
    if infinite:
        return float(infinite[1])
    raise _InexpressibleError(f"an object ({code.partition('(')[0] or code})")
