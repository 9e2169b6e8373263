"""Documents as JUnit XML, which CI systems show test by test."""

import re
from collections import Counter
from xml.etree import ElementTree as ET

from instruction_counts.report.document import CaseTest, Document, Role
from instruction_counts.system.program import PROGRAM

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, in whatever spelling."""


def render(document: Document) -> str:
    """One test case for each test of the document: failed, in error, skipped, or passed."""
    tests = document.tests or ()
    outcomes = Counter(test.outcome for test in tests)
    suite = ET.Element(
        "testsuite",
        name=PROGRAM,
        tests=str(len(tests)),
        failures=str(outcomes["failure"]),
        errors=str(outcomes["error"]),
        skipped=str(outcomes["skipped"]),
        time="0",
    )
    suite.extend(map(_case, tests))
    said = "\n".join(line.text for line in document.notes if line.role is Role.WARNING)
    if said:
        ET.SubElement(suite, "system-out").text = _clean(said)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root, " ")
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(test: CaseTest) -> ET.Element:
    named = {"classname": _clean(test.suite), "name": _clean(test.name)}
    element = ET.Element("testcase", named, time="0")
    if test.outcome:
        child = ET.SubElement(element, test.outcome, message=_clean(test.message))
        child.text = _clean(test.details) or None
    elif test.details:
        ET.SubElement(element, "system-out").text = _clean(test.details)
    return element


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
