"""What a run measured: its tables, what has no result, and files of it."""

from __future__ import annotations

import attrs
import pytest
from rich.cells import cell_len

from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.metrics import ALLOCATIONS, LEFT_RUNNING, Amounts
from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Status
from instruction_counts.domain.records import ChangedFiles, Run, RunSummary
from instruction_counts.report.renderers import csv, markdown, terminal
from instruction_counts.report.run import doubts, results_table, run_document
from instruction_counts.report.runs import runs_document, title
from tests.fakes import OK, failed, make_record, make_run
from tests.report.made import both, measured, realistic


def shown(run: Run, width: int = 80) -> list[str]:
    """The lines of a terminal."""
    return terminal.render(run_document(run), width, None).splitlines()


def names(run: Run) -> list[str]:
    """The first cells of the table, as deep as they stand."""
    return [f"{' ' * row.indent}{row.cells[0].value}" for row in results_table(run).rows]


def test_a_run_is_a_tree_of_labels_with_its_languages_beside_each_other() -> None:
    """Modes are named where they are not the usual ones; then what has no result, and the tally."""
    run = make_run(
        *both("Pointwise", "Math", "add"),
        make_record("Pointwise", "Math", "add", autograd=AutogradMode.FORWARD_BACKWARD),
        make_record("MatMul", outcome=failed()),
        make_record("Times", outcome=Outcome(Status.OK, times=OK.times)),
    )

    assert (
        """\
torch 2.13.0+cpu · Python 3.11.7 · A Processor · valgrind-3.19.0

                           Python                 C++
               instr    time       instr    time
Pointwise
  Math / add   8,899  2.2 us  ±7%  8,899  2.2 us  ±7%
    backward   8,899  2.2 us  ±7%
MatMul        failed
Times              –  2.2 us  ±7%

Instructions per iteration (~: inexact), median time ± interquartile range
failed  MatMul · Python: ValueError: bad   (stmt line 1: x + y)
5 cases: 4 ok · 1 failed
""".splitlines()
        == shown(run)
    )


@pytest.mark.parametrize("width", [80, 100, 200])
def test_numbers_are_never_cut_and_names_can_be_copied(width: int) -> None:
    """However long the labels and the numbers are: a name that is too long stands alone."""
    run = realistic()
    lines = shown(run, width)
    labels = [record.label for record in run.cases]
    wide = [line for line in lines if cell_len(line) > width]

    assert all(any(" / ".join(label[1:]) in line for label in labels) for line in wide)
    for text in ("~1,234,567,890", "173 ms", "±36%", "0.14 ns", "timeout", "x[0, 1:[red]]"):
        assert text in " ".join(lines)


def test_each_case_has_a_row() -> None:
    """By build, label and mode, also where a mode has no name."""
    modes = [make_record("Top", "a", runtime=runtime) for runtime in RuntimeMode]
    builds = [make_record("Top", "b", build=build) for build in ("base", "new")]
    run = make_run(*modes, *builds, builds=("base", "new"))

    assert 1 + len(RuntimeMode) + 2 == len(names(run))
    assert "  b, base" in names(run)
    assert ["Top", "Other"] == [
        name
        for name in names(make_run(*both("Top", "a"), *both("Top", "b"), *both("Other", "c")))
        if not name.startswith(" ")
    ]


def test_metrics_have_a_column_on_request() -> None:
    """Beside the count."""
    run = make_run(make_record("a", outcome=measured(10, 1e-6)))
    table = results_table(run, [ALLOCATIONS])

    assert (123,) == table.column("python_allocations")
    assert "allocs" in [column.heading for column in table.columns]
    assert "allocs" not in [column.heading for column in results_table(run).columns]


