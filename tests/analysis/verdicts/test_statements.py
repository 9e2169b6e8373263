"""Statements that are held against the first."""

from __future__ import annotations

import attrs

from instruction_counts.analysis.verdicts.difference import Difference, Reason
from instruction_counts.analysis.verdicts.statements import beside
from instruction_counts.core.types import Language
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.records import Record
from instruction_counts.report.causes import texts
from tests.builders import counted
from tests.fakes import failed, make_record


def executing(outcome: Outcome, bytecodes: int) -> Outcome:
    """An outcome of a statement of so many bytecodes."""
    statement = PythonFunction("<case>", 0, "statement", "", bytecodes)
    found = Executed((statement,), (OperatorCalls("aten::add", backward=False, calls=1),), "3.11")
    return attrs.evolve(outcome, executed=found, executed_digests=found.digests)


def differences(*records: Record) -> list[Difference]:
    """Of all but the first."""
    first, *others = (found.difference for found in beside(records))
    assert first is None
    return [other for other in others if other is not None]


def test_a_statement_spends_most_in_three_functions() -> None:
    """The largest first."""
    spent = {"kernels": 60, "tensor": 25, "dispatcher": 10, "f": 5}
    (found,) = beside([make_record("a", outcome=counted(100, spent))])

    assert [("at::native::add", 60), ("at::empty", 25), ("c10::Dispatcher::call", 10)] == [
        (place.key.name, place.new) for place in found.places
    ]


def test_every_other_statement_is_held_against_the_first() -> None:
    """Though it is other code, and perhaps another language; with its causes."""
    python, cpp, same = differences(
        make_record("a", outcome=executing(counted(1000), 4)),
        make_record("b", stmt="x.add(y)", outcome=executing(counted(1300), 7)),
        make_record(
            "c", language=Language.CPP, outcome=counted(400, {"kernels": 300, "tensor": 100})
        ),
        make_record("d", outcome=executing(counted(1000), 4)),
    )

    assert (300, Reason.PYTHON_DIFFERS) == (python.change, python.reason)
    assert ("<case> statement  4 → 7 bytecodes", "+300 at::native::add") == texts(python.causes)
    assert -600 == cpp.change
    assert ("-700 at::native::add", "+100 at::empty (new)") == texts(cpp.causes)
    assert (0, Reason.IDENTICAL, ()) == (same.change, same.reason, same.causes)


def test_what_failed_has_no_change() -> None:
    """On either side."""
    pair = make_record("a", outcome=failed()), make_record("b", outcome=counted(10))

    assert [None, None] == [differences(*both)[0].change for both in (pair, pair[::-1])]
