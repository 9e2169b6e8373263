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

import attrs

UNKNOWN = "???"
"""What Callgrind writes for an object or a file that it does not know."""

_RECURSION = re.compile(r"(?<=.)(?:'[0-9]+)+\Z")


def without_recursion(name: str) -> str:
    """The name of a function without the suffix of a recursion level."""
    return _RECURSION.sub("", name)


@attrs.frozen(order=True, cache_hash=True)
class Function:
    """A function, all its recursion levels together."""

    object_name: str
    """The whole path of the ELF object."""
    file: str
    """The source file of the definition, ``???`` where unknown."""
    name: str
    """Without the suffix of a recursion level."""

    @property
    def library(self) -> str:
        """The base name of the object."""
        return self.object_name.rpartition("/")[2] or self.object_name


@attrs.frozen
class Call:
    """All calls from one function to another."""

    caller: Function
    callee: Function
    calls: int
    instructions: int
    """Inclusive: of the callee and of everything below it."""


def _sorted_calls(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    return tuple(sorted(calls, key=lambda call: (call.caller, call.callee)))


def _without_zeros(costs: Mapping[Function, int]) -> dict[Function, int]:
    return {function: cost for function, cost in costs.items() if cost}


@attrs.frozen
class CallgrindProfile:
    """One part of a profile: usually one file, written by one dump."""

    totals: int
    """From ``totals:``, the sum of all cost lines; ``summary:`` may hold more."""
    exclusive: Mapping[Function, int] = attrs.field(converter=_without_zeros)
    """Instructions of each function itself; a function without any is left out."""
    calls: tuple[Call, ...] = attrs.field(default=(), converter=_sorted_calls)
    """One for each pair, sorted by caller, then callee."""
    creator: str = ""
    command: str = ""
    descriptions: tuple[tuple[str, str], ...] = ()
    """The ``desc:`` lines in order, such as ``("Trigger", "Program termination")``."""
