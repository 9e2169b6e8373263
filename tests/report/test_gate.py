"""What limits make of a comparison, in a terminal and in a comment on a pull request."""

from __future__ import annotations

import re

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.effects import Effect
from instruction_counts.gate.accept import accept
from instruction_counts.gate.gate import FailOn, Gate, apply_limits
from instruction_counts.gate.limits import Limits, Rule
from instruction_counts.gate.lint import Doubt, Remark
from instruction_counts.report import gate as report
from instruction_counts.report.formats import markdown
from instruction_counts.report.formats.entry import CheckReport
from tests.fakes import failed, make_record
from tests.gate.fakes import comparison, counted, cpp, difference, key, side

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
    Difference(key("new"), None, None, Verdict.NEW, Reason.ONLY_IN_NEW),
)


def gate(fail_on: FailOn = FailOn.REGRESSION) -> Gate:
    """All kinds of findings."""
    return apply_limits(comparison(*CASES), LIMITS, fail_on)


def in_markdown(found: Gate) -> str:
    """The comment on a pull request."""
    return markdown.check(CheckReport(found))


def test_what_fails_comes_first_and_the_largest_of_it() -> None:
    """Then what is only reported."""
    found = [
        (section.title, [finding.key.label[0] for finding in section.findings])
        for section in report.sections(gate())
    ]

    assert [
        ("FAILS", ["fails more", "fails"]),
        ("AT THE EDGE", ["edge"]),
        ("ABOVE ITS SOFT LIMIT", ["soft"]),
        ("NOT GUARDED", ["new"]),
        ("WITHIN ITS LIMITS", ["within"]),
        ("BETTER", ["better"]),
        ("AMBIGUOUS", ["ambiguous"]),
    ] == found


def test_a_case_is_reported_with_its_limit_and_its_causes() -> None:
    """Where the functions of both sides are not known, layers are named."""
    known = gate().findings[3]
    assert known.difference.base is not None
    outcome = attrs.evolve(known.difference.base.outcome, functions=None)
    base = attrs.evolve(known.difference.base, outcome=outcome)
    causes = (Cause(CauseKind.LAYER, "kernels", 1000, 1200),)
    finding = attrs.evolve(
        known, difference=attrs.evolve(known.difference, base=base, causes=causes)
    )

    assert [
        "  fails · C++ · Eager · Forward",
        "     1,000 → 1,200   +200 (+20.00%)",
        "     above the hard limit of 100 instructions",
        "     +200 kernels",
    ] == [text.plain for text in report.lines(finding)]


def test_the_verdict_is_one_line() -> None:
    """With how many of what."""
    assert (
        "FAILS: 2 of 9 cases fail the limits; 1 at the edge of a hard limit; "
        "1 above a soft limit; 1 not guarded"
    ) == report.verdict(gate())


def test_a_comparison_that_was_shown_gets_a_line_for_each_case() -> None:
    """Its counts and causes stand above."""
    edge = "above the hard limit of 100 instructions, but by no more than 10 instructions"
    soft = "above the soft limit of 20 instructions"

    assert [
        "fails: fails more · C++ · Eager · Forward: above the hard limit of 100 instructions",
        "fails: fails · C++ · Eager · Forward: above the hard limit of 100 instructions",
        f"at the edge: edge · C++ · Eager · Forward: {edge}",
        f"above its soft limit: soft · C++ · Eager · Forward: {soft}",
        report.verdict(gate()),
    ] == [text.plain for text in report.brief(gate())]


def test_what_is_not_enforced_is_said_so() -> None:
    """It passes, and would not."""
    assert report.verdict(gate(FailOn.NEVER)).startswith(
        "PASSES: 9 cases; 2 over the limit (not enforced)"
    )


def test_nothing_to_report_is_said_in_a_word() -> None:
    """The usual case."""
    assert "PASSES: 1 case" == report.verdict(apply_limits(comparison(CASES[7])))


def test_the_comment_begins_with_the_verdict_and_folds_what_does_not_fail() -> None:
    """Reviewers read the first line."""
    text = in_markdown(gate())
    shown = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)

    assert text.startswith("### FAILS: 2 of 9 cases")
    assert "| fails · C++" in shown
    assert "| soft · C++" not in shown
    assert 6 == text.count("<details>")


