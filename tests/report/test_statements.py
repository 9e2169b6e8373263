"""Statements as people read them, and as JSON."""

from __future__ import annotations

import io
import json
from typing import Any

import attrs
from rich.console import Console

from core.types import AutogradMode, Language
from instruction_counts.analysis.verdicts.statements import beside
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import Outcome, Times
from instruction_counts.domain.records import Record
from instruction_counts.report.registry import names_for, render
from instruction_counts.report.statements import StatementsReport
from tests.builders import counted
from tests.fakes import failed, make_record, make_run


def outcome(
    count: int, seconds: float = 2e-6, layers: dict[str, int] | None = None, **metrics: int
) -> Outcome:
    """An outcome with all that is shown."""
    return attrs.evolve(
        counted(count, layers),
        times=Times.of([seconds, seconds, 1.2 * seconds], 100),
        metrics=Amounts(metrics),
    )


ADD = make_record(
    "x + y",
    outcome=outcome(
        1000, layers={"kernels": 900, "tensor": 100}, allocations=3, bytecodes=5, operator_calls=1
    ),
)
CALL = make_record(
    "torch.add(x, y)",
    stmt="torch.add(x, y)",
    outcome=outcome(1250, 4e-6, {"kernels": 1150, "tensor": 100}, allocations=3, bytecodes=8),
)
FAILED = make_record("x + q", outcome=failed())


def report(*records: Record) -> StatementsReport:
    """The report on statements that were measured together."""
    return StatementsReport(beside(records), make_run(*records))


def shown(*records: Record, width: int = 80) -> list[str]:
    """The lines in a pipe, without the spaces that align them."""
    stream = io.StringIO()
    Console(file=stream, width=width).print(report(*records))
    lines = stream.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    return [" ".join(line.split()) for line in lines if line.strip()]


def test_one_statement_is_shown_with_where_it_spends_most() -> None:
    """Below what is known of it."""
    assert [
        "x + y · Python · Eager · Forward",
        "instructions 1,000",
        "time 2 us ±10%",
        "allocation calls 3",
        "bytecodes 5",
        "operator calls 1",
        "most in instructions share",
        "at::native::add 900 90.0% kernels",
        "at::empty 100 10.0% tensor",
    ] == shown(ADD)


def test_what_is_not_known_has_no_line() -> None:
    """Times without counts, and counts without times."""
    timed = attrs.evolve(ADD.outcome, instructions=None, functions=None, metrics=Amounts())
    untimed = attrs.evolve(ADD.outcome, times=None)

    assert ["x + y · Python · Eager · Forward", "time 2 us ±10%"] == shown(
        attrs.evolve(ADD, outcome=timed)
    )
    assert "time" not in " ".join(shown(attrs.evolve(ADD, outcome=untimed)))
    assert ["time", "x + y 2 us ±10%", "torch.add(x, y) 2 us ±10%"] == shown(
        attrs.evolve(ADD, outcome=timed), attrs.evolve(CALL, outcome=timed)
    )[:3]


def test_several_statements_stand_beside_each_other() -> None:
    """Each with its change from the first, and what caused it."""
    assert [
        "instr change allocs bytecodes operators time",
        "x + y 1,000 3 5 1 2 us ±10%",
        "torch.add(x, y) 1,250 +25.00% 3 8 4 us ±10%",
        "instr: instructions per iteration, exact unless marked ~; time: median ± IQR",
        "torch.add(x, y) · Python · Eager · Forward",
        "1,000 → 1,250 +250 (+25.00%) noise floor 1 (assumed)",
        "time 2 us → 4 us (not significant)",
        "bytecodes: 5 → 8 (worse)",
        "+250 at::native::add",
    ] == shown(ADD, CALL)


def test_modes_are_named_where_they_differ() -> None:
    """Twins of one statement have the same label."""
    twin = attrs.evolve(ADD, language=Language.CPP)
    backward = attrs.evolve(ADD, autograd=AutogradMode.FORWARD_BACKWARD, num_threads=2)

    assert ["x + y · Python", "x + y · C++"] == [
        line.partition(" 1,000")[0] for line in shown(ADD, twin)[1:3]
    ]
    assert ["x + y · Forward · 1 thread", "x + y · Forward + Backward · 2 threads"] == [
        line.partition(" 1,000")[0] for line in shown(ADD, backward, width=120)[1:3]
    ]


def test_a_long_statement_is_folded_and_a_hostile_one_is_no_markup() -> None:
    """Within the width of the terminal."""
    long = attrs.evolve(CALL, label=("torch.add(x, y, out=z)[0:bold] [/red]" * 3,))

    assert any("[/red]" in line for line in shown(ADD, long))


def test_what_failed_is_said() -> None:
    """In the table, and in a line of its own; alone it has nothing else."""
    assert "x + q failed" in shown(ADD, FAILED)
    assert [] == shown(FAILED)
    assert ("failed x + q · Python: ValueError: bad (stmt line 1: x + y)",) == tuple(
        " ".join(line.split()) for line in report(ADD, FAILED).remarks
    )


def document(*records: Record) -> dict[str, Any]:
    """The report as JSON."""
    found = json.loads(str(render("json", report(*records))))
    assert isinstance(found, dict)
    return found


def test_json_is_the_one_format_for_programs() -> None:
    """It is found as for other reports."""
    assert ("json",) == names_for(StatementsReport)


def test_json_holds_all_that_is_known() -> None:
    """Of each statement, and of the build."""
    found = document(ADD, CALL, FAILED)

    assert 1 == found["time_version"]
    assert "2.13.0+cpu" == found["builds"]["default"]["fingerprint"]["torch"]
    first, second, third = found["statements"]
    assert (["x + y"], "python", "x + y", 1000) == (
        first["label"],
        first["language"],
        first["stmt"],
        first["instructions"],
    )
    assert None is first["difference"]
    assert {"allocations": 3, "bytecodes": 5, "operator_calls": 1} == first["metrics"]
    assert ["at::native::add", "at::empty"] == [place["function"] for place in first["most_in"]]
    assert (250, 0.25, ["+250 at::native::add"]) == (
        second["difference"]["change"],
        second["difference"]["relative"],
        second["difference"]["causes"],
    )
    assert ("failed", "exception", None) == (
        third["status"],
        third["failure"]["kind"],
        third["instructions"],
    )
