"""A comparison as people see it: in a terminal and in Markdown."""

from __future__ import annotations

import io
from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from core.facts import Layer, Model, Use
from instruction_counts.analysis.models import Models
from instruction_counts.analysis.verdicts.comparison import Comparison, compare, verified
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.domain.outcomes import Outcome, Output, TensorValue, Times
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.report import comparison as report
from instruction_counts.report.formats import markdown
from instruction_counts.report.formats.entry import ComparisonReport
from tests.builders import counted, cpp, side
from tests.fakes import failed, make_record, make_run


def outcome(count: int, **fields: Any) -> Outcome:
    """A case of that cost, all of it in one function."""
    return attrs.evolve(counted(count), **fields)


def comparison(base: Outcome, new: Outcome) -> Comparison:
    """Of one case."""
    return compare(
        side(cpp("add", outcome=base), title="base"), side(cpp("add", outcome=new), title="new")
    )


def shown(found: Comparison) -> list[str]:
    """What a terminal shows, line by line."""
    texts = [text.plain for text in report.head(found)]
    for section in report.sections(found):
        texts.append(f"{section.title}  {section.explanation}")
        texts += [text.plain for case in section.differences for text in report.lines(case)]
    return [*texts, *report.last_line(found).splitlines()]


def test_both_sides_are_named_first() -> None:
    """With what they are builds of."""
    found = compare(side(title="run 3", torch="2.12.1"), side(title="new"))

    assert [
        "base  run 3 · torch 2.12.1 (cf30153c) · Python 3.11.7",
        "new   torch 2.13.0+cpu (cf30153c) · Python 3.11.7",
    ] == shown(found)[:2]


def test_a_side_whose_build_changed_says_so() -> None:
    """Its counts may be of other code, also where the run was stored long ago."""
    run = attrs.evolve(
        make_run(make_record("add")), changed_files={"default": ChangedFiles.of(["/torch/a.py"])}
    )
    found = compare(side_of(run, "default", "run 3"), side(title="new"))

    assert shown(found)[0].endswith(" · files changed during the run: /torch/a.py")
    assert "/torch" not in shown(found)[1]


def test_what_differs_around_the_builds_is_reported() -> None:
    """The build of torch itself is not: it is on the lines above."""
    found = compare(side(torch="1", libc="glibc-2.36"), side(torch="2", libc="glibc-2.41"))

    assert "  differs: C library glibc-2.36 → glibc-2.41" == shown(found)[2]


def test_what_makes_counts_incomparable_is_said_so() -> None:
    """At the top, not only beside each case."""
    found = compare(side(allocator="steady"), side(allocator="system"))

    assert "  differs: allocator steady → system  counts cannot be compared" == shown(found)[2]


def test_verdicts_are_counted() -> None:
    """In one line."""
    assert "1 cases: 1 worse" in shown(comparison(outcome(1000), outcome(2000)))


def test_a_change_is_shown_with_its_cause() -> None:
    """Counts, change, and the function that it lies in."""
    lines = shown(comparison(outcome(10_000), outcome(11_000)))
    start = lines.index("WORSE  not verified")

    assert [
        "  add · C++ · Eager · Forward",
        "     10,000 → 11,000   +1,000 (+10.00%)   noise floor 1 (assumed)",
    ] == lines[start + 1 : start + 3]
    assert "at::native::add" in lines[start + 3]


def test_wall_times_are_reported_beside_counts() -> None:
    """Their change only where it is significant."""
    slow, fast = (Times.of([value] * 10, 1) for value in (2e-6, 1e-6))
    texts = [
        shown(comparison(outcome(1000, times=timed), outcome(2000, times=slow)))
        for timed in (fast, slow)
    ]

    assert "time 1 us → 2 us (+100%)" in " ".join(texts[0])
    assert "time 2 us → 2 us (not significant)" in " ".join(texts[1])


def test_what_was_verified_is_said() -> None:
    """And in how many layouts."""
    found = comparison(outcome(1000), outcome(2000))
    (suspect,) = found.suspects
    checked = verified(found, [{suspect.key: 1000}] * 2, [{suspect.key: 2000}] * 2)

    assert "WORSE  verified in 2 memory layouts" in shown(checked)
    assert not any("Not verified" in line for line in shown(checked))