def test_a_failure_is_reported_with_its_message() -> None:
    """In the comment, too."""
    record = make_record("a", outcome=failed(message="ValueError: no | way"))
    difference = Difference(key("a"), None, record, Verdict.FAILED, Reason.FAILED_IN_NEW)

    assert "failed in new: ValueError: no \\| way" in in_markdown(
        apply_limits(comparison(difference))
    )


def test_a_kind_of_many_cases_is_cut_short() -> None:
    """The first are the largest."""
    many = [difference(1000, 2000 + place, label=f"case {place}") for place in range(300)]
    text = in_markdown(apply_limits(comparison(*many)))

    assert 100 == text.count("| case 2")
    assert "| case 299 · C++" in text
    assert "\n\n… and 200 more\n" in text


LEVELS = [
    (1005, 0, Verdict.WORSE),
    (1050, 0, Verdict.WORSE),
    (1105, 10, Verdict.WORSE),
    (2000, 0, Verdict.WORSE),
    (500, 0, Verdict.BETTER),
    (1001, 0, Verdict.AMBIGUOUS),
    (1000, 0, Verdict.NEW),
]


@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 150), st.text(max_size=30) | st.sampled_from(["@" * 400, "&@" * 20, "x" * 900])
)
def test_any_suite_gives_a_comment_that_is_taken(number: int, name: str) -> None:
    """However many cases it has, whatever they are called, and whatever becomes of them."""
    many = [
        difference(1000, new, noise=noise, verdict=verdict, label=f"{name} {place} {kind}")
        for kind, (new, noise, verdict) in enumerate(LEVELS)
        for place in range(number)
    ]
    skipped_by_budget = {key(f"{name} {place}"): "60 s" for place in range(number)}
    whole = attrs.evolve(comparison(*many), skipped_by_budget=skipped_by_budget)
    text = in_markdown(apply_limits(whole, LIMITS))

    assert len(text) <= markdown.LONGEST_COMMENT


def test_what_was_left_out_is_cut_short_in_a_comment() -> None:
    """It can be nearly all."""
    skipped_by_budget = {key(f"case {place}"): "60 s" for place in range(300)}
    whole = attrs.evolve(comparison(CASES[7]), skipped_by_budget=skipped_by_budget)

    assert "\n- … and 200 more\n" in in_markdown(apply_limits(whole))


def test_accepting_tells_old_and_new_counts_with_verdict_and_layer() -> None:
    """What did not change is not shown."""
    old, new = (
        side(cpp("a", outcome=counted(count)), cpp("same", outcome=counted(9)))
        for count in (1000, 1500)
    )
    before = accept(None, old, {}).after
    found = accept(before, new, before.cases)

    assert [
        "  a · C++ · Eager · Forward",
        "     1,000 → 1,500 +500 (+50.00%) · worse · exact difference · +500 kernels",
    ] == [text.plain for text in report.acceptance(found, before)]


def test_what_is_learnt_of_noise_is_reported_too() -> None:
    """The line in the file changes, though the count does not."""
    old, new = (
        side(cpp("a", outcome=counted(count, spread=spread)))
        for count, spread in ((1_000_000, 0), (1_000_400, 9))
    )
    before = accept(None, old, {}).after

    assert (
        "     1,000,000 · keeps its count · its noise is better known"
        == [text.plain for text in report.acceptance(accept(before, new, before.cases), before)][-1]
    )


def test_remarks_name_some_of_what_they_are_about() -> None:
    """And what to do."""
    about = tuple(key(str(number)) for number in range(7))
    texts = [text.plain for text in report.remark(Remark(Doubt.NO_LIMIT, about))]

    assert 8 == len(texts)
    assert "cases without a hard limit: 7" == texts[0]
    assert "  … and 2 more" == texts[-2]


def test_patterns_are_named_as_they_are_written() -> None:
    """Those of limits."""
    texts = [text.plain for text in report.remark(Remark(Doubt.NO_MATCH, (Rule("Nix/*"),)))]

    assert "  Nix/*" == texts[1]
