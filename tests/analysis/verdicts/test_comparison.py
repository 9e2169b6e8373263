"""Two sides, case by case."""

import pytest

from instruction_counts.analysis.verdicts.comparison import Comparison, beside, compare, verified
from instruction_counts.analysis.verdicts.difference import Reason, Verdict
from instruction_counts.analysis.verdicts.sides import Side, with_noise
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.report.causes import texts
from tests.builders import costs_of, counted, cpp, executing, key, outcome_of, side, statement_of
from tests.fakes import make_record


def spending(**counts: int) -> Side:
    """A side of cases that cost ``counts``."""
    return side(*(cpp(name, outcome=count) for name, count in counts.items()))


def verdicts(comparison: Comparison) -> dict[str, Verdict]:
    """The verdict on each case, by name."""
    return {case.key.label[0]: case.verdict for case in comparison.differences}


BASE = spending(same=1000, worse=1000, better=1000, missing=1000)
NEW = spending(same=1000, worse=2000, better=500, new=1000)


def test_every_case_of_either_side_has_a_verdict() -> None:
    """In the order of new; what is in base alone comes last. What changed is a suspect."""
    comparison = compare(BASE, NEW)

    assert ["same", "worse", "better", "new", "missing"] == list(verdicts(comparison))
    assert dict.fromkeys(verdicts(comparison).values(), 1) == comparison.tally
    assert ["worse", "better"] == [suspect.key.label[0] for suspect in comparison.suspects]


def test_what_a_time_budget_skipped_on_either_side_is_not_judged() -> None:
    """It is named with the budget."""
    cut_off, counted = (side(cpp("a", outcome=outcome)) for outcome in (Outcome.out_of_time(60), 1))

    for pair in ((cut_off, counted), (counted, cut_off)):
        found = compare(*pair)
        assert ((), {key("a"): "60 s"}) == (found.differences, found.skipped_by_budget)


def test_what_is_known_of_the_noise_of_either_build_counts() -> None:
    """A case that layouts move by half is not called worse."""
    torn = {key("worse"): Noise(layout_spread=0.5, layouts=4)}
    pairs = [(with_noise(BASE, torn), NEW), (BASE, with_noise(NEW, torn))]

    assert {Verdict.AMBIGUOUS} == {verdicts(compare(*pair))["worse"] for pair in pairs}


@pytest.mark.parametrize(
    ("known", "expected"),
    [(3, (Reason.STEADY_PART, 51)), (2, (Reason.LAYOUT_ONLY, 30)), (0, (Reason.LAYOUT_ONLY, 30))],
)
def test_suspects_are_judged_by_what_was_counted_again(
    known: int, expected: tuple[Reason, int]
) -> None:
    """Where whole counts overlap, by functions that are known in each layout; others stay."""
    worse, better, same = map(key, ("worse", "better", "same"))
    base = [{worse: 1000 + 20 * n, better: 1000, same: 1000} for n in range(3)]
    new = [{worse: 1050 - 20 * n, better: 500, same: 2000} for n in range(3)]
    functions = [
        [{worse: costs_of({"relu": cost}), better: costs_of({})}] * known + [{}] * (3 - known)
        for cost in (900, 951)
    ]
    comparison = compare(BASE, spending(same=1000, worse=1050, better=500, new=1000))
    again = verified(comparison, base, new, functions=functions if known else ()).differences

    assert {
        "same": (Reason.IDENTICAL, False, 0),
        "worse": (expected[0], True, expected[1]),
        "better": (Reason.EXACT_DIFFERENCE, True, -500),
        "new": (Reason.ONLY_IN_NEW, False, None),
        "missing": (Reason.ONLY_IN_BASE, False, None),
    } == {case.key.label[0]: (case.reason, case.verified, case.effect) for case in again}


@pytest.mark.parametrize("caches", ["held", "not held", ""])
def test_a_large_change_is_certain_where_both_sides_hold_caches(caches: str) -> None:
    """Else a build on another interpreter may differ by percents."""
    counts = (100_000, 120_000)
    held, other = (
        [
            side(make_record("a", outcome=outcome_of(count)), caches=found, allocator="steady")
            for count in counts
        ]
        for found in ("held", caches)
    )

    for pair in ((held[0], other[1]), (other[0], held[1])):
        assert (caches == "held") is compare(*pair).differences[0].is_certain


@pytest.mark.parametrize("failed", [("base", "new"), ("base",), ("new",)], ids="+".join)
def test_a_suspect_that_failed_in_a_layout_is_not_verified(failed: tuple[str, ...]) -> None:
    """It keeps its verdict; reports say how many layouts there were."""
    comparison = compare(BASE, NEW)
    worse = comparison.suspects[0].key
    base, new = (
        [{worse: count}, {} if name in failed else {worse: count}]
        for name, count in (("base", 1000), ("new", 2000))
    )
    again = verified(comparison, base, new)

    assert 2 == again.layouts
    assert [False, False] == [suspect.verified for suspect in again.suspects]


def test_every_other_statement_is_held_against_the_first() -> None:
    """Though it is other code, and perhaps another language; with its causes."""
    first, *others = (
        found.difference
        for found in beside(
            [
                make_record("a", outcome=executing(1000, statement_of(4))),
                make_record("b", stmt="x.add(y)", outcome=executing(1300, statement_of(7))),
                cpp("c", outcome=counted(400, {"kernels": 300, "tensor": 100})),
                make_record("d", outcome=executing(1000, statement_of(4))),
            ]
        )
    )

    assert first is None
    assert [
        (300, Reason.PYTHON_DIFFERS, ("<case> statement  4 → 7 bytecodes", "+300 at::native::add")),
        (-600, Reason.EXACT_DIFFERENCE, ("-700 at::native::add", "+100 at::empty (new)")),
        (0, Reason.IDENTICAL, ()),
    ] == [(found.change, found.reason, texts(found.causes)) for found in others if found]
