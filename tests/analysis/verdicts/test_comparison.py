"""Two sides, case by case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from instruction_counts.analysis.verdicts.comparison import Comparison, beside, compare, verified
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.sides import Side, with_noise
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.records import Record
from instruction_counts.report.causes import texts
from tests.builders import costs_of, counted, cpp, key, side
from tests.fakes import make_record


def spending(counts: Mapping[str, int], **facts: Any) -> Side:
    """A side of cases that cost ``counts``."""
    return side(*(cpp(name, outcome=count) for name, count in counts.items()), **facts)


def verdicts(comparison: Comparison) -> dict[str, Verdict]:
    """The verdict on each case, by name."""
    return {difference.key.label[0]: difference.verdict for difference in comparison.differences}


BASE = spending({"same": 1000, "worse": 1000, "better": 1000, "missing": 1000})
NEW = spending({"same": 1000, "worse": 2000, "better": 500, "new": 1000})


def test_every_case_of_either_side_has_a_verdict() -> None:
    """In the order of new; what is in base alone comes last. What changed is a suspect."""
    comparison = compare(BASE, NEW)

    assert [(verdict.value, verdict) for verdict in comparison.tally] == list(
        verdicts(comparison).items()
    )
    assert ["same", "worse", "better", "new", "missing"] == list(verdicts(comparison))
    assert {1} == set(comparison.tally.values())
    assert ["worse", "better"] == [suspect.key.label[0] for suspect in comparison.suspects]


def test_what_a_time_budget_skipped_on_either_side_is_not_judged() -> None:
    """It is named with the budget."""
    cut_off, counted = (side(cpp("a", outcome=outcome)) for outcome in (Outcome.out_of_time(60), 1))

    for pair in ((cut_off, counted), (counted, cut_off)):
        found = compare(*pair)
        assert ((), {key("a"): "60 s"}) == (found.differences, found.skipped_by_budget)


@pytest.mark.parametrize("facts", [{"allocator": "steady"}, {"engine": "timer"}])
def test_another_allocator_or_engine_makes_counts_incomparable(facts: dict[str, str]) -> None:
    """The one is part of every count, and the reference engine counts cold code."""
    other = spending({"same": 1000}, **facts)

    assert Verdict.INCOMPARABLE is verdicts(compare(BASE, other))["same"]


def test_what_is_known_of_the_noise_of_either_build_counts() -> None:
    """A case that layouts move by half is not called worse."""
    torn = {key("worse"): Noise(layout_spread=0.5, layouts=4)}
    pairs = [(with_noise(BASE, torn), NEW), (BASE, with_noise(NEW, torn))]

    assert {Verdict.AMBIGUOUS} == {verdicts(compare(*pair))["worse"] for pair in pairs}


def test_suspects_are_judged_by_what_was_counted_again() -> None:
    """The others keep their verdict."""
    comparison = compare(BASE, NEW)
    keys = {suspect.key.label[0]: suspect.key for suspect in comparison.suspects}
    again = verified(
        comparison,
        [{keys["worse"]: 1000 + 400 * n, keys["better"]: 1000} for n in range(3)],
        [{keys["worse"]: 2000 - 400 * n, keys["better"]: 500} for n in range(3)],
    )
    found = {
        difference.key.label[0]: (difference.reason, difference.verified)
        for difference in again.differences
    }

    assert {
        "same": (Reason.IDENTICAL, False),
        "worse": (Reason.LAYOUT_ONLY, True),
        "better": (Reason.EXACT_DIFFERENCE, True),
        "new": (Reason.ONLY_IN_NEW, False),
        "missing": (Reason.ONLY_IN_BASE, False),
    } == found


@pytest.mark.parametrize(
    ("known", "expected"),
    [(3, (Reason.STEADY_PART, 51)), (2, (Reason.LAYOUT_ONLY, 600)), (0, (Reason.LAYOUT_ONLY, 600))],
)
def test_functions_decide_where_they_are_known_in_each_layout(
    known: int, expected: tuple[Reason, int]
) -> None:
    """The whole counts of both sides overlap."""
    comparison = compare(BASE, NEW)
    worse = comparison.suspects[0].key
    base = [{worse: 1000 + 400 * n} for n in range(3)]
    new = [{worse: 2000 - 400 * n} for n in range(3)]
    functions = [
        [{worse: costs_of({"relu": cost})}] * known + [{}] * (3 - known) for cost in (900, 951)
    ]
    found = verified(comparison, base, new, functions=functions if known else ()).differences
    (judged,) = (difference for difference in found if difference.key == worse)

    assert expected == (judged.reason, judged.effect)


@pytest.mark.parametrize("last", [{}, {"worse": 2000}], ids=["both sides", "base"])
def test_a_suspect_that_failed_in_a_layout_is_not_verified(last: dict[str, int]) -> None:
    """It keeps its verdict; reports say how many layouts there were."""
    comparison = compare(BASE, NEW)
    worse = comparison.suspects[0].key
    new = [{worse: 2000}, {key(name): count for name, count in last.items()}]
    again = verified(comparison, [{worse: 1000}, {}], new)

    assert 2 == again.layouts
    assert [False, False] == [suspect.verified for suspect in again.suspects]


# Statements that are held against the first


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
    python, native, same = differences(
        make_record("a", outcome=executing(counted(1000), 4)),
        make_record("b", stmt="x.add(y)", outcome=executing(counted(1300), 7)),
        cpp("c", outcome=counted(400, {"kernels": 300, "tensor": 100})),
        make_record("d", outcome=executing(counted(1000), 4)),
    )

    assert (300, Reason.PYTHON_DIFFERS) == (python.change, python.reason)
    assert ("<case> statement  4 → 7 bytecodes", "+300 at::native::add") == texts(python.causes)
    assert -600 == native.change
    assert ("-700 at::native::add", "+100 at::empty (new)") == texts(native.causes)
    assert (0, Reason.IDENTICAL, ()) == (same.change, same.reason, same.causes)
