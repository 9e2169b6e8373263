"""Limits: which one holds for a case, and what a file may say."""

from pathlib import Path

import pytest

from instruction_counts.domain.effects import NEVER, Effect
from instruction_counts.domain.errors import DataError
from instruction_counts.gate.limits import Allowed, Limits, Rule, read_limits
from tests.builders import key

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
        ("default: {hard: -1}", "$.default.hard\n  found     -1 (int)"),
        ("default: {hard: true}", "$.default.hard\n  found     True (bool)"),
        (
            "limits: [{only: a},\n{language: rust}]",
            '2:12: $.limits[1].language\n  found     "rust"\n  expected  one of python, c++',
        ),
        (
            "default: {only: add}",
            '$.default.only\n  found     a field "only"\n  expected  one of soft, hard',
        ),
        (
            "default: {soft: 5%, hard: 0.5%}",
            "$.default.soft\n  found     5%\n  expected  at most the hard limit, 0.5%",
        ),
        ('limits: [{soft: "1%,20", hard: "1%,10"}]', "$.limits[0].soft\n  found     1% and 20 ins"),
        (f"default: {{hard: 1{'0' * 400}}}", "$.default.hard"),
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


def test_a_rule_that_matches_no_case_is_known() -> None:
    """It is a typing mistake, or of a case that is gone."""
    used, mistyped = Rule(only="Group/*", hard=NEVER), Rule(only="Grupp/*", hard=NEVER)

    assert (mistyped,) == Limits(limits=(used, mistyped)).unused([key("Group", "add")])
