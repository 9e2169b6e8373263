"""Statements beside each other: where each spends most, and how each differs from the first."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from instruction_counts.analysis.attribution.functions import FunctionChange, difference
from instruction_counts.analysis.verdicts.changes import program
from instruction_counts.analysis.verdicts.comparison import causes_of
from instruction_counts.analysis.verdicts.difference import (
    Difference,
    judge,
)
from instruction_counts.domain.records import Record

_PLACES = 3


@attrs.frozen
class MeasuredStatement:
    """A statement that was measured."""

    record: Record
    places: tuple[FunctionChange, ...] = ()
    """The functions that spend most of its instructions, from nothing to that; at most three."""
    difference: Difference | None = None
    """From the first statement to this one; None for the first itself."""


def beside(records: Sequence[Record]) -> tuple[MeasuredStatement, ...]:
    """The statements of ``records``, which hold their details, in their order."""
    return tuple(
        MeasuredStatement(
            record, _places(record), _difference(records[0], record) if number else None
        )
        for number, record in enumerate(records)
    )


def _places(record: Record) -> tuple[FunctionChange, ...]:
    if record.outcome.functions is None:
        return ()
    return difference(None, record.outcome.functions).functions[:_PLACES]


def _difference(first: Record, other: Record) -> Difference:
    """As between two builds; that they are other code and of other modes is meant."""
    key = other.key
    base = attrs.evolve(
        first,
        label=key.label,
        language=key.language,
        runtime=key.runtime,
        autograd=key.autograd,
        num_threads=key.num_threads,
        definition_hash=other.definition_hash,
    )
    judged = judge(key, base, other, program=program(base, other))
    return attrs.evolve(judged, causes=causes_of(judged))
