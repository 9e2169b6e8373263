"""Short ways to make the cases, sides and comparisons that limits are held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.effects import MIN_EFFECT
from instruction_counts.domain.outcomes import (
    FunctionCost,
    FunctionCosts,
    Instructions,
    Outcome,
    Status,
    Window,
)
from instruction_counts.domain.records import Record
from tests.fakes import FINGERPRINT, make_record

NAMES = {"kernels": "at::native::add", "tensor": "at::empty", "dispatcher": "c10::Dispatcher::call"}
"""A function of some layers."""


def counted(count: int, layers: Mapping[str, int] | None = None, **fields: Any) -> Outcome:
    """An outcome of that count, spent in these layers."""
    shares = layers if layers is not None else {"kernels": count}
    costs = tuple(
        FunctionCost("libtorch_cpu.so", "???", NAMES[layer], cost) for layer, cost in shares.items()
    )
    instructions = Instructions(count, **{"exact": True, "windows": (Window(1, count),), **fields})
    return Outcome(Status.OK, instructions, functions=FunctionCosts(1, costs))


def cpp(*label: str, outcome: Outcome) -> Record:
    """The record of a C++ case."""
    return make_record(*label, outcome=outcome, language=Language.CPP)


def side(*records: Record, engine: str = "fork", title: str = "run 2", **facts: Any) -> Side:
    """A side of these records."""
    fingerprint = attrs.evolve(FINGERPRINT, **facts)
    return Side(title, engine, fingerprint, {record.key: record for record in records})


def key(*label: str) -> CaseKey:
    """The key of a C++ case."""
    return CaseKey(label, Language.CPP, RuntimeMode.EAGER, AutogradMode.FORWARD, 1)


def difference(
    base: int, new: int, *, noise: int = 0, verdict: Verdict = Verdict.WORSE, label: str = "add"
) -> Difference:
    """A case that changed, with that verdict."""
    records = [cpp(label, outcome=counted(count)) for count in (base, new)]
    return Difference(key(label), *records, verdict, Reason.EXACT_DIFFERENCE, noise)


def comparison(*differences: Difference) -> Comparison:
    """A comparison of these cases."""
    return Comparison(side(title="base"), side(title="new"), (), MIN_EFFECT, differences)
