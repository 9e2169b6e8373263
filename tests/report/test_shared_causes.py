"""Causes that several cases share, on a screen, in Markdown and in JSON."""

from __future__ import annotations

import io
import json
from typing import Any

import attrs
import pytest
from rich.console import Console

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.shared_causes import shared_causes
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.gate.gate import apply_limits
from instruction_counts.report import comparison as comparison_report
from instruction_counts.report import gate as gate_report
from instruction_counts.report import shared_causes as report
from instruction_counts.report.causes import of_case
from instruction_counts.report.formats.entry import CheckReport, ComparisonReport
from instruction_counts.report.registry import render
from tests.gate.fakes import comparison, difference

FORWARD = Cause(
    CauseKind.PYTHON, "Linear.forward", 20, 30, where="torch/nn/modules/linear.py", line=130
)
TWICE = attrs.evolve(FORWARD, base=40, new=60)


def native(name: str, change: int) -> Cause:
    """A native function that costs so much more, or less."""
    return Cause(CauseKind.NATIVE, name, 2000, 2000 + change, where="libpython3.11.so.1.0")


def case(label: str, change: int, *causes: Cause) -> Difference:
    """A case that changed for these causes."""
    return attrs.evolve(difference(10_000, 10_000 + change, label=label), causes=causes)


LOCKS = (native("take_gil", -1080), native("pthread_mutex_lock", -270))
CASES = (
    *(case(f"operator {number}", -1350, *LOCKS) for number in range(30)),
    case("Linear", 40, FORWARD, native("malloc", 9)),
    case("Sequential", 120, TWICE),
    case("alone", 7, native("free", 7)),
)


def shown(found: Comparison, limit: int = 20) -> list[str]:
    """What a terminal of 80 columns shows of what is shared."""
    stream = io.StringIO()
    console = Console(width=80, file=stream)
    for line in report.lines(shared_causes(found.differences), limit):
        console.print(comparison_report.indented(line))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def as_json(value: ComparisonReport | CheckReport) -> Any:
    """The document that a program reads."""
    content = render("json", value)
    return json.loads(content if isinstance(content, str) else "".join(map(str, content)))


def test_a_cause_stands_once_above_its_cases() -> None:
    """The largest change first; a list that is too long is cut."""
    assert [
        "CAUSES OF SEVERAL CASES",
        "  1  -1,080 take_gil · -270 pthread_mutex_lock",
        "     -1,350 in each of 30 cases",
        "       operator 0 · C++ · Eager · Forward",
        "       operator 1 · C++ · Eager · Forward",
        "       operator 2 · C++ · Eager · Forward",
        "       and 27 more (--limit 0 shows all)",
        "  2  torch/nn/modules/linear.py:130 Linear.forward  +10 to +20 bytecodes",
        "     +40 to +120 in 2 cases",
        "       Sequential · C++ · Eager · Forward",
        "       Linear · C++ · Eager · Forward",
    ] == shown(comparison(*CASES))


def test_all_cases_are_shown_where_that_is_asked_for() -> None:
    """With the option that shows all of the rest, too."""
    lines = shown(comparison(*CASES), limit=0)

    assert 30 == sum(line.startswith("       operator ") for line in lines)
    assert "more" not in "".join(lines)


def test_the_smallest_causes_are_cut() -> None:
    """The limit is that of cases in a section."""
    lines = shown(comparison(*CASES), limit=1)

    assert "  … and 1 more (--limit 0 shows all)" == lines[-1]
    assert not any("Linear" in line for line in lines)


def test_nothing_is_said_where_nothing_is_shared() -> None:
    """Most comparisons are of a case or two."""
    assert [] == shown(comparison(CASES[-1], CASES[-2]))


