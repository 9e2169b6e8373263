"""What a profile in Callgrind's format says.

Costs are executed instructions (event ``Ir``) per function; positions inside a function, other
events and jumps are left out. Names keep what Callgrind wrote, except that the suffix ``'N`` of a
recursion level is removed and all levels of a function are one.

The file of a function is the one that it is defined in: the cost of code inlined into it from
another file (``fi=``, ``fe=``) counts as its own. ``callgrind_annotate`` shows such cost under
the other file, so the two agree on a function only after adding up over files.
"""

import re
from collections.abc import Mapping
from itertools import pairwise

import attrs

UNKNOWN = "???"
"""What Callgrind writes for an object or a file that it does not know."""

_RECURSION = re.compile(r"(?<=.)(?:'[0-9]+)+\Z")


def without_recursion(name: str) -> str:
    """The name of a function without the suffix of a recursion level."""
    return _RECURSION.sub("", name)


def _one_line(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    if "\n" in value or value != value.strip():
        raise ValueError(
            f"{attribute.name} must be one line without spaces around it, not {value!r}"
        )


def _position_name(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    if not value or "\n" in value or value[0] in " \t":
        raise ValueError(
            f"{attribute.name} must be one line that starts with its text, not {value!r}"
        )


def _no_recursion_suffix(_: object, __: "attrs.Attribute[str]", value: str) -> None:
    if value != without_recursion(value):
        raise ValueError(f"name must not carry the suffix of a recursion level, unlike {value!r}")


@attrs.frozen(order=True, cache_hash=True)
class Function:
    """A function, all its recursion levels together."""

    object_name: str = attrs.field(validator=_position_name)
    """The whole path of the ELF object."""
    file: str = attrs.field(validator=_position_name)
    """The source file of the definition, ``???`` where unknown."""
    name: str = attrs.field(validator=[_position_name, _no_recursion_suffix])

    @property
    def library(self) -> str:
        """The base name of the object."""
        return self.object_name.rpartition("/")[2] or self.object_name


@attrs.frozen
class Call:
    """All calls from one function to another."""

    caller: Function
    callee: Function
    calls: int = attrs.field(validator=attrs.validators.ge(0))
    instructions: int = attrs.field(validator=attrs.validators.ge(0))
    """Inclusive: of the callee and of everything below it."""


def _sort_key(call: Call) -> tuple[str, ...]:
    caller, callee = call.caller, call.callee
    return (
        *(caller.object_name, caller.file, caller.name),
        *(callee.object_name, callee.file, callee.name),
    )


def _sorted_calls(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    return tuple(sorted(calls, key=_sort_key))


def _distinct_pairs(_: object, __: object, calls: tuple[Call, ...]) -> None:
    for call, following in pairwise(calls):
        if call.caller == following.caller and call.callee == following.callee:
            raise ValueError(f"calls must be summed per caller and callee, unlike {call.callee}")


def _without_zeros(costs: Mapping[Function, int]) -> dict[Function, int]:
    return {function: cost for function, cost in costs.items() if cost}


def _no_negative_cost(_: object, __: object, costs: Mapping[Function, int]) -> None:
    if any(cost < 0 for cost in costs.values()):
        raise ValueError("exclusive costs must not be negative")


def _pairs_of_lines(_: object, __: object, pairs: tuple[tuple[str, str], ...]) -> None:
    for key, value in pairs:
        if ":" in key or "\n" in key + value or (key, value) != (key.strip(), value.strip()):
            raise ValueError(
                f"a description must be a key without colon and a line, not {(key, value)!r}"
            )


@attrs.frozen
class CallgrindProfile:
    """One part of a profile: usually one file, written by one dump."""

    totals: int = attrs.field(validator=attrs.validators.ge(0))
    """From ``totals:``, the sum of all cost lines; ``summary:`` may hold more."""
    exclusive: Mapping[Function, int] = attrs.field(
        converter=_without_zeros, validator=_no_negative_cost
    )
    """Instructions of each function itself; a function without any is left out."""
    calls: tuple[Call, ...] = attrs.field(
        default=(), converter=_sorted_calls, validator=_distinct_pairs
    )
    """Sorted by caller, then callee."""
    creator: str = attrs.field(default="", validator=_one_line)
    command: str = attrs.field(default="", validator=_one_line)
    descriptions: tuple[tuple[str, str], ...] = attrs.field(default=(), validator=_pairs_of_lines)
    """The ``desc:`` lines in order, such as ``("Trigger", "Program termination")``."""
