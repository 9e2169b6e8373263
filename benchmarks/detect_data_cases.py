"""The cases of ``benchmarks.detect`` whose cost is in data: each build has a module of its own."""

from core.api import GroupedSetup, GroupedStmts
from core.utils import flatten

FUNCTIONS = {
    "in a tuple": "is_allowed(-1)",
    "a copied dictionary": "copy_of_options()",
    "a formatted text": "message()",
}

_SETUP = GroupedSetup("from injected_data import copy_of_options, is_allowed, message")

BENCHMARKS = flatten({name: GroupedStmts(stmt, None, _SETUP) for name, stmt in FUNCTIONS.items()})
