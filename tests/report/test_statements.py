"""Statements as people read them, and as JSON."""

import json

import attrs

from instruction_counts.analysis.verdicts.comparison import beside
from instruction_counts.core.types import AutogradMode, Language
from instruction_counts.domain.outcomes import Outcome, Status, Times
from instruction_counts.domain.records import Record
from instruction_counts.report.document import Document
from instruction_counts.report.renderers import renderer_named, terminal
from instruction_counts.report.statements import statements_document
from tests.builders import counted
from tests.fakes import failed, make_record, make_run

ADD = make_record(
    "x + y",
    outcome=counted(
        *(1000, {"kernels": 900, "tensor": 100}),
        times_s=[2e-6, 2e-6, 2.4e-6],
        metrics={"allocations": 3, "bytecodes": 5, "operator_calls": 1},
    ),
)
CALL = make_record(
    "torch.add(x, y)",
    outcome=counted(
        *(1250, {"kernels": 1150, "tensor": 100}),
        times_s=[4e-6] * 10,
        metrics={"allocations": 3, "bytecodes": 8},
    ),
)
FAILED = make_record("x + q", outcome=failed())


def document(*records: Record) -> Document:
    """Statements that were measured together."""
    return statements_document(beside(records), make_run(*records))


def shown(*records: Record) -> list[str]:
    """The lines of a terminal of 80 columns."""
    return terminal.render(document(*records), 80, None).splitlines()


def test_one_statement_is_shown_with_where_it_spends_most() -> None:
    """Below what is known of it."""
    assert (
        """\
torch 2.13.0+cpu · Python 3.11.7 · timer

       instr  allocs  bytecodes  operators  time
x + y  1,000       3          5          1  2 us  ±10%

most in            instructions  share
  at::native::add           900  90.0%  kernels
  at::empty                 100  10.0%  tensor

Instructions per iteration (~: inexact), median time ± interquartile range
""".splitlines()
        == shown(ADD)
    )


def test_several_statements_stand_beside_each_other() -> None:
    """Each with its change from the first, and what caused it."""
    slow = attrs.evolve(ADD, outcome=attrs.evolve(ADD.outcome, times=Times.of([2e-6] * 10, 1)))

    assert [
        "                 instr  change        %  allocs  bytecodes  operators  time",
        "x + y            1,000                        3          5          1  2 us  ±0%",
        "torch.add(x, y)  1,250    +250  +25.00%       3          8             4 us  ±0%",
        "    why  +250 at::native::add; time +100.00%",
    ] == shown(slow, CALL)[2:6]


def test_what_is_not_known_has_no_column() -> None:
    """Times without counts, and counts without times."""
    timed = attrs.evolve(ADD, outcome=Outcome(Status.OK, times=ADD.outcome.times))
    untimed = attrs.evolve(ADD, outcome=attrs.evolve(ADD.outcome, times=None))

    assert ["time"] == shown(timed)[2].split()
    assert "time" not in shown(untimed)[2]


def test_modes_are_named_where_they_differ() -> None:
    """Twins of one statement have the same label."""
    twin = attrs.evolve(ADD, language=Language.CPP)
    backward = attrs.evolve(ADD, autograd=AutogradMode.FORWARD_BACKWARD, num_threads=2)
    names = [document(ADD, other).tables[0].column("statement") for other in (twin, backward)]

    assert [
        ("x + y · Python", "x + y · C++"),
        ("x + y · Forward · 1 thread", "x + y · Forward + Backward · 2 threads"),
    ] == names


def test_what_failed_is_said() -> None:
    """In the table, and in a line of its own; alone it has nothing else."""
    line = "failed  x + q · Python: ValueError: bad   (stmt line 1: x + y)"

    assert any(found.split()[:4] == ["x", "+", "q", "failed"] for found in shown(ADD, FAILED))
    assert [line] == shown(FAILED)[2:]


def test_json_holds_all_that_is_known() -> None:
    """Of each statement, and of the build."""
    found = json.loads(str(renderer_named("json").render(document(ADD, CALL, FAILED))))
    first, second, third = found["statements"]

    assert 1 == found["time_version"]
    assert "2.13.0+cpu" == found["builds"]["default"]["fingerprint"]["torch"]
    assert {
        "label": ["x + y"],
        "language": "python",
        "stmt": "x + y",
        "instructions": 1000,
        "metrics": {"allocations": 3, "bytecodes": 5, "operator_calls": 1},
        "difference": None,
    }.items() <= first.items()
    assert ["at::native::add", "at::empty"] == [place["function"] for place in first["most_in"]]
    assert {"change": 250, "relative": 0.25, "causes": ["+250 at::native::add"]}.items() <= (
        second["difference"].items()
    )
    assert {"status": "failed", "instructions": None}.items() <= third.items()
    assert "exception" == third["failure"]["kind"]
