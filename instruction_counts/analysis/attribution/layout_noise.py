"""Which of the functions that cost more cost more than memory layouts move them.

What layouts move is learnt case by case and function by function, from several layouts of each
build: the method cache of the interpreter, hash tables by address, searches that end with a page.
No function is known by its name, and what moves one of them by more than layouts do is a change.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from instruction_counts.domain.outcomes import FunctionCosts

_Costs = Mapping[tuple[str, str], Fraction]
"""Exclusive instructions of an iteration, by library and function."""


def steady_change(base: Sequence[FunctionCosts], new: Sequence[FunctionCosts]) -> int:
    """Instructions of an iteration by which ``new`` costs more in functions that changed.

    Each side has the costs of a case in several layouts. A function changed if its cost lies on one
    side of base in all of them, by more than layouts move it on either side.
    """
    before, after = ([_by_function(costs) for costs in side] for side in (base, new))
    functions = {function for costs in (*before, *after) for function in costs}
    return round(sum((_change(before, after, function) for function in functions), Fraction()))


def _change(
    before: Sequence[_Costs], after: Sequence[_Costs], function: tuple[str, str]
) -> Fraction:
    base, new = ([costs.get(function, Fraction()) for costs in side] for side in (before, after))
    noise = max(max(side) - min(side) for side in (base, new))
    gap = max(min(new) - max(base), min(base) - max(new))
    return statistics.median(new) - statistics.median(base) if gap > noise else Fraction()


def _by_function(costs: FunctionCosts) -> _Costs:
    found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for cost in costs.costs:
        found[cost.library, cost.function] += Fraction(cost.exclusive, costs.runs)
    return found
