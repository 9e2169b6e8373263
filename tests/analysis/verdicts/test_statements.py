"""Statements that are held against the first."""

from __future__ import annotations

import attrs

from core.types import Language
from instruction_counts.analysis.verdicts.difference import Reason
from instruction_counts.analysis.verdicts.statements import beside
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.report.causes import texts
from tests.builders import counted
from tests.fakes import failed, make_record

LAYERS = {"kernels": 60, "tensor": 30, "dispatcher": 10}


def executing(outcome: Outcome, bytecodes: int) -> Outcome:
    """An outcome of a statement of so many bytecodes."""
    statement = PythonFunction("<case>", 0, "statement", "", bytecodes)
    found = Executed((statement,), (OperatorCalls("aten::add", backward=False, calls=1),), "3.11")
    return attrs.evolve(outcome, executed=found, executed_digests=found.digests)


def test_a_statement_spends_most_in_three_functions() -> None:
    """The largest first."""
    (found,) = beside([make_record("a", outcome=counted(100, LAYERS))])

    assert [("at::native::add", 60), ("at::empty", 30), ("c10::Dispatcher::call", 10)] == [
        (place.key.name, place.new) for place in found.places
    ]
    assert found.difference is None


def test_every_other_statement_is_held_against_the_first() -> None:
    """Though it is other code, and perhaps another language; with its causes."""
    first = make_record("a", outcome=executing(counted(1000, {"kernels": 1000}), 4))
    other = make_record(
        "b", stmt="x.add(y)", outcome=executing(counted(1300, {"kernels": 1300}), 7)
    )
    cpp = make_record(
        "c", language=Language.CPP, outcome=counted(400, {"kernels": 300, "tensor": 100})
    )

    _, same_language, other_language = beside([first, other, cpp])

    assert same_language.difference is not None
    assert 300 == same_language.difference.change
    assert Reason.PYTHON_DIFFERS is same_language.difference.reason
    assert ("<case> statement  4 → 7 bytecodes", "+300 at::native::add") == texts(
        same_language.difference.causes
    )
    assert other_language.difference is not None
    assert -600 == other_language.difference.change
    assert ("-700 at::native::add", "+100 at::empty (new)") == texts(
        other_language.difference.causes
    )


def test_a_statement_that_is_the_same_does_not_differ() -> None:
    """It has no causes."""
    records = [make_record(name, outcome=counted(1000)) for name in "ab"]

    _, again = beside(records)

    assert again.difference is not None
    assert (0, Reason.IDENTICAL, ()) == (
        again.difference.change,
        again.difference.reason,
        again.difference.causes,
    )


def test_what_failed_has_no_change() -> None:
    """On either side."""
    records = [make_record("a", outcome=failed()), make_record("b", outcome=counted(10))]

    for pair in (records, records[::-1]):
        other = beside(pair)[1]
        assert other.difference is not None
        assert other.difference.change is None
