"""What exceeds a limit: on top of the verdict, and without flickering at the edge."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.domain.effects import NEVER, Effect
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.gate.gate import (
    Level,
    apply_limits,
    check_values,
    exceeded_in,
)
from instruction_counts.gate.limits import Limits, Rule
from tests.builders import comparison, counted, cpp, difference, key

BASE = 10_000
HARD = 100
LIMITS = Limits(Rule(soft=Effect(absolute=20), hard=Effect(absolute=HARD)))
OTHERS = [verdict for verdict in Verdict if verdict is not Verdict.WORSE]


def level(change: int, *, noise: int = 0, limits: Limits = LIMITS, known: bool = False) -> Level:
    """What becomes of a case that got worse by ``change``."""
    compared = difference(BASE, BASE + change, noise=noise)
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
    """Between the limit and the noise above it, it is reported and does not fail."""
    assert expected == level(change, noise=10)


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


@given(st.integers(1, 1000), st.integers(0, 500))
def test_what_was_failing_fails_until_it_is_within_its_limit(change: int, noise: int) -> None:
    """The band is on the way up only."""
    assert (change > HARD) is (level(change, noise=noise, known=True) is Level.FAILS)


@pytest.mark.parametrize("verdict", OTHERS)
def test_only_what_got_worse_exceeds_a_limit(verdict: Verdict) -> None:
    """Wins never fail, and neither does what the comparison does not take for a change."""
    compared = difference(BASE, 2 * BASE, verdict=verdict)

    assert not apply_limits(comparison(compared), LIMITS).fails


@pytest.mark.parametrize(
    ("verdict", "reason", "limits", "expected"),
    [
        (Verdict.NEW, Reason.ONLY_IN_NEW, Limits(), Level.UNGUARDED),
        (Verdict.NEW, Reason.ONLY_IN_NEW, Limits(fail_on_new=True), Level.FAILS),
        (Verdict.MISSING, Reason.ONLY_IN_BASE, Limits(), Level.UNGUARDED),
        (Verdict.MISSING, Reason.ONLY_IN_BASE, Limits(fail_on_missing=True), Level.FAILS),
        (Verdict.INCOMPARABLE, Reason.OUTPUT_DIFFERS, Limits(), Level.FAILS),
        (Verdict.INCOMPARABLE, Reason.OUTPUT_DIFFERS, Limits(fail_on_output=False), Level.SOFT),
        (Verdict.INCOMPARABLE, Reason.DEFINITION_CHANGED, Limits(), Level.UNGUARDED),
        (Verdict.FAILED, Reason.FAILED_IN_NEW, Limits(), Level.UNGUARDED),
    ],
)
def test_what_has_no_two_counts_is_reported(
    verdict: Verdict, reason: Reason, limits: Limits, expected: Level
) -> None:
    """It fails where that is asked for."""
    compared = Difference(key("add"), None, None, verdict, reason)

    assert expected is apply_limits(comparison(compared), limits).findings[0].level


@pytest.mark.parametrize(
    ("outcome", "reason", "failing"),
    [
        (counted(9000), Reason.DEFINITION_CHANGED, Limits(fail_on_new=True)),
        (Outcome(Status.OK), Reason.NOT_COUNTED, Limits(fail_on_missing=True)),
    ],
)
def test_a_case_with_other_code_is_new_and_one_without_a_count_missing(
    outcome: Outcome, reason: Reason, failing: Limits
) -> None:
    """Else any edit would take a case out of the gate."""
    records = [cpp("add", outcome=found) for found in (counted(1000), outcome)]
    compared = comparison(Difference(key("add"), *records, Verdict.INCOMPARABLE, reason))
    every = Limits(), Limits(fail_on_new=True), Limits(fail_on_missing=True)

    assert [Level.FAILS if limits == failing else Level.UNGUARDED for limits in every] == [
        apply_limits(compared, limits).findings[0].level for limits in every
    ]


def test_without_limits_whatever_got_worse_fails_and_with_never_nothing() -> None:
    """By a single instruction, whatever the noise: the verdict has seen to that."""
    assert Level.FAILS is level(1, noise=100, limits=Limits())
    assert Level.WITHIN is level(10**9, limits=Limits(Rule(hard=NEVER)))


# As JSON

HUNDRED = Limits(Rule(hard=Effect(absolute=100)))
CASES = (
    difference(1000, 2000, label="fails"),
    difference(1000, 1050, label="within"),
    Difference(key("other output"), None, None, Verdict.INCOMPARABLE, Reason.OUTPUT_DIFFERS),
)


def test_the_next_check_knows_what_exceeded_a_limit(tmp_path: Path) -> None:
    """And not what failed for another reason."""
    path = tmp_path / "check.json"
    values = check_values(apply_limits(comparison(*CASES), HUNDRED), {})
    path.write_text(json.dumps(values))

    (tmp_path / "check.json.gz").write_bytes(gzip.compress(path.read_bytes()))

    assert {key("fails")} == exceeded_in(path)
    assert {key("fails")} == exceeded_in(tmp_path / "check.json.gz")
    assert frozenset() == exceeded_in(tmp_path / "the first has none.json")


@pytest.mark.parametrize("verdict", OTHERS)
def test_what_was_not_compared_is_handed_on(verdict: Verdict, tmp_path: Path) -> None:
    """Else a crash in between would launder what exceeded its limit; the rest is forgotten."""
    path = tmp_path / "check.json"
    was_compared = verdict in {Verdict.SAME, Verdict.BETTER}
    compared = difference(1000, 1000 if was_compared else 1101, label="a", verdict=verdict)
    gate = apply_limits(comparison(compared), HUNDRED, exceeded_before={compared.key})
    path.write_text(json.dumps(check_values(gate, {})))

    assert (set() if was_compared else {compared.key}) == exceeded_in(path)


def test_all_that_is_shown_is_in_the_file() -> None:
    """Case by case."""
    found = apply_limits(comparison(*CASES), HUNDRED)
    case = check_values(found, {key("fails"): ["+1 kernels"]})["cases"][0]

    assert {
        "language": "c++",
        "runtime": "eager",
        "level": "fails",
        "verdict": "worse",
        "base": 1000,
        "new": 2000,
        "change": 1000,
        "relative": 1.0,
        "causes": ["+1 kernels"],
    }.items() <= case.items()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "check.json:1:2: .*\n.*\n  expected  JSON"),
        ("[]", "expected  a mapping\n.*--previous expects"),
        ("{}", 'expected  a field "check_version"'),
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
