"""The results table on a terminal, and the list of what has no result."""

from __future__ import annotations

import io
import re

import attrs
import pytest
from rich.cells import cell_len
from rich.console import Console

from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.metrics import ALLOCATIONS, LEFT_RUNNING, Amounts
from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Status
from instruction_counts.domain.records import ChangedFiles, Run
from instruction_counts.report.table import notes, problems, results
from tests.fakes import OK, failed, make_record, make_run
from tests.report.made import both, measured, realistic


def rendered(run: Run, width: int = 80, *, allocations: bool = False) -> list[str]:
    """The lines of the table on a terminal."""
    stream = io.StringIO()
    Console(width=width, file=stream, emoji=False).print(
        results(run, [ALLOCATIONS] if allocations else [])
    )
    return stream.getvalue().splitlines()


def words(run: Run) -> str:
    """The table with single spaces."""
    return " ".join(" ".join(rendered(run)).split())


# On a terminal


@pytest.mark.parametrize("allocations", [False, True])
@pytest.mark.parametrize("width", [80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int, allocations: bool) -> None:
    """However long the labels and the numbers are."""
    lines = rendered(realistic(), width, allocations=allocations)

    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("allocations", [False, True])
def test_no_number_is_cut_at_80_columns(allocations: bool) -> None:
    """Labels give way, numbers do not."""
    lines = rendered(realistic(), allocations=allocations)

    assert [] == [line for line in lines if "…" in line]


@pytest.mark.parametrize(
    "text", ["8,899", "~1,234,567,890", "2.2 us", "173 ms", "173 us", "±36%", "0.14 ns"]
)
def test_numbers_are_shown_for_people(text: str) -> None:
    """Counts with separators, times with units, a mark where windows disagreed."""
    assert text in words(realistic())


@pytest.mark.parametrize("status", ["failed", "timeout", "skipped"])
def test_a_case_without_a_result_shows_its_status(status: str) -> None:
    """In place of its numbers."""
    assert status in words(realistic())


def test_both_languages_stand_side_by_side() -> None:
    """One line for a mode of a benchmark."""
    (line,) = [line for line in rendered(make_run(*both("Top", "add"))) if "add" in line]

    assert 2 == line.count("8,899")


def test_a_language_without_cases_has_no_column() -> None:
    """A run of Python cases is not half empty."""
    assert "C++" not in words(make_run(make_record("a")))


def test_each_top_label_is_a_heading() -> None:
    """Written once, above what belongs to it."""
    run = make_run(*both("Top", "a"), *both("Top", "b"), *both("Other", "c"))

    assert ["Top", "Other"] == [
        line.strip() for line in rendered(run) if line.strip() in {"Top", "Other"}
    ]


def test_modes_are_named_where_they_are_not_the_usual_ones() -> None:
    """Eager, forward and one thread are not said."""
    run = make_run(
        make_record("Top", "a"),
        make_record("Top", "a", runtime=RuntimeMode.JIT, autograd=AutogradMode.FORWARD_BACKWARD),
        make_record("Top", "a", num_threads=2),
    )
    shown = [re.sub(r"\s\s+.*", "", line.strip()) for line in rendered(run)]

    assert ["a", "TorchScript, backward", "2 threads"] == shown[-3:]


def test_rows_of_several_runtimes_do_not_hide_each_other() -> None:
    """Each case has its own row, also where its mode has no name."""
    run = make_run(*(make_record("Top", "a", runtime=runtime) for runtime in RuntimeMode))
    shown = "\n".join(rendered(run))

    assert len(RuntimeMode) == shown.count("8,899")


def test_builds_are_named_where_there_are_several() -> None:
    """One line for each build of a benchmark."""
    records = [make_record("Top", "a", build=build) for build in ("base", "new")]
    shown = words(make_run(*records, builds=("base", "new")))

    assert "base" in shown
    assert "new" in shown


def test_brackets_in_labels_are_no_markup() -> None:
    """They are shown as they are."""
    assert "[red]" in words(realistic())


def test_allocations_are_shown_on_request() -> None:
    """In a column of their own."""
    run = make_run(make_record("a", outcome=measured(10, 1e-6)))
    with_them = "\n".join(rendered(run, allocations=True))

    assert "allocs" in with_them
    assert "123" in with_them


def test_times_alone_have_a_dash_for_instructions() -> None:
    """What was not measured is not zero."""
    run = make_run(make_record("a", outcome=Outcome(Status.OK, times=OK.times)))

    assert "– 2.2 us" in words(run)


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

    assert [f"note  a · Python: {said}"] == list(
        notes(make_run(make_record("a", outcome=outcome), make_record("b")))
    )


def test_a_build_that_changed_is_noted() -> None:
    """With the first files, and how many there are."""
    files = {
        "new": ChangedFiles.of([f"/torch/{number}" for number in range(12)]),
        "base": ChangedFiles.of(["/b"]),
    }
    note = 'note  files of build "new" changed during the run: '

    assert [
        note + "/torch/0, /torch/1, /torch/2 and 9 more",
        'note  files of build "base" changed during the run: /b',
    ] == list(notes(attrs.evolve(make_run(make_record("a")), changed_files=files)))


def test_problems_are_listed_with_their_reasons() -> None:
    """One line for each, also for what was skipped with a reason."""
    refused = Failure(FailureKind.REFUSED, "needs 64 contiguous cores, and this run has 2")
    run = make_run(
        make_record("good"),
        make_record("Top", "bad", outcome=failed(), language=Language.CPP, runtime=RuntimeMode.JIT),
        make_record("wide", outcome=Outcome(Status.SKIPPED, failure=refused), num_threads=64),
    )

    assert [
        "failed  Top / bad · C++ · TorchScript: ValueError: bad   (stmt line 1: x + y)",
        "skipped  wide · Python · 64 threads: needs 64 contiguous cores, and this run has 2",
    ] == list(problems(run))
