"""JUnit XML, which CI systems show test by test: what the limits make of a comparison."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from core.types import CaseKey
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.gate.gate import Finding, Level
from instruction_counts.report import comparison as shared
from instruction_counts.report.causes import texts
from instruction_counts.report.formats.entry import CheckReport, Format

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, in whatever spelling."""


def check(report: CheckReport) -> str:
    """One test case for each case: a failure where it fails the check, an error where it failed.

    Where nothing was compared, that is an error, too.
    """
    gate = report.gate
    children = [_test_case(finding, report) for finding in gate.findings]
    children += [_skipped(key, budget) for key, budget in gate.comparison.skipped_by_budget.items()]
    if not gate.compares:
        children.append(_nothing())
    kinds = Counter(child.tag for element in children for child in element)
    suite = ET.Element(
        "testsuite",
        name="instruction-counts",
        tests=str(len(children)),
        failures=str(kinds["failure"]),
        errors=str(kinds["error"]),
        skipped=str(kinds["skipped"]),
        time="0",
    )
    suite.extend(children)
    if said := shared.skipped_sentence(gate.comparison):
        ET.SubElement(suite, "system-out").text = _clean(said)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root, " ")
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _test_case(finding: Finding, report: CheckReport) -> ET.Element:
    difference = finding.difference
    element = _element(difference.key)
    if difference.verdict is Verdict.FAILED:
        _add(element, "error", shared.reason_of(difference), ())
    elif finding.level is Level.FAILS and report.gate.enforced:
        _add(element, "failure", f"{_figures(difference)}{finding.why}", texts(difference.causes))
    elif finding.level is Level.UNGUARDED:
        skipped = difference.reason is Reason.SKIPPED
        _add(element, "skipped", shared.reason_of(difference) if skipped else finding.why, ())
    elif finding.why:
        output = ET.SubElement(element, "system-out")
        output.text = _clean(f"{_figures(difference)}{finding.why}")
    return element


def _nothing() -> ET.Element:
    """A test case of its own: where all others are skipped, systems show what passed."""
    element = ET.Element("testcase", classname="instruction-counts", name="comparison", time="0")
    _add(element, "error", "nothing was compared", ())
    return element


def _skipped(key: CaseKey, budget: str) -> ET.Element:
    element = _element(key)
    _add(element, "skipped", f"time budget of {budget}", ())
    return element


def _element(key: CaseKey) -> ET.Element:
    place = ".".join(["instruction-counts", *key.label[:-1]])
    element = ET.Element("testcase", classname=_clean(place), name=_clean(shared.title_of(key)))
    element.set("time", "0")
    return element


def _figures(difference: Difference) -> str:
    if difference.base_count is None or difference.new_count is None or difference.change is None:
        return ""
    return f"{difference.base_count:,} → {difference.new_count:,} ({difference.change:+,}): "


def _add(element: ET.Element, tag: str, message: str, details: Iterable[str]) -> None:
    child = ET.SubElement(element, tag, message=_clean(message))
    child.text = _clean("\n".join(details)) or None


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


FORMAT = Format("junit", (".xml",), {CheckReport: check})
