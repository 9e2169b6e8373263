"""What limits make of a comparison, as a document; baselines and their problems likewise."""

import attrs
import pytest

from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.selection import Selection
from instruction_counts.gate.accept import accept
from instruction_counts.gate.limits import FailOn, Gate, Limits, Rule, apply_limits
from instruction_counts.report import gate as report
from instruction_counts.report.document import Role
from tests.builders import comparison, counted, cpp, difference, key, side
from tests.report.rendered import screen

LIMITS = Limits(Rule(soft=Effect(absolute=20), hard=Effect(absolute=100)))
CASES = (
    difference(1000, 1005, label="within"),
    difference(1000, 1050, label="soft"),
    difference(1000, 1105, noise=10, label="edge"),
    difference(1000, 1200, label="fails"),
    difference(1000, 2000, label="fails more"),
    difference(1000, 500, verdict=Verdict.BETTER, label="better"),
    difference(1000, 1001, verdict=Verdict.AMBIGUOUS, label="ambiguous"),
    difference(1000, 1000, verdict=Verdict.SAME, label="same"),
    Difference(key("new"), None, None, Verdict.ADDED, Reason.ONLY_IN_NEW),
)
BROKEN = Difference(key("broken"), None, None, Verdict.FAILED, Reason.FAILED_IN_NEW)
VERDICT = (
    "FAILS: 2 of 9 cases fail the limits; 1 at the edge of a hard limit; "
    "1 above a soft limit; 1 not guarded"
)
NOT_ENFORCED = VERDICT.replace(
    "FAILS: 2 of 9 cases fail the limits", "PASSES: 9 cases; 2 over the limit (not enforced)"
)


def gate(fail_on: FailOn = FailOn.REGRESSION) -> Gate:
    """All kinds of findings."""
    return apply_limits(comparison(*CASES), LIMITS, fail_on)


def test_what_fails_comes_first_and_the_largest_of_it() -> None:
    """Then what is only reported, folded away."""
    tables = report.check_document(gate()).tables

    assert [
        ("FAILS", ["fails more · C++", "fails · C++"], False),
        ("AT THE EDGE", ["edge · C++"], True),
        ("ABOVE ITS SOFT LIMIT", ["soft · C++"], True),
        ("NOT GUARDED", ["new · C++"], True),
        ("WITHIN ITS LIMITS", ["within · C++"], True),
        ("BETTER", ["better · C++"], True),
        ("AMBIGUOUS", ["ambiguous · C++"], True),
    ] == [(table.title, [row.key for row in table.rows], table.folded) for table in tables]


def test_a_case_is_reported_with_its_limit_and_its_causes() -> None:
    """Where the functions of both sides are not known, layers are named."""
    causes = (Cause(CauseKind.LAYER, "kernels", 1000, 1200),)
    found = apply_limits(comparison(attrs.evolve(CASES[3], causes=causes)), LIMITS)

    *_, title, row, why, _, note = screen(report.check_document(found))
    assert [
        "FAILS  not verified   base    new  change        %",
        "  fails · C++        1,000  1,200    +200  +20.00%",
        "    why  +200 kernels; above the hard limit of 100 instructions",
    ] == [title, row, why]
    assert note.startswith("Not verified: a difference may be noise. To verify, check the build: ")


@pytest.mark.parametrize(
    ("found", "verdict", "is_bad", "has_failed_cases"),
    [
        (gate(), VERDICT, True, False),
        (gate(FailOn.NEVER), NOT_ENFORCED, False, False),
        (apply_limits(comparison(CASES[7])), "PASSES: 1 case", False, False),
        # It does not read as a check that passes.
        (apply_limits(comparison(CASES[7], BROKEN)), "INCOMPLETE: 2 cases; 1 failed", True, True),
    ],
)
def test_the_verdict_is_one_line(
    found: Gate, verdict: str, *, is_bad: bool, has_failed_cases: bool
) -> None:
    """With how many of what; below a comparison likewise. Files say which of both it is."""
    document, below = report.check_document(found), report.limits_block(found)
    line, role = document.answer[0], Role.BAD if is_bad else Role.STRONG

    assert (verdict, role) == (line.text, line.role) == (below.title, below.role)
    assert has_failed_cases is document.data["has_failed_cases"]
    assert (is_bad and not has_failed_cases) is document.data["fails"]


def test_a_comparison_gets_a_line_for_each_case_that_is_over_a_limit() -> None:
    """Its counts and causes stand above."""
    edge = "above the hard limit of 100 instructions, but by no more than 10 instructions"

    assert [
        "fails: fails · C++: above the hard limit of 100 instructions",
        "fails: fails more · C++: above the hard limit of 100 instructions",
        f"at the edge: edge · C++: {edge}",
        "above its soft limit: soft · C++: above the soft limit of 20 instructions",
    ] == [line.text for line in report.limits_block(gate()).lines]


def test_failures_are_what_exceeds_a_hard_limit() -> None:
    """Soft limits are reported, unguarded cases are skipped, failed ones are errors.

    Where nothing is enforced, the check passes, and so do its tests.
    """
    enforced, not_enforced = (
        [
            (test.name.partition(" · ")[0], test.outcome or (test.details and "details"))
            for test in report.case_tests(apply_limits(comparison(*CASES, BROKEN), LIMITS, fail_on))
        ]
        for fail_on in (FailOn.REGRESSION, FailOn.NEVER)
    )

    assert [
        ("within", "details"),
        ("soft", "details"),
        ("edge", "details"),
        ("fails", "failure"),
        ("fails more", "failure"),
        ("better", ""),
        ("ambiguous", ""),
        ("same", ""),
        ("new", "skipped"),
        ("broken", "error"),
    ] == enforced
    assert "failure" not in dict(not_enforced).values()


def test_a_failure_says_what_changed_and_where() -> None:
    """Counts, the limit, the causes; a case of a skipped budget and an empty check say so."""
    causes = (Cause(CauseKind.LAYER, "<kernels>", 1, 10),)
    worse = attrs.evolve(CASES[4], causes=causes)
    (test,) = report.case_tests(apply_limits(comparison(worse), LIMITS))
    nothing = attrs.evolve(comparison(), skipped_by_budget={key("a", "b"): "60 s"})
    skipped, empty = report.case_tests(apply_limits(nothing))

    assert "1,000 → 2,000 (+1,000): above the hard limit of 100 instructions" == test.message
    assert "+9 <kernels>" == test.details
    assert ("instruction-counts.a", "time budget of 60 s") == (skipped.suite, skipped.message)
    assert ("error", "nothing was compared") == (empty.outcome, empty.message)


def test_what_is_learnt_of_noise_is_reported_too() -> None:
    """The line in the file changes, though the count does not."""
    base, new = (
        side(cpp("a", outcome=counted(count, spread=spread)), cpp("same", outcome=counted(9)))
        for count, spread in ((1_000_000, 0), (1_000_400, 9))
    )
    before = accept(None, base, Selection()).after
    found = screen(report.acceptance_document(accept(before, new, Selection())))

    assert "    why  keeps its count; its noise is better known" in found
    assert "Counts kept, as they differ by noise alone: 1 case" in found