def test_what_was_not_verified_is_said_with_the_remedy() -> None:
    """A difference may be layout."""
    assert any(
        "Not verified" in line and "memory layout" in line
        for line in shown(comparison(outcome(1000), outcome(2000)))
    )


def test_another_output_comes_first() -> None:
    """A wrong build is worse than a slow one."""
    outputs = [
        Output("i", (TensorValue("z", shape, "float32", "d", 0, ""),)) for shape in ((2,), (3,))
    ]
    lines = shown(comparison(outcome(1000, output=outputs[0]), outcome(10, output=outputs[1])))

    assert "OUTPUT DIFFERS  the builds compute different values" in lines
    assert "     output: z: shape (2,) → (3,)" in lines


def test_a_failure_is_shown_with_its_message() -> None:
    """And with the side that it is on."""
    lines = shown(comparison(outcome(1000), failed(message="ValueError: bad")))

    assert any(line.strip().startswith("failed in new: ValueError: bad") for line in lines)


def test_the_largest_relative_change_comes_first() -> None:
    """Whatever the order of the definitions."""
    base = [cpp(name, outcome=counted(10_000)) for name in "abc"]
    new = [
        cpp(name, outcome=counted(count))
        for name, count in (("a", 10_100), ("b", 20_000), ("c", 11_000))
    ]
    (section,) = report.sections(compare(side(*base), side(*new)))

    assert ["b", "c", "a"] == [difference.key.label[0] for difference in section.differences]


def test_what_is_the_same_has_no_line() -> None:
    """It is counted in the first line."""
    assert not list(report.sections(comparison(outcome(1000), outcome(1000))))


def test_a_long_line_goes_on_where_it_began() -> None:
    """So that cases are told apart."""
    stream = io.StringIO()
    Console(width=30, file=stream).print(report.indented(Text("     " + "word " * 12)))

    assert {5} == {len(line) - len(line.lstrip()) for line in stream.getvalue().splitlines()}


@given(st.lists(st.text("ab ", min_size=1, max_size=90), max_size=9))
def test_wrapping_loses_nothing(parts: list[str]) -> None:
    """No part is broken, and only a part that is too long makes a line too long."""
    lines = list(report.wrapped(parts, "|", width=40))

    assert parts == [part for line in lines for part in line.split("|")]
    assert all(len(line) <= 40 or "|" not in line for line in lines)


# Markdown


def in_markdown(found: Comparison) -> str:
    """The comparison as a comment would show it."""
    return markdown.comparison(ComparisonReport(found))


def test_markdown_says_the_verdict_first() -> None:
    """A comment on a pull request is read from the top."""
    text = in_markdown(comparison(outcome(1000), outcome(2000)))

    assert text.startswith("**1 cases: 1 worse**\n")


def test_markdown_folds_what_is_not_worse() -> None:
    """It is there for who wants to know."""
    text = in_markdown(comparison(outcome(2000), outcome(1000)))

    assert "<details><summary>Better: 1 (not verified)</summary>" in text


def model_side(count: int, title: str) -> Side:
    """A side with a layer that a model calls 17 times, and the model as a whole."""
    conv = Layer("Conv2d", (Use("Net", "a", 17),))
    layer = attrs.evolve(cpp("conv", outcome=counted(count)), subject=conv)
    whole = attrs.evolve(cpp("Net", outcome=counted(34_000)), subject=Model("Net"))
    return side(layer, whole, title=title)


def test_a_change_of_a_layer_says_what_it_is_worth_to_the_model() -> None:
    """Times its calls, as a share of the model in base."""
    found = compare(model_side(1000, "base"), model_side(1100, "new"))
    (changed,) = (case for case in found.differences if case.change)
    models = Models(found.base.records.values())

    assert "     +5.0% of Net (17 calls)" in [text.plain for text in report.lines(changed, models)]
    assert "| +5.0% of Net (17 calls) · " in in_markdown(found)


def test_a_case_of_no_model_has_no_such_line() -> None:
    """Most cases are of none."""
    found = comparison(outcome(1000), outcome(1100))
    models = Models(found.base.records.values())

    assert list(report.lines(found.differences[0])) == list(
        report.lines(found.differences[0], models)
    )
