"""The results table: on a terminal, in Markdown, and the list of what has no result."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.outcomes import (
    Failure,
    FailureKind,
    Instructions,
    Outcome,
    Status,
    Times,
    Window,
)
from instruction_counts.domain.records import Record, Run
from instruction_counts.report.formats import markdown
from instruction_counts.report.table import LEGEND, problems, results
from tests.fakes import OK, failed, make_record, make_run

LONG = ("Metadata and views", "as_strided of a tensor with many dimensions", "x" * 70, "last one")


def measured(per_run: int, median_s: float, *, exact: bool = True) -> Outcome:
    """An outcome with realistic numbers."""
    instructions = Instructions(
        per_run, exact, (Window(100, 100 * per_run),), allocations=123, allocated_bytes=9999
    )
    return Outcome(Status.OK, instructions, Times.of([median_s, median_s * 1.4, median_s * 2], 10))


def both(*label: str, outcome: Outcome = OK, **modes: Any) -> list[Record]:
    """The records of a benchmark in both languages."""
    return [make_record(*label, outcome=outcome, language=one, **modes) for one in Language]


def realistic() -> Run:
    """A run with everything that a table can meet."""
    return make_run(
        *both("Pointwise", "Math", "add"),
        *both("Pointwise", "Math", "add", runtime=RuntimeMode.JIT),
        *both("Pointwise", "Math", "add", autograd=AutogradMode.FORWARD_BACKWARD),
        *both("Training", "a transformer block", num_threads=2, runtime=RuntimeMode.JIT),
        *both(*LONG, outcome=measured(1_234_567_890, 0.123456, exact=False)),
        *both(*LONG, outcome=measured(12_345_678, 123.456e-6), num_threads=64),
        make_record("MatMul", outcome=failed()),
        make_record("Indexing", "x[0, 1:[red]]", outcome=failed(FailureKind.TIMEOUT)),
        make_record("InferenceMode", outcome=measured(0, 1e-10)),
        make_record("Dispatcher", language=Language.CPP, outcome=Outcome(Status.SKIPPED)),
    )


def rendered(run: Run, width: int = 80, *, allocations: bool = False) -> list[str]:
    """The lines of the table on a terminal."""
    stream = io.StringIO()
    Console(width=width, file=stream, emoji=False).print(results(run, allocations=allocations))
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

    assert (True, True) == ("base" in shown, "new" in shown)


def test_brackets_in_labels_are_no_markup() -> None:
    """They are shown as they are."""
    assert "[red]" in words(realistic())


def test_allocations_are_shown_on_request() -> None:
    """In a column of their own."""
    run = make_run(make_record("a", outcome=measured(10, 1e-6)))
    with_them = "\n".join(rendered(run, allocations=True))

    assert (True, True) == ("allocs" in with_them, "123" in with_them)


def test_times_alone_have_a_dash_for_instructions() -> None:
    """What was not measured is not zero."""
    run = make_run(make_record("a", outcome=Outcome(Status.OK, times=OK.times)))

    assert "– 2.2 us" in words(run)


# Markdown


def table_lines(run: Run) -> list[str]:
    """The lines of the Markdown table."""
    return [line for line in markdown.run(run).splitlines() if line.startswith("|")]


def cells(line: str) -> list[str]:
    """The cells of a line of a Markdown table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_a_markdown_table_has_as_many_cells_in_each_line() -> None:
    """Whatever the labels hold."""
    run = make_run(*realistic().cases, *both("x | y", "||", "a\\b"))

    assert {7} == {len(cells(line)) for line in table_lines(run)}


def test_a_markdown_table_has_its_rule_below_the_headings() -> None:
    """Without it, it is no table."""
    rule = cells(table_lines(realistic())[1])

    assert [] == [cell for cell in rule if re.fullmatch(r":?-+:?", cell) is None]


def test_a_markdown_table_has_a_line_for_each_mode() -> None:
    """After headings and rule."""
    run = make_run(*both("a"), *both("a", runtime=RuntimeMode.JIT), make_record("b"))

    assert ["a", "a · TorchScript", "b"] == [cells(line)[0] for line in table_lines(run)[2:]]


def test_markdown_stands_apart_from_the_table() -> None:
    """Empty lines above and below it, which Markdown needs."""
    lines = markdown.run(realistic()).splitlines()
    places = [place for place, line in enumerate(lines) if line.startswith("|")]

    assert ["", ""] == [lines[places[0] - 1], lines[places[-1] + 1]]


def test_markdown_names_the_build() -> None:
    """And the machine that measured it."""
    assert "**default**: 2.13.0+cpu, A Processor" in markdown.run(realistic())


def test_markdown_lists_what_failed() -> None:
    """Below the table, with the reason."""
    lines = markdown.run(realistic()).splitlines()

    assert "- failed MatMul · Python: ValueError: bad (stmt line 1: x + y)" in lines


def test_markdown_explains_its_numbers() -> None:
    """Readers have no help text at hand."""
    assert LEGEND in markdown.run(realistic())


@pytest.mark.parametrize("label", ["a\nb", "a\r\nb"])
def test_a_line_end_in_a_label_does_not_break_the_table(label: str) -> None:
    """A label is one line there."""
    assert 3 == len(table_lines(make_run(make_record(label))))


def test_a_run_without_cases_is_still_markdown() -> None:
    """An interrupt may come early."""
    assert LEGEND in markdown.run(make_run())


# What has no result


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