# What has no result


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "1 process that the statement left running was ended"),
        (1300, "1,300 processes that the statement left running were ended"),
    ],
)
def test_what_a_case_left_running_is_noted(number: int, said: str) -> None:
    """Beside its result."""
    outcome = attrs.evolve(OK, metrics=Amounts({LEFT_RUNNING.name: number}))

    assert [f"note  a · Python: {said}"] == [
        line.text for line in doubts(make_run(make_record("a", outcome=outcome), make_record("b")))
    ]


def test_builds_that_changed_problems_and_skipped_cases_are_named() -> None:
    """With their reasons."""
    refused = Failure(FailureKind.REFUSED, "needs 64 contiguous cores, and this run has 2")
    run = make_run(
        make_record("good"),
        make_record("Top", "bad", outcome=failed(), language=Language.CPP, runtime=RuntimeMode.JIT),
        make_record("wide", outcome=Outcome(Status.SKIPPED, failure=refused), num_threads=64),
    )
    files = ChangedFiles.of([f"/{number}" for number in range(12)])
    run = attrs.evolve(run, changed_files={"new": files})

    assert [
        "failed  Top / bad · C++ · TorchScript: ValueError: bad   (stmt line 1: x + y)",
        "skipped  wide · Python · 64 threads: needs 64 contiguous cores, and this run has 2",
        'note  files of build "new" changed during the run: /0, /1, /2 and 9 more',
    ] == [line.text for line in doubts(run)]


def test_nothing_measured_is_said() -> None:
    """There is no table then."""
    assert "No case was measured." == shown(make_run())[-1]


# Files


def test_markdown_names_each_row_in_full() -> None:
    """Headings of the tree have no row."""
    text = markdown.render(run_document(realistic()))

    assert text.startswith("**torch 2.13.0+cpu")
    assert "| Pointwise / Math / add · TorchScript | 8,899 | 2.2 us | ±7% |" in text
    assert "| Pointwise |" not in text


def test_csv_has_a_line_for_each_case() -> None:
    """With its metrics, and what the definition says of it."""
    record = attrs.evolve(make_record("a", "b"), metadata={"k": [1]})
    head, line = csv.render(run_document(make_run(record))).splitlines()

    assert head.startswith(
        "label,language,runtime,autograd,num_threads,build,definition_hash,status,instructions,"
        "exact,spread,median_s,iqr_s,error,allocations"
    )
    assert line.startswith(f"a/b,python,eager,forward,1,default,{record.definition_hash},ok,8899,")
    assert line.endswith(',"{""k"": [1]}",,')


# Stored runs

FILES = ChangedFiles.of(["/torch/a.py"])
SUMMARY = RunSummary(
    id=12,
    engine="fork",
    started_at="2026-11-02T10:11:12",
    state="done",
    builds={"base": "2.12", "new": "2.13"},
    tags=("nightly",),
    cases=1,
    failed=0,
)


def test_stored_runs_are_listed() -> None:
    """With a mark where a build changed meanwhile, which is explained."""
    document = runs_document([attrs.evolve(SUMMARY, changed_files={"new": FILES}), SUMMARY])
    lines = terminal.render(document).splitlines()

    assert ["12", "2026-11-02", "10:11", "base", "2.12,", "new", "2.13", "1", "0"] == (
        lines[1].split()[:9]
    )
    assert ["done", "*", "nightly"] == lines[1].split()[9:]
    assert ["done", "nightly"] == lines[2].split()[9:]
    assert lines[-1].startswith("* files of a build changed during the run")
    assert "run 12 (1 case, 2026-11-02 10:11, nightly)" == title(SUMMARY)


def test_a_stored_run_begins_with_what_is_known_of_it() -> None:
    """Then it is shown as when it was measured."""
    document = run_document(make_run(make_record("a")), summary=SUMMARY)

    assert [
        "run 12 · done · started 2026-11-02 10:11 UTC · engine fork · instruction-counts 0.1.0",
        "tags: nightly",
        "torch 2.13.0+cpu · Python 3.11.7 · A Processor · valgrind-3.19.0",
    ] == [line.text for line in document.answer]
