"""A check as JSON, and what the next one takes from it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import DataError
from instruction_counts.gate.checks import check_values, read_previous
from instruction_counts.gate.gate import apply_limits
from instruction_counts.gate.limits import Limits, Rule
from tests.builders import comparison, difference, key

LIMITS = Limits(Rule(hard=Effect(absolute=100)))
CASES = (
    difference(1000, 2000, label="fails"),
    difference(1000, 1050, label="within"),
    Difference(key("other output"), None, None, Verdict.INCOMPARABLE, Reason.OUTPUT_DIFFERS),
)


def test_the_next_check_knows_what_exceeded_a_limit(tmp_path: Path) -> None:
    """And not what failed for another reason."""
    path = tmp_path / "check.json"
    values = check_values(apply_limits(comparison(*CASES), LIMITS), {})
    path.write_text(json.dumps(values))

    (tmp_path / "check.json.gz").write_bytes(gzip.compress(path.read_bytes()))

    assert {key("fails")} == read_previous(path).exceeded
    assert {key("fails")} == read_previous(tmp_path / "check.json.gz").exceeded
    assert frozenset() == read_previous(tmp_path / "the first has none.json").exceeded


@pytest.mark.parametrize(
    "verdict", [verdict for verdict in Verdict if verdict is not Verdict.WORSE]
)
def test_what_was_not_compared_is_handed_on(verdict: Verdict, tmp_path: Path) -> None:
    """Else a crash in between would launder what exceeded its limit; the rest is forgotten."""
    path = tmp_path / "check.json"
    was_compared = verdict in {Verdict.SAME, Verdict.BETTER}
    compared = difference(1000, 1000 if was_compared else 1101, label="a", verdict=verdict)
    gate = apply_limits(comparison(compared), LIMITS, exceeded_before={compared.key})
    path.write_text(json.dumps(check_values(gate, {})))

    assert (set() if was_compared else {compared.key}) == read_previous(path).exceeded


def test_all_that_is_shown_is_in_the_file() -> None:
    """Case by case."""
    found = apply_limits(comparison(*CASES), LIMITS)
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
        read_previous(path)
