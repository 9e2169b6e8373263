"""Cases as they are defined."""

import attrs
import pytest

from instruction_counts.core.api import GroupedOnce
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Language
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.report.cases import about_cuda, code_document, details, list_document
from instruction_counts.report.document import Block, Table
from instruction_counts.report.renderers import terminal
from tests.builders import counted, cpp, difference
from tests.fakes import make_case
from tests.report.rendered import as_json, screen

CASES = (make_case("Group", "add"), make_case("Group", "add", language=Language.CPP))


def test_cases_are_listed_as_they_are_selected() -> None:
    """Programs get identity and code, with the keys that result files have."""
    document = list_document(CASES)
    first, _ = as_json(document)

    assert ["Group/add", "Group/add · C++"] == screen(document)
    assert ["Group", "add"] == first["label"]
    assert CASES[0].definition_hash == first["definition_hash"]
    assert CASES[0].timer_args.stmt == first["stmt"]


def test_the_code_of_a_case_says_that_it_runs_once() -> None:
    """And what its process has imported; of a warm loop neither is said."""
    once = materialize({("import",): GroupedOnce("import torch", imports=())})
    warm, first = (terminal.render(code_document(cases)) for cases in (CASES, once))

    assert "counted\n    once\n  imported before\n    nothing\n" in first
    assert "counted" not in warm


def test_a_compared_case_unfolds_to_figures_and_code() -> None:
    """Both codes, where they differ."""
    same = difference(5, 6)
    assert same.new is not None
    edited = attrs.evolve(same, new=attrs.evolve(same.new, stmt="x - y"))
    titles = [
        [part.title for part in details(found) if isinstance(part, Block)]
        for found in (same, edited)
    ]
    (figures,) = (part for part in details(same) if isinstance(part, Table))

    assert [["Code"], ["Code in base", "Code in new"]] == titles
    assert ["windows (instructions / iterations)", "5 / 1", "6 / 1"] == [
        cell.value for cell in figures.rows[0].cells
    ]


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (counted(1000), []),
        # Also of what launches nothing.
        (counted(1000, metrics={"launches": 0}), ["No kernel runs"]),
        (counted(1000, metrics={"launches": 1}, times_s=[2e-6]), ["Times are of a GPU"]),
    ],
)
def test_a_line_says_what_is_counted_on_cuda(outcome: Outcome, expected: list[str]) -> None:
    """And whose times there are; none where no case is on it."""
    record = cpp("add", outcome=outcome)
    pairs = zip(expected, about_cuda([None, record, record]), strict=True)

    assert all(said in line.text for said, line in pairs)
