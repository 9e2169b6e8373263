"""What was measured, as people and programs read it: runs, and statements beside each other."""

import attrs
import pytest

from instruction_counts.analysis.verdicts.comparison import beside
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import (
    EstimatedCycles,
    Failure,
    FailureKind,
    Instructions,
    Outcome,
    Status,
    Times,
)
from instruction_counts.domain.records import ChangedFiles, Record, Run
from instruction_counts.report import run as report
from instruction_counts.report.document import ChartKind, Document
from instruction_counts.report.renderers import csv, markdown
from tests.builders import costs_of, counted
from tests.fakes import OK, failed, make_record, make_run
from tests.report.rendered import as_json, screen, words


def shown(run: Run) -> list[str]:
    """The lines of a terminal."""
    return screen(report.run_document(run))


def test_a_run_is_a_tree_of_labels_with_its_languages_beside_each_other() -> None:
    """Modes are named where they are not the usual ones; then what has no result, and the tally."""
    inexact = attrs.evolve(OK, instructions=Instructions(1_234_567, exact=False, windows=()))
    run = make_run(
        *(make_record("Pointwise", "Math", "add", language=language) for language in Language),
        make_record("Pointwise", "Math", "add", autograd=AutogradMode.FORWARD_BACKWARD),
        make_record("MatMul", outcome=failed()),
        make_record("Times", outcome=Outcome(Status.OK, times=OK.times)),
        make_record("x[0, 1:[red]]", outcome=inexact, num_threads=64),
    )

    assert (
        """\
torch 2.13.0+cpu · Python 3.11.7 · A Processor · valgrind-3.19.0

                                            Python                 C++
                                instr    time       instr    time
Pointwise
  Math / add                    8,899  2.2 us  ±7%  8,899  2.2 us  ±7%
    forward+backward            8,899  2.2 us  ±7%
MatMul                         failed
Times                               –  2.2 us  ±7%
x[0, 1:[red]], 64 threads  ~1,234,567  2.2 us  ±7%

Instructions per iteration (~: inexact), median time ± interquartile range
failed  MatMul · Python: ValueError: bad   (stmt line 1: x + y)
6 cases: 5 ok · 1 failed
""".splitlines()
        == shown(run)
    )


CYCLES = EstimatedCycles("a", (1900, 2000, 2100))


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (
            attrs.evolve(OK, times=None),
            "Python instr a 8,899 Instructions per iteration (~: inexact) 1",
        ),
        (
            Outcome(Status.OK, times=OK.times),
            "Python time a 2.2 us ±7% Median time ± interquartile range 1",
        ),
        # They differ between layouts of memory: beside them stands half their range.
        (
            counted(1000, cycles=CYCLES, metrics={"cycles": 2000}),
            "instr est. cycles a 1,000 2,000 ±5% Instructions",
        ),
    ],
)
def test_what_was_measured_has_a_column_and_is_explained(outcome: Outcome, expected: str) -> None:
    """Nothing else has."""
    assert expected in words(report.run_document(make_run(make_record("a", outcome=outcome))))
    assert "No case was measured." == shown(make_run())[-1]


def test_each_case_has_a_row() -> None:
    """By build, label and mode, also where a mode has no name."""
    modes = [make_record("Top", "a", runtime=runtime) for runtime in RuntimeMode]
    builds = [make_record("Top", "b", build=build) for build in ("base", "new")]
    run = make_run(*modes, *builds, make_record("Other", "c"), builds=("base", "new"))
    found = [f"{' ' * row.indent}{row.cells[0].value}" for row in report.results_table(run).rows]

    assert ["Top", "Other"] == [name for name in found if not name.startswith(" ")]
    assert 2 + len(RuntimeMode) + 3 == len(found)
    assert "  b, base" in found


def test_what_makes_a_run_doubtful_is_named() -> None:
    """Cases without a result, builds that changed, processes left running; with the reasons."""
    refused = Failure(FailureKind.REFUSED, "needs 64 contiguous cores, and this run has 2")
    run = make_run(
        *(
            make_record(name, outcome=attrs.evolve(OK, metrics=Amounts({"left_running": number})))
            for name, number in (("none", 0), ("one", 1), ("many", 1300))
        ),
        make_record("Top", "bad", outcome=failed(), language=Language.CPP, runtime=RuntimeMode.JIT),
        make_record("wide", outcome=Outcome(Status.SKIPPED, failure=refused), num_threads=64),
    )
    files = ChangedFiles.of([f"/{number}" for number in range(12)])
    run = attrs.evolve(run, changed_files={"new": files})

    assert [
        "failed  Top / bad · C++ · TorchScript: ValueError: bad   (stmt line 1: x + y)",
        "skipped  wide · Python · 64 threads: needs 64 contiguous cores, and this run has 2",
        'note  files of build "new" changed during the run: /0, /1, /2 and 9 more',
        "note  one · Python: left running, and ended: 1 process",
        "note  many · Python: left running, and ended: 1,300 processes",
    ] == [line.text for line in report.doubts(run)]


