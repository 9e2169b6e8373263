"""Functions that memory layout moves while the program stays the same.

Found by comparing the costs by function of runs of one build that differ in layout alone (the
length of the interpreter's path, other seeds of the stack): 66 of 300 comparisons of cases of the
standard suite differed, and in these nothing of the interpreter moved but what stands here.

A change of torch's own native code always moves a function of torch as well, so that a difference
in these alone is none of its code. Of torch itself, nothing but hash tables stands here (pybind11's
instances, autograd's nodes), because how many keys share a bucket depends on where objects lie. So
it must be called as often as before, and move no more than layouts were ever seen to.
"""

from __future__ import annotations

from fractions import Fraction

from instruction_counts.analysis.attribution.function_changes import (
    FunctionChange,
    FunctionDifference,
)
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.engines.callgrind.profiles import UNKNOWN

_LOOKUP = "_PyType_Lookup"
"""The method cache: types and names whose places collide are looked up again."""

_METHOD_CACHE = frozenset(
    {
        _LOOKUP,
        "PyErr_Occurred",
        "_PyDict_GetItem_KnownHash",
        "_Py_dict_lookup",
        "assign_version_tag",
        "find_name_in_mro",
        "unicodekeys_lookup_unicode",
    }
)

_SETS = frozenset({"set_lookkey"})
"""Sets of objects that are hashed by their address."""

_SPECIALISATION = frozenset(
    {
        "_PyEvalFramePushAndInit",
        "_PyEval_EvalFrameDefault",
        "_PyFrame_Push",
        "_PyFunction_GetVersionForCurrentState",
        "initialize_locals",
    }
)
_SPECIALISE = "_Py_Specialize_"
"""Instructions that were not yet replaced by faster ones are tried again now and then."""

_EVICTION = frozenset(
    {
        "PyObject_Free",
        "_PyMem_RawFree",
        "_Py_Dealloc",
        "free",
        "free_keys_object",
        "unicode_dealloc",
    }
)
"""A name that leaves the method cache may be freed with it."""


_BY_ADDRESS = ("std::_Hashtable<", "pybind11::detail::all_type_info_get_cache(", "__memchr_")
"""Hash tables; a search in memory, which begins differently near the end of a page."""
_MOST_BY_ADDRESS = Fraction(3, 1000)
"""Of a count: three times what three layouts moved any case of the standard suite by."""


_WITH_TABLES = (
    "torch::autograd::Engine::compute_dependencies(",
    "torch::autograd::Engine::evaluate_function(",
)
"""Functions of torch that such tables are compiled into."""


def steady_part(costs: FunctionCosts) -> int:
    """Instructions of an iteration outside of the functions that layouts are known to move."""
    steady = (cost.exclusive for cost in costs.costs if not _is_moved(cost.function))
    return round(sum(steady) / costs.runs)


def _is_moved(name: str) -> bool:
    moved = name.startswith((*_BY_ADDRESS, *_WITH_TABLES, _SPECIALISE))
    return moved or name in _METHOD_CACHE | _SETS | _SPECIALISATION | _EVICTION


def is_layout_alone(difference: FunctionDifference) -> bool:
    """Whether nothing moved but what layouts are known to move."""
    by_address = [change for change in difference.changed if _is_by_address(change)]
    if sum(abs(change.delta) for change in by_address) > _MOST_BY_ADDRESS * difference.base:
        return False
    moved = {change.key for change in difference.changed} - {change.key for change in by_address}
    if by_address and not moved:
        return True
    names = {key.name for key in moved if key.library != UNKNOWN}
    known = _METHOD_CACHE | _SETS | _SPECIALISATION
    if _LOOKUP in names:
        known |= _EVICTION
    elif len(names) < len(moved):
        return False  # stubs that no library is known for, and no reason for them
    return bool(names) and all(name in known or name.startswith(_SPECIALISE) for name in names)


def _is_by_address(change: FunctionChange) -> bool:
    return change.more_calls == 0 and change.key.name.startswith(_BY_ADDRESS)
