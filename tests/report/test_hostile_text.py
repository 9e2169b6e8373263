"""Text from outside, in every format: no label, message or name is taken for anything else."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.verdicts.comparison import Comparison, compare
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.outcomes import (
    FailureKind,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Outcome,
    Status,
    Window,
)
from instruction_counts.domain.records import Record, Run
from instruction_counts.gate.gate import apply_limits
from instruction_counts.report.comparison import head, lines, sections
from instruction_counts.report.explain import Explanation, Report
from instruction_counts.report.formats.entry import CheckReport, ComparisonReport
from instruction_counts.report.registry import Destination, render
from instruction_counts.report.table import results
from instruction_counts.report.terminal import TerminalConsole
from tests.fakes import FINGERPRINT, failed, make_record, make_run

pytestmark = pytest.mark.faults

HOSTILE = [
    "| a | b |",
    "</td><script>alert(1)</script>",
    "`x` **y** [z](https://evil.example)",
    "@everyone #1 GH-2",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m\u202eabc\u2066",
    "]]><!-- --> &amp; &lt;",
    "a\r\nb\n\n# c",
    '=cmd|"/c calc"!A1',
    "\x00\ufffe\ud800",
    "[red]bold[/]",
]
TEXTS = st.sampled_from(HOSTILE) | st.text(min_size=1)


def counted(per_run: int, name: str) -> Outcome:
    """A count whose instructions are all of one function."""
    functions = FunctionCosts(1, (FunctionCost(name, "", name, per_run),))
    count = Instructions(per_run, exact=True, windows=(Window(1, per_run),), varying=(name,))
    return Outcome(Status.OK, count, functions=functions)


def a_run(text: str) -> Run:
    """A run that says ``text`` wherever it can, twice: of a case that was counted and one not."""
    failure = failed(FailureKind.EXCEPTION, message=text)
    run = make_run(
        make_record(text, text, outcome=counted(1000, text)),
        make_record(text, "failed", outcome=failure),
    )
    build = attrs.evolve(FINGERPRINT, cpu=text, torch=text)
    return attrs.evolve(run, builds=dict.fromkeys(run.builds, build))


def a_side(text: str, per_run: int) -> Side:
    """One side of the same, with a title of that text."""
    records: list[Record] = [
        make_record(text, text, outcome=counted(per_run, text)),
        make_record(text, "failed", outcome=failed(FailureKind.EXCEPTION, message=text)),
    ]
    fingerprint = attrs.evolve(FINGERPRINT, cpu=text, torch=text)
    return Side(text, "fork", fingerprint, {record.key: record for record in records})


def a_comparison(text: str) -> Comparison:
    """Two sides, of which the new one is worse."""
    return compare(a_side(text, 1000), a_side(text, 2000))


def reports(text: str) -> list[Any]:
    """Everything that can be written to a file."""
    found = a_comparison(text)
    causes = (
        Cause(CauseKind.PYTHON, text, 1, 2, where=text, line=1),
        Cause(CauseKind.OPERATOR, text, 1, 2),
        Cause(CauseKind.LAYER, text, 1, 2),
    )
    differences = tuple(attrs.evolve(difference, causes=causes) for difference in found.differences)
    found = attrs.evolve(found, differences=differences)
    base, new = found.base, found.new
    key = next(iter(base.records))
    functions = [side.records[key].outcome.functions for side in (base, new)]
    explained = Explanation(key, base, new, difference(*functions))
    return [
        a_run(text),
        ComparisonReport(found),
        CheckReport(apply_limits(found)),
        Report(explained),
    ]


def text_of(content: Any) -> str:
    """The whole content."""
    return content if isinstance(content, str) else "".join(content)


@given(TEXTS)
def test_no_text_breaks_a_table_of_markdown(text: str) -> None:
    """Every line of a table has as many cells as its heading."""
    for report in reports(text):
        shown = text_of(render("markdown", report))
        tables = re.findall(r"(?:^\|.*\n)+", shown, flags=re.MULTILINE)
        assert tables
        for table in tables:
            assert 1 == len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()})


@given(TEXTS)
def test_no_text_is_markup_in_markdown(text: str) -> None:
    """No HTML, link, mention or code but our own; nothing that a terminal would obey."""
    for report in reports(text):
        shown = text_of(render("markdown", report))
        own = r"</?(?:details|summary|code)>|<!-- -->"
        assert "<" not in re.sub(own, "", shown)
        assert not re.search(r"://|[@#](?!<!-- -->|#| [A-Z])", shown)
        assert shown.replace("\n", "").isprintable()


@given(TEXTS)
def test_junit_is_a_document_whatever_is_in_it(text: str) -> None:
    """With one test case for each case."""
    _, _, check, _ = reports(text)
    root = ET.fromstring(text_of(render("junit", check)))  # noqa: S314 - it was written here

    assert len(check.gate.findings) == len(list(root.iter("testcase")))


@example("\n")
@example("\r")
@example('a,"b"\r\n')
@given(TEXTS)
def test_csv_gives_labels_back_as_they_are(text: str) -> None:
    """A cell is a cell, whatever it holds."""
    run, comparison, *_ = reports(text)
    for report in (run, comparison):
        stream = io.StringIO(text_of(render("csv", report)), newline="")
        labels = [row["label"] for row in csv.DictReader(stream)]
        assert [f"{text}/{text}", f"{text}/failed"] == labels


@given(TEXTS)
def test_json_gives_labels_back_as_they_are(text: str) -> None:
    """In plain ASCII."""
    _, comparison, check, explanation = reports(text)
    for report in (comparison, check):
        shown = text_of(render("json", report))
        assert shown.isascii()
        assert [text, text] == json.loads(shown)["cases"][0]["label"]
    assert [text, text] == json.loads(text_of(render("json", explanation)))["label"]


@given(TEXTS)
def test_a_terminal_obeys_no_text(text: str) -> None:
    """Control characters are spelled out, wherever they stand."""
    stream = io.StringIO()
    console = TerminalConsole(file=stream, width=100, emoji=False)
    found = a_comparison(text)
    shown = [results(a_run(text)), *head(found)]
    shown += [
        line
        for part in sections(found)
        for difference in part.differences
        for line in lines(difference)
    ]
    shown.append(reports(text)[3])
    for renderable in shown:
        console.print(renderable, highlight=False)
    console.print(text, markup=False, highlight=False)

    assert stream.getvalue().replace("\n", "").replace("\t", "").isprintable()


@pytest.mark.parametrize("name", ["r.md", "r.csv", "r.json", "r.json.gz"])
@pytest.mark.parametrize("text", HOSTILE)
def test_any_run_can_be_written(text: str, name: str, tmp_path_factory: Any) -> None:
    """Also one with a label that no encoding knows."""
    path = tmp_path_factory.mktemp("run") / name
    Destination.of(path, Run).write(a_run(text))

    assert path.stat().st_size > 0