def test_markdown_names_each_row_in_full() -> None:
    """Headings of the tree have no row."""
    record = make_record("Pointwise", "Math", "add", runtime=RuntimeMode.JIT)
    text = markdown.render(report.run_document(make_run(record)))

    assert text.startswith("**torch 2.13.0+cpu")
    assert "| Pointwise / Math / add · TorchScript | 8,899 | 2.2 us | ±7% |" in text
    assert "| Pointwise |" not in text


def test_csv_has_a_line_for_each_case() -> None:
    """With its metrics, and what the definition says of it."""
    record = attrs.evolve(make_record("a", "b"), metadata={"k": [1]})
    head, line = csv.render(report.run_document(make_run(record))).splitlines()

    assert head.startswith(
        "label,language,runtime,autograd,num_threads,build,definition_hash,status,instructions,"
        "exact,spread,median_s,iqr_s,error,allocations"
    )
    assert line.startswith(f"a/b,python,eager,forward,1,default,{record.definition_hash},ok,8899,")
    assert line.endswith(',"{""k"": [1]}",,')


RECORDS = [make_record("a", name, outcome=counted(count)) for count, name in enumerate("wxyz", 1)]


def test_each_label_is_as_large_as_what_is_below_it() -> None:
    """So that nothing of a run is missing in its map; few cases are read faster than looked at."""
    (chart,) = report.charts(RECORDS)
    (series,) = chart.series
    sizes = dict(zip(series.labels, series.y, strict=True))
    below = dict.fromkeys(sizes, 0)
    for name, parent in zip(series.labels, series.x, strict=True):
        if parent:
            below[str(parent)] += int(sizes[name])

    assert (ChartKind.TREEMAP, 10) == (chart.kind, sizes["all"])
    assert [] == [name for name, sum_ in below.items() if sum_ not in {0, sizes[name]}]
    assert () == report.charts(RECORDS[:3])


def test_counts_are_drawn_against_times_where_there_are_any() -> None:
    """By language."""
    timed = [
        attrs.evolve(record, outcome=attrs.evolve(record.outcome, times=Times.of((1e-6,), 1)))
        for record in RECORDS
    ]

    assert [("Python", (1e-6,) * 4, (1, 2, 3, 4))] == [
        (series.name, series.x, series.y) for series in report.charts([*timed, *RECORDS])[1].series
    ]


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
    return report.statements_document(beside(records), make_run(*records))


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
        == screen(document(ADD))
    )


def test_what_was_asked_for_has_columns() -> None:
    """Of memory, the most that is held at once; files have the rest."""
    asked = {"peak_bytes": 64, "flops": 16, "moved_bytes": 192, "native_cycles": 70}
    found = make_record("x + y", outcome=counted(1000, metrics=asked))

    headings = [column.heading for column in document(found).tables[0].columns]
    assert ["", "instr", "peak bytes", "flops", "native cycles"] == headings


def test_a_statement_that_costs_nothing_spends_it_nowhere() -> None:
    """What is left of the loop around it is less than one instruction."""
    nothing = make_record("pass", outcome=counted(0, functions=costs_of({"f": 1}, runs=5)))

    assert not any(line.startswith("most in") for line in screen(document(nothing)))


def test_no_part_is_a_share_of_less_than_itself() -> None:
    """Torch's Timer takes its loop from the count, and not from the functions."""
    small = make_record("1", outcome=counted(3, functions=costs_of({"f": 13, "g": 2}, runs=1)))

    assert (None, 2 / 3) == document(small).tables[1].column("share")


def test_several_statements_stand_beside_each_other() -> None:
    """Each with its change from the first, and what caused it."""
    slow = attrs.evolve(ADD, outcome=attrs.evolve(ADD.outcome, times=Times.of([2e-6] * 10, 1)))

    assert [
        "                 instr  change        %  allocs  bytecodes  operators  time",
        "x + y            1,000                        3          5          1  2 us  ±0%",
        "torch.add(x, y)  1,250    +250  +25.00%       3          8             4 us  ±0%",
        "    why  +250 at::native::add; time +100.00%",
    ] == screen(document(slow, CALL))[2:6]


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

    assert any(
        found.split()[:4] == ["x", "+", "q", "failed"] for found in screen(document(ADD, FAILED))
    )
    assert [line] == screen(document(FAILED))[2:]


def test_csv_of_statements_has_the_columns_of_a_run() -> None:
    """So that it says whether a count is exact, and why there is none."""
    records = ADD, FAILED

    assert csv.render(report.run_document(make_run(*records))) == csv.render(document(*records))


def test_json_holds_all_that_is_known() -> None:
    """Of each statement, and of the build."""
    found = as_json(document(ADD, CALL, FAILED))
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
