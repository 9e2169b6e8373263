"""JUnit XML: a test case for each case, and failures only where a check fails."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import attrs

from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.effects import Effect
from instruction_counts.gate.gate import FailOn, Gate, apply_limits
from instruction_counts.gate.limits import Limits, Rule
from instruction_counts.report.formats.entry import CheckReport
from instruction_counts.report.formats.junit import check
from tests.gate.fakes import comparison, difference, key

LIMITS = Limits(Rule(soft=Effect(absolute=10), hard=Effect(absolute=100)))
CASES = (
    difference(1000, 2000, label="fails"),
    difference(1000, 1050, label="soft"),
    difference(1000, 1000, verdict=Verdict.SAME, label="same"),
    Difference(key("new"), None, None, Verdict.NEW, Reason.ONLY_IN_NEW),
    Difference(key("broken"), None, None, Verdict.FAILED, Reason.FAILED_IN_NEW),
)


def shown(gate: Gate) -> str:
    """The document for a check; every case has the same cause."""
    causes = (Cause(CauseKind.LAYER, "<kernels>", 1, 10),)
    found = [
        attrs.evolve(finding, difference=attrs.evolve(finding.difference, causes=causes))
        for finding in gate.findings
    ]
    return check(CheckReport(attrs.evolve(gate, findings=tuple(found))))


def parsed(text: str) -> ET.Element:
    """The document that was written."""
    return ET.fromstring(text)  # noqa: S314 - it was written here


def tags(fail_on: FailOn) -> list[tuple[str | None, list[str]]]:
    """What each test case holds."""
    gate = apply_limits(comparison(*CASES), LIMITS, fail_on)
    root = parsed(shown(gate))
    return [
        (element.get("name"), [child.tag for child in element]) for element in root.iter("testcase")
    ]


def test_failures_are_what_exceeds_a_hard_limit() -> None:
    """Soft limits are reported, unguarded cases are skipped, failed ones are errors."""
    assert [
        ("fails · C++ · Eager · Forward", ["failure"]),
        ("soft · C++ · Eager · Forward", ["system-out"]),
        ("same · C++ · Eager · Forward", []),
        ("new · C++ · Eager · Forward", ["skipped"]),
        ("broken · C++ · Eager · Forward", ["error"]),
    ] == tags(FailOn.REGRESSION)


def test_nothing_is_a_failure_where_nothing_is_enforced() -> None:
    """The check passes, and so do its tests."""
    assert [["system-out"], ["system-out"], [], ["skipped"], ["error"]] == [
        found for _, found in tags(FailOn.NEVER)
    ]


def test_the_totals_are_those_of_the_cases() -> None:
    """Systems read them without counting."""
    suite = parsed(shown(apply_limits(comparison(*CASES), LIMITS)))[0]

    assert ["5", "1", "1", "1"] == [
        suite.get(name) for name in ("tests", "failures", "errors", "skipped")
    ]


def test_a_failure_says_what_changed_and_where() -> None:
    """Counts, the limit, the causes."""
    failure = parsed(shown(apply_limits(comparison(*CASES), LIMITS))).find(".//failure")

    assert failure is not None
    assert "1,000 → 2,000 (+1,000): above the hard limit of 100 instructions" == failure.get(
        "message"
    )
    assert "+9 <kernels>" == failure.text
