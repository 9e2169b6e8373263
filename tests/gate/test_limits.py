"""Limits: which one holds, what a file may say, and what exceeds one without flickering."""

import itertools
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.domain.effects import NEVER, Effect
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.outcomes import EstimatedCycles, Outcome, Status
from instruction_counts.gate.limits import (
    Allowed,
    FailOn,
    Level,
    Limits,
    apply_limits,
    exceeded_in,
    read_limits,
)
from instruction_counts.report.gate import check_document
from instruction_counts.report.renderers import json as json_renderer
from tests.builders import comparison, counted, cpp, difference, key
from tests.fakes import paired_times

FILE = """\
default: {soft: 0.1%, hard: "0.5%,100"}
limits:
  - {only: "MatMul/*", hard: 10%}
  - {only: "*/mm", language: python, hard: 7}
  - {only: "*/mm", language: c++, soft: 20}
fail_on_added: true
"""


def read(text: str, folder: Path) -> Limits:
    """The limits in a file of that text."""
    path = folder / "limits.yaml"
    path.write_text(text)
    return read_limits(path)


def test_the_last_rule_that_matches_holds(tmp_path: Path) -> None:
    """What it leaves out comes from the default, not from the rules before it."""
    limits = read(FILE, tmp_path)

    # Of another language or label it is an earlier rule, or the default.
    assert [
        (Effect(absolute=20), Effect(0.005, 100)),
        (Effect(0.001), Effect(0.1)),
        (Effect(0.001), Effect(0.005, 100)),
    ] == [limits.allowed(key(*label)) for label in (("MatMul", "mm"), ("MatMul", "bmm"), ("add",))]
    assert (True, False, True) == (
        *(limits.fail_on_added, limits.fail_on_missing),
        limits.fail_on_output,
    )
    assert (None, None) == read("{}", tmp_path).allowed(key("add"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default: {hard: 0.5}", "1:17: $.default.hard\n  found     0.5 (float)"),
        (
            "default: {only: add}",
            '$.default.only\n  found     a field "only"\n  expected  one of soft, hard',
        ),
        (
            "default: {soft: 5%, hard: 0.5%}",
            "$.default.soft\n  found     5%\n  expected  at most the hard limit, 0.5%",
        ),
        ('limits: [{soft: "1%,20", hard: "1%,10"}]', "$.limits[0].soft\n  found     1% and 20 ins"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    """File, key, what was expected and found, and an example."""
    with pytest.raises(DataError) as caught:
        read(text, tmp_path)

    assert "limits.yaml" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "default: {soft: 0.5%, hard: 0.5%}",
        "default: {soft: never, hard: 0.5%}",
        "default: {soft: 20, hard: 0.5%}",
        "default: {soft: 0.1%}\nlimits: [{only: a, hard: 0}]",
    ],
)
def test_limits_that_may_make_sense_are_taken(text: str, tmp_path: Path) -> None:
    """Which of two is the larger one depends on the count; a default stands back."""
    assert read(text, tmp_path).allowed(key("a"))[1] in {Effect(0.005), Effect()}


def test_the_limits_of_the_documentation_are_limits(tmp_path: Path) -> None:
    """As they stand there."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "ci.md").read_text()
    found = read(text.partition("```yaml\n")[2].partition("```")[0], tmp_path)

    assert Allowed(Effect(0.001), Effect(0.005)) == found.default
    assert 2 == len(found.limits)


# What exceeds a limit

BASE = 10_000
HARD = 100
LIMITS = Limits(Allowed(soft=Effect(absolute=20), hard=Effect(absolute=HARD)))


def level(
    change: int, *, noise: int = 0, limits: Limits = LIMITS, known: bool = False, **fields: Any
) -> Level:
    """What becomes of a case that got worse by ``change``."""
    compared = attrs.evolve(difference(BASE, BASE + change, noise=noise), **fields)
    before = frozenset([compared.key] if known else [])
    return apply_limits(comparison(compared), limits, exceeded_before=before).findings[0].level


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (20, Level.WITHIN),
        (21, Level.SOFT),
        (100, Level.SOFT),
        (101, Level.EDGE),
        (110, Level.EDGE),
        (111, Level.FAILS),
    ],
)
def test_a_hard_limit_is_exceeded_beyond_the_noise(change: int, expected: Level) -> None:
    """Between the limit and the noise above it, it is reported and does not fail.

    What was failing fails until it is within its limit: the band is on the way up only.
    """
    assert expected is level(change, noise=10)
    assert (change > HARD) is (level(change, noise=10, known=True) is Level.FAILS)


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict.AMBIGUOUS, Reason.NOT_VERIFIED),
        (Verdict.SAME, Reason.WITHIN_NOISE),
    ],
)
def test_what_failed_fails_where_it_may_be_noise(verdict: Verdict, reason: Reason) -> None:
    """Where a limit is smaller than the noise, a case would fail now and then."""
    assert [Level.FINE, Level.FINE, Level.FINE, Level.FAILS] == [
        level(change, noise=300, known=known, verdict=verdict, reason=reason)
        for known, change in itertools.product((False, True), (HARD, HARD + 1))
    ]


@given(st.integers(0, 300), st.lists(st.fractions(0, 1), min_size=1, max_size=30), st.data())
def test_repeated_checks_do_not_flicker(
    noise: int, wobble: list[float], data: st.DataObject
) -> None:
    """Counts that wobble within the noise change the verdict once at most, and then for good."""
    lowest = data.draw(st.integers(1, 600))
    known, verdicts = False, []
    for share in wobble:
        known = level(lowest + int(noise * share), noise=noise, known=known) is Level.FAILS
        verdicts.append(known)

    assert [verdict for verdict, _ in itertools.groupby(verdicts)] in (
        [True],
        [False],
        [False, True],
    )


DIFFERS = difference(BASE, 9000, verdict=Verdict.INCOMPARABLE)
OTHER_CODE = attrs.evolve(DIFFERS, reason=Reason.DEFINITION_CHANGED)
NOT_COUNTED = attrs.evolve(
    *(DIFFERS,), new=cpp("add", outcome=Outcome(Status.OK)), reason=Reason.NOT_COUNTED
)
OTHER_OUTPUT = attrs.evolve(DIFFERS, reason=Reason.OUTPUT_DIFFERS)
FAILED = attrs.evolve(NOT_COUNTED, verdict=Verdict.FAILED, reason=Reason.FAILED_IN_NEW)
ADDED = Difference(key("add"), None, None, Verdict.ADDED, Reason.ONLY_IN_NEW)
MISSING = attrs.evolve(ADDED, verdict=Verdict.MISSING, reason=Reason.ONLY_IN_BASE)


@pytest.mark.parametrize(
    ("compared", "by_default", "failing"),
    [
        (ADDED, Level.UNGUARDED, {"fail_on_added"}),
        (MISSING, Level.UNGUARDED, {"fail_on_missing"}),
        # Else any edit would take a case out of the gate.
        (OTHER_CODE, Level.UNGUARDED, {"fail_on_added"}),
        (NOT_COUNTED, Level.UNGUARDED, {"fail_on_missing"}),
        (OTHER_OUTPUT, Level.SOFT, {"fail_on_output"}),
        (FAILED, Level.UNGUARDED, set()),
    ],
)
def test_what_has_no_two_counts_is_reported(
    compared: Difference, by_default: Level, failing: set[str]
) -> None:
    """It fails where that is asked for, as it is of outputs unless they are exempted."""
    assert Limits().fail_on_output
    for name in ("fail_on_added", "fail_on_missing", "fail_on_output"):
        limits = Limits(**{"fail_on_output": False, name: True})
        expected = Level.FAILS if name in failing else by_default
        assert expected is apply_limits(comparison(compared), limits).findings[0].level


def test_without_limits_whatever_got_worse_fails_and_with_never_nothing() -> None:
    """By a single instruction, whatever the noise: the verdict has seen to that."""
    assert Level.FAILS is level(1, noise=100, limits=Limits())
    assert Level.WITHIN is level(10**9, limits=Limits(Allowed(hard=NEVER)))


# As JSON

HUNDRED = Limits(Allowed(hard=Effect(absolute=100)))


def test_the_next_check_knows_what_exceeded_a_limit(tmp_path: Path) -> None:
    """And not what failed for another reason."""
    path = tmp_path / "check.json"
    cases = (difference(1000, 2000, label="fails"), difference(1000, 1050, label="within"))
    document = check_document(apply_limits(comparison(*cases, OTHER_OUTPUT), HUNDRED))
    path.write_text(json_renderer.render(document))

    assert {key("fails")} == exceeded_in(path)
    assert frozenset() == exceeded_in(tmp_path / "the first has none.json")


@pytest.mark.parametrize(
    "verdict", [verdict for verdict in Verdict if verdict is not Verdict.WORSE]
)
def test_what_was_not_compared_is_handed_on(verdict: Verdict, tmp_path: Path) -> None:
    """Else a crash in between would launder what exceeded its limit; the rest is forgotten."""
    path = tmp_path / "check.json"
    was_compared = verdict in {Verdict.SAME, Verdict.BETTER}
    compared = difference(1000, 1000 if was_compared else 1101, label="a", verdict=verdict)
    gate = apply_limits(comparison(compared), HUNDRED, exceeded_before={compared.key})
    path.write_text(json_renderer.render(check_document(gate)))

    assert (set() if was_compared else {compared.key}) == exceeded_in(path)


def test_what_was_not_selected_is_handed_on(tmp_path: Path) -> None:
    """A check of a few cases in between says nothing of the others."""
    path = tmp_path / "check.json"
    gate = apply_limits(
        comparison(difference(1000, 1000, label="a")), HUNDRED, exceeded_before={key("b")}
    )
    path.write_text(json_renderer.render(check_document(gate)))

    assert {key("b")} == exceeded_in(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected  a mapping\n.*--previous expects"),
        ('{"check_version": 2}', "found     2 .*\n  expected  1, the only supported version"),
        ('{"check_version": 1}', 'expected  a field "cases"'),
        ('{"check_version": 1, "cases": [{}]}', '.cases.0.\n.*\n  expected  a field "label"'),
    ],
)
def test_a_file_that_is_no_check_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """A damaged state does not pass for an empty one."""
    path = tmp_path / "check.json"
    path.write_text(text)

    with pytest.raises(DataError, match=message):
        exceeded_in(path)


def timed(ratio: float) -> Difference:
    """A case of the same count whose times in turns have this ratio."""
    paired = attrs.evolve(paired_times((ratio,) * 5), base="default", new="default")
    outcome = counted(BASE, times_s=(1e-6,), paired=paired)
    return difference(outcome, outcome, verdict=Verdict.SAME)


def estimated(cycles: int) -> Difference:
    """A case of the same count that had 1,000 estimated cycles, and has so many."""
    base, new = (counted(BASE, cycles=EstimatedCycles("a", (each,) * 3)) for each in (1000, cycles))
    return difference(base, new, verdict=Verdict.SAME)


@pytest.mark.parametrize(
    ("fail_on", "compared", "expected"),
    [
        (FailOn.SLOWER, timed(1.05), Level.FAILS),
        (FailOn.SLOWER, timed(0.95), Level.FINE),
        (FailOn.REGRESSION, timed(1.05), Level.FINE),
        (FailOn.ANY, timed(1.05), Level.FINE),
        (FailOn.CYCLES, estimated(1100), Level.FAILS),
        (FailOn.CYCLES, estimated(900), Level.FINE),
        (FailOn.REGRESSION, estimated(1100), Level.FINE),
        (FailOn.SLOWER, estimated(1100), Level.FINE),
    ],
)
def test_what_is_slower_or_has_more_cycles_fails_where_that_is_asked_for(
    fail_on: FailOn, compared: Difference, expected: Level
) -> None:
    """Never by default: times are times of one machine, and cycles an estimate."""
    gate = apply_limits(comparison(compared), None, fail_on)

    assert [expected] == [finding.level for finding in gate.findings]


COUNTED = counted(BASE, times_s=(1e-6,))
TIMED = attrs.evolve(COUNTED, instructions=None)


@pytest.mark.parametrize(
    ("compared", "reason", "expected"),
    [
        (difference(COUNTED, COUNTED), Reason.DEFINITION_CHANGED, False),
        (difference(COUNTED, COUNTED), Reason.FINGERPRINT_DIFFERS, False),
        (difference(COUNTED, COUNTED), Reason.OUTPUT_DIFFERS, True),
        (difference(TIMED, TIMED), Reason.NOT_COUNTED, True),
        (difference(COUNTED, TIMED), Reason.NOT_COUNTED, False),
        # Times in turns and cycles have verdicts of their own, where counts have none, too.
        (timed(1), Reason.EXACT_DIFFERENCE, True),
        (estimated(9), Reason.EXACT_DIFFERENCE, True),
    ],
)
def test_times_that_have_no_verdict_compare_only_where_nothing_was_to_be_counted(
    compared: Difference, reason: Reason, *, expected: bool
) -> None:
    """Elsewhere counts were, and what prevents that would pass; an output is compared itself."""
    found = attrs.evolve(compared, verdict=Verdict.INCOMPARABLE, reason=reason)

    assert expected is apply_limits(comparison(found)).compares
