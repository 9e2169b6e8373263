"""The order of work: long cases first, so that the lanes end together.

How long a case takes is known from the last time it ran on this machine.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from instruction_counts.core.types import Language
from instruction_counts.domain.work import WorkOrder
from instruction_counts.system.files import locked, write_atomically


def longest_first(
    orders: Iterable[WorkOrder], durations_s: Mapping[str, float], *, in_budget: bool
) -> list[WorkOrder]:
    """``orders`` by falling duration, with ``durations_s`` by definition hash; stable.

    What is not known comes first: it may take longest. C++ comes last: it is compiled while the
    others are measured. In a budget short cases come first, so that as many as possible fit.
    """

    def rank(order: WorkOrder) -> tuple[bool, float]:
        duration_s = durations_s.get(order.case.definition_hash, math.inf)
        is_cpp = order.case.autolabels.language is Language.CPP
        return (False, duration_s) if in_budget else (is_cpp, -duration_s)

    return sorted(orders, key=rank)


def read_durations(path: Path) -> dict[str, float]:
    """What was noted before; nothing where there is no file, or no usable one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = {str(key): float(value) for key, value in data.items()}
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
    return found if all(map(math.isfinite, found.values())) else {}


def note_durations(path: Path, durations_s: Mapping[str, float]) -> None:
    """Add how long cases took, by definition hash; others may add theirs at the same time.

    What cannot be written is not remembered: it costs an order of work, and no run.
    """
    with contextlib.suppress(OSError), locked(path):
        known = {**read_durations(path), **durations_s}
        write_atomically(path, json.dumps(known, allow_nan=False))