def test_what_is_shared_fits_eighty_columns() -> None:
    """Long names, long paths, and numbers of groups with several digits."""
    names = [f"at::native::a_function_with_a_long_name_{number}" for number in range(120)]
    pairs = [
        case(f"{'very long label ' * 5}{side} {name}", 5, native(name, 5), native(f"{name}b", 5))
        for name in names
        for side in ("one", "other")
    ]
    lines = shown(comparison(*pairs), limit=0)

    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((-1350, -1350), "-1,350 in each of 2 cases"),
        ((40, 120), "+40 to +120 in 2 cases"),
        ((-40, -120), "-40 to -120 in 2 cases"),
        ((-40, 120), "-40 to +120 in 2 cases"),
        ((0, 120), "0 to +120 in 2 cases"),
        ((0, -120), "0 to -120 in 2 cases"),
    ],
)
def test_a_range_begins_with_its_smaller_end(changes: tuple[int, int], expected: str) -> None:
    """Where both ends go the same way."""
    cases = [case(str(place), change, FORWARD) for place, change in enumerate(changes)]
    (group,) = shared_causes(cases).groups

    assert expected == report.texts(group).change


def test_an_operator_that_is_called_differently_often_has_a_range() -> None:
    """Before its name."""
    calls = [Cause(CauseKind.OPERATOR, "aten::add", 1, new) for new in (2, 5)]
    (group,) = shared_causes([case("a", 9, calls[0]), case("b", 8, calls[1])]).groups

    assert ("+1 to +4 aten::add",) == report.texts(group).causes


def test_a_case_refers_to_what_it_shares() -> None:
    """What it has alone is said in full."""
    shared = shared_causes(CASES)
    linear, alone = CASES[-3], CASES[-1]

    assert ("cause 2 (+10 bytecodes)", "+9 malloc") == of_case(linear, shared)
    assert ("+7 free",) == of_case(alone, shared)
    assert "     cause 2 (+10 bytecodes) · +9 malloc" in [
        line.plain for line in comparison_report.lines(linear, shared=shared)
    ]


def test_a_reference_says_what_the_range_leaves_open() -> None:
    """How much of the change of a case its cause explains."""
    cases = (case("a", 870, native("alloc", 29)), case("b", 580, native("alloc", 580)))
    shared = shared_causes(cases)

    assert [("cause 1 (+29)",), ("cause 1 (+580)",)] == [
        of_case(changed, shared) for changed in cases
    ]


def test_a_case_in_several_groups_refers_to_each() -> None:
    """In their order."""
    cases = (*CASES, case("both", -900, FORWARD, *LOCKS))

    assert ("causes 1, 2 (+10 bytecodes)",) == of_case(cases[-1], shared_causes(cases))


def test_markdown_names_each_cause_once() -> None:
    """In a table before those of the cases, in comparisons and in comments."""
    whole = comparison(*CASES)
    row = "| 1 | -1,080 take\\_gil · -270 pthread\\_mutex\\_lock | -1,350 in each of 30 cases | "
    for value in (ComparisonReport(whole), CheckReport(apply_limits(whole))):
        text = str(render("markdown", value))
        assert 1 == text.count("take\\_gil")
        assert row in text
        assert "; and 27 more |" in text
        assert "| cause 2 (+10 bytecodes) · +9 malloc |" in text


def test_json_has_every_cause_with_all_of_its_cases() -> None:
    """Beside the causes of each case, which stay."""
    whole = comparison(*CASES)
    for value in (ComparisonReport(whole), CheckReport(apply_limits(whole))):
        document = as_json(value)
        gil, lock, forward = document["causes"]
        assert [1, 1, 2] == [cause["group"] for cause in document["causes"]]
        assert ["take_gil", "pthread_mutex_lock"] == [gil["name"], lock["name"]]
        assert 30 == len(gil["cases"])
        assert {
            "kind": "python function",
            "name": "Linear.forward",
            "place": "torch/nn/modules/linear.py:130",
            "unit": "bytecodes",
            "least": 10,
            "most": 20,
        }.items() <= forward.items()
        assert {"base": 40, "new": 60, "change": 20, "instructions": 120}.items() <= (
            forward["cases"][0].items()
        )
        assert ["Sequential"] == forward["cases"][0]["label"]
        assert ["-1,080 take_gil", "-270 pthread_mutex_lock"] == document["cases"][0]["causes"]


def test_a_check_shows_what_cases_share_in_their_findings() -> None:
    """As a comparison does."""
    shared = shared_causes(CASES)
    finding = apply_limits(comparison(*CASES)).findings[0]

    assert "     cause 1" in [line.plain for line in gate_report.lines(finding, shared)]
