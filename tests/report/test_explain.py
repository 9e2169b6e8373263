"""The explanation of a change: on a terminal, in Markdown and as JSON."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from core.types import Language
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import (
    CallCost,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Outcome,
    Status,
    Window,
)
from instruction_counts.domain.source_lines import SourceChange, SourceLines
from instruction_counts.report.explain import SECTIONS, Explanation, Report
from instruction_counts.report.formats import explained as json_format
from instruction_counts.report.formats import markdown
from tests.fakes import FINGERPRINT, make_record

CPU, STEADY = "libtorch_cpu.so", "steady.so"
LONG = "void at::native::(anonymous namespace)::" + "a_very_long_kernel_name_" * 6 + "<6>(int)"


def costs_of(
    rows: list[tuple[str, str, int]], calls: tuple[tuple[int, ...], ...] = ()
) -> FunctionCosts:
    """Costs of one run: library, function, instructions."""
    return FunctionCosts(
        1,
        tuple(FunctionCost(library, "???", function, cost) for library, function, cost in rows),
        tuple(CallCost(*call) for call in calls),
    )


BASE = costs_of(
    [
        (CPU, "at::_ops::add_Tensor::call(at::Tensor const&)", 70),
        (CPU, "at::native::add(at::Tensor const&)", 800),
        (STEADY, "malloc", 99),
    ],
    ((0, 1, 1, 899), (1, 2, 9, 99)),
)
NEW = costs_of(
    [
        (CPU, "at::_ops::add_Tensor::call(at::Tensor const&)", 70),
        (CPU, "at::native::add(at::Tensor const&)", 780),
        (CPU, LONG, 212),
        (STEADY, "malloc", 110),
    ],
    ((0, 1, 1, 1102), (1, 3, 9, 99), (1, 2, 1, 223), (2, 3, 1, 11)),
)


FORWARD = PythonFunction("torch/nn/modules/linear.py", 130, "Linear.forward", "aa", 20)
STATEMENT = PythonFunction("<case>", 0, "statement", "", 7)
ADD = OperatorCalls("aten::add", backward=False, calls=1)
EXECUTED = Executed((FORWARD, STATEMENT), (ADD,), "3.11")
EDITED = Executed(
    (attrs.evolve(FORWARD, bytecodes=30, digest="bb"), STATEMENT),
    (ADD, OperatorCalls("aten::contiguous", backward=False, calls=1)),
    "3.11",
)


def side(title: str, functions: FunctionCosts, **changes: Any) -> Side:
    """One side with one case, whose count is that of its functions."""
    per_run = round(sum(cost.exclusive for cost in functions.costs) / functions.runs)
    counted = Instructions(
        per_run,
        changes.pop("exact", True),
        (Window(1, per_run),),
        spread=changes.pop("spread", 0),
        varying=changes.pop("varying", ()),
    )
    metrics = Amounts({"allocations": changes.pop("allocations", None)})
    executed = changes.pop("executed", EXECUTED)
    outcome = Outcome(Status.OK, counted, functions=functions, metrics=metrics, executed=executed)
    stmt, engine = changes.pop("stmt", "x + y"), changes.pop("engine", "fork")
    record = make_record("Top", "add", outcome=outcome, language=Language.PYTHON, stmt=stmt)
    fingerprint = attrs.evolve(FINGERPRINT, **changes)
    return Side(title, engine, fingerprint, {record.key: record})


def explained(base: Side, new: Side) -> Explanation:
    """The explanation of the only case."""
    (key,) = base.records
    functions = (side.records[key].outcome.functions for side in (base, new))
    return Explanation(key, base, new, difference(*functions))


def usual() -> Explanation:
    """Some functions that changed, and one that did not."""
    return explained(side("base", BASE, allocations=9), side("new", NEW, allocations=10))


def rendered(explanation: Explanation, *, width: int = 80, **options: Any) -> list[str]:
    """The lines in a pipe."""
    stream = io.StringIO()
    Console(width=width, file=stream, emoji=False).print(Report(explanation, **options))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def words(explanation: Explanation, **options: Any) -> str:
    """The same with single spaces."""
    return " ".join(" ".join(rendered(explanation, **options)).split())


def numbers(text: str) -> list[int]:
    """The whole numbers of a line."""
    found = re.findall(r"(?<![\w.])[+-]?\d[\d,]*(?![\w.])", text)
    return [int(number.replace(",", "")) for number in found]


# What is said of the count


def test_both_counts_and_their_difference_are_reported() -> None:
    """With the relative one."""
    shown = words(usual())

    assert "969" in shown
    assert "+203 instructions per iteration, +20.95%" in shown


def test_the_case_and_both_sides_are_named() -> None:
    """With their torch."""
    lines = rendered(explained(side("a.json", BASE), side("run 12", NEW, torch="2.14.0")))

    assert "Top / add · Python · Eager · Forward" == lines[0]
    assert ["base a.json torch 2.13.0+cpu 969", "new run 12 torch 2.14.0 1,172"] == [
        " ".join(line.split()) for line in lines[1:3]
    ]


def test_nothing_changed_is_reported_as_such() -> None:
    """Without a list of functions."""
    shown = words(explained(side("base", BASE), side("new", BASE)))

    assert "change none" in shown
    assert "No function costs more or less than before." in shown


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # Short values are shown, long ones named.
        (
            {"torch": "2.14.0", "torch_settings": "x" * 300},
            "torch (2.13.0+cpu → 2.14.0); torch build settings",
        ),
        ({"stmt": "x - y"}, "The definitions differ"),
        ({"exact": False, "spread": 559, "varying": ("at::random()",)}, "~1,172"),
        (
            {"exact": False, "spread": 559, "varying": ("at::random()",)},
            "~ new: the windows do not agree (spread 559; at::random).",
        ),
    ],
)
def test_what_makes_the_difference_another_one_is_said(
    changes: dict[str, Any], expected: str
) -> None:
    """Builds or definitions that differ, and a count that is not exact."""
    assert expected in words(explained(side("base", BASE), side("new", NEW, **changes)))


def test_functions_that_do_not_add_up_to_the_counts_are_reported() -> None:
    """The reference engine counts them in other windows."""
    base, new = side("base", BASE), side("new", NEW)
    (key,) = base.records
    found = Explanation(key, base, new, difference(NEW, BASE))

    assert "The functions' changes add up to -203" in words(found)


# Sections


@pytest.mark.parametrize("section", ["layer", "library", "function"])
def test_each_section_adds_up_to_the_change(section: str) -> None:
    """Its last line is the sum."""
    lines = rendered(usual(), sections=(section,))
    (line,) = [line for line in lines if line.split()[-1:] == ["sum"] or line.startswith("  sum")]

    assert 203 == numbers(line)[2]


def test_layers_are_shown_with_a_bar() -> None:
    """The longest for the largest change; nothing for none."""
    lines = {line.split()[0]: line for line in rendered(usual(), sections=("layer",))[5:] if line}

    assert 16 == lines["kernels"].count("█")
    assert 1 == lines["allocator"].count("█")
    assert 0 == lines["dispatcher"].count("█")


def test_the_allocator_tells_of_allocations() -> None:
    """Of both sides, where they differ."""
    assert "9 → 10 allocations" in words(usual())


def test_allocations_that_were_not_counted_are_not_shown() -> None:
    """The system's allocator cannot."""
    shown = words(explained(side("base", BASE), side("new", NEW)), sections=("layer",))

    assert "allocations" not in shown


def test_a_function_is_shown_with_its_costs_and_calls() -> None:
    """The largest change first; a dash where it was not executed."""
    lines = rendered(usual(), sections=("function",))
    place = next(number for number, line in enumerate(lines) if line.startswith("by function"))
    row = lines[place + 2].split()

    assert "by function (3 changed)" == lines[place]
    assert ["–", "212", "+212", "0", "→", "1"] == row[:6]


def test_functions_beyond_the_limit_are_summed() -> None:
    """In a line of their own."""
    shown = words(usual(), sections=("function",), limit=1)

    assert "by function (1 of 3 changed)" in shown
    assert "899 890 -9 … and 2 more" in shown


def test_a_limit_of_none_shows_all() -> None:
    """As everywhere in this program."""
    assert "by function (3 changed)" in words(usual(), limit=0)


def test_callers_of_the_largest_changes_are_shown() -> None:
    """With calls and what is below them."""
    shown = words(usual(), sections=("function",))

    assert "callers of malloc, with what is below it" in shown
    assert "0 11 +11 0 → 1" in shown


def test_an_inlined_function_is_reported() -> None:
    """Below the functions, with what it comes to."""
    base = costs_of([(CPU, "f", 100), (CPU, "g", 30)], ((0, 1, 1, 30),))
    new = costs_of([(CPU, "f", 125), (CPU, "h", 5)], ((0, 1, 1, 5),))
    shown = words(explained(side("base", base), side("new", new)))

    assert "g is inlined into f: -5 in all" in shown


def test_a_function_with_other_parameters_is_reported() -> None:
    """It is one function, under its new name."""
    base, new = costs_of([(CPU, "f(int)", 100)]), costs_of([(CPU, "f(int, bool)", 107)])
    shown = words(explained(side("base", base), side("new", new)))

    assert "100 107 +7 f other" in shown
    assert "With other parameters than in base: f." in shown


def test_a_side_without_calls_is_reported() -> None:
    """Files of earlier versions have none."""
    base = attrs.evolve(BASE, calls=())
    shown = words(explained(side("base", base), side("new", NEW)))

    assert "base was stored without calls" in shown
    assert "99 110 +11 ? → 10 malloc" in shown
    assert "callers of" not in shown


@pytest.mark.parametrize("section", SECTIONS)
def test_sections_are_shown_alone_on_request(section: str) -> None:
    """Each with its heading."""
    lines = rendered(usual(), sections=(section,))

    assert [f"by {section}"] == [
        " ".join(line.split()[:2]).rstrip(":").lower() for line in lines if line.startswith("by ")
    ]


# What ran


def ran(new: Executed | None, base: Executed | None = EXECUTED, **options: Any) -> list[str]:
    """What is said of it."""
    sides = side("base", BASE, executed=base), side("new", NEW, executed=new)
    sections = options.pop("sections", ("python", "operator"))
    lines = rendered(explained(*sides), sections=sections, **options)
    return [line for line in lines[5:-2] if line]


def test_what_ran_comes_before_native_functions() -> None:
    """The level that a person can open, then the one that it costs."""
    lines = ran(EDITED, sections=SECTIONS)

    assert [
        "by Python function (1 of 2 changed, 27 → 37 bytecodes)",
        "  torch/nn/modules/linear.py:130 Linear.forward  20 → 30 bytecodes",
        "by operator (1 of 2 changed, 1 → 2 calls)",
        "  +1 aten::contiguous",
    ] == lines[:4]
    assert lines[4].startswith("by layer")


def test_what_ran_unchanged_takes_a_line() -> None:
    """It says that nothing was overlooked."""
    assert [
        "by Python function: none of 2 changed, 27 bytecodes",
        "by operator: none of 1 changed, 1 call",
    ] == ran(EXECUTED)


def test_changes_of_what_ran_are_limited_as_functions_are() -> None:
    """The largest are shown."""
    less = Executed((), (), "3.11")

    assert [
        "by Python function (2 of 2 changed, 27 → 0 bytecodes)",
        "  torch/nn/modules/linear.py:130 Linear.forward  20 → 0 bytecodes",
        "  … and 1 more",
    ] == ran(less, sections=("python",), limit=1)


@pytest.mark.parametrize(
    ("base", "new", "titles"),
    [(None, None, "base and new"), (None, EXECUTED, "base"), (EXECUTED, None, "new")],
)
def test_a_side_stored_without_what_ran_is_named(
    base: Executed | None, new: Executed | None, titles: str
) -> None:
    """In one line."""
    assert [f"Python functions and operators were not stored for {titles}."] == ran(new, base)


def test_bytecodes_of_two_versions_of_python_are_not_compared() -> None:
    """Operators are."""
    assert [
        "by Python function: Python 3.11 and 3.13 cannot be compared",
        "by operator: none of 1 changed, 1 call",
    ] == ran(attrs.evolve(EXECUTED, python="3.13"))


def test_a_cpp_case_has_operators_alone() -> None:
    """No Python is executed."""
    cpp = Executed(None, (ADD,))

    assert ["by operator: none of 1 changed, 1 call"] == ran(cpp, cpp)


# Width


@pytest.mark.parametrize("width", [80, 100, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """However long the names are."""
    assert max(map(cell_len, rendered(usual(), width=width))) <= width


NAMES = st.text(st.characters(exclude_categories=["Nd", "Nl", "No"]))


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(-(10**9), 10**9)), max_size=8))
def test_any_functions_can_be_shown(rows: list[tuple[str, str, int]]) -> None:
    """At 80 columns, with no number cut."""
    lines = rendered(explained(side("base", BASE), side("new", costs_of(rows))))

    assert max(map(cell_len, lines)) <= 80
    assert [] == [line for line in lines if re.search(r"\d…", line)]


def test_what_looks_like_markup_is_none() -> None:
    """Names of functions hold brackets."""
    new = costs_of([(CPU, "f[red]", 5)])

    assert "f[red]" in words(explained(side("base", BASE), side("new", new)))


# Files


def test_markdown_adds_up_as_well() -> None:
    """Each of its tables ends in the sum."""
    sums = [
        line
        for line in markdown.explanation(Report(usual())).splitlines()
        if line.startswith("| **sum**")
    ]

    assert [203] * 3 == [numbers(line)[2] for line in sums]


def both_levels() -> Report:
    """A report on sides that executed different code."""
    return Report(explained(side("base", BASE), side("new", NEW, executed=EDITED)))


def test_markdown_has_both_levels() -> None:
    """As lists, before the tables."""
    text = markdown.explanation(both_levels())
    place = "torch/nn/modules/linear.py:130 Linear.forward 20 → 30 bytecodes"

    assert f"bytecodes)**\n\n- {place}\n\n**by operator (" in text
    assert text.index("- +1 aten::contiguous") < text.index("| layer |")


def test_json_has_both_levels() -> None:
    """All that was executed, and not only what changed."""
    found = json.loads(json_format.explanation(both_levels()))["executed"]

    assert {"python": "3.11", "bytecodes": 37, "operator_calls": 2} == found["new"]
    assert [10, 0] == [function["change"] for function in found["functions"]]
    assert {
        "file": "torch/nn/modules/linear.py",
        "line": 130,
        "name": "Linear.forward",
        "base": 20,
        "new": 30,
        "edited": True,
        "change": 10,
    } == found["functions"][0]
    assert [
        {"name": "aten::contiguous", "backward": False, "base": 0, "new": 1, "change": 1},
        {"name": "aten::add", "backward": False, "base": 1, "new": 1, "change": 0},
    ] == found["operators"]


SOURCES = (
    SourceChange(
        *("torch/a.py", "f", SourceLines(1, ("def f(): # ```",)), SourceLines(2, ("def f():",))),
        remarks=("new: a_b",),
    ),
)


def test_markdown_shows_lines_as_code() -> None:
    """What a line holds cannot end it."""
    text = markdown.explanation(attrs.evolve(both_levels(), sources=SOURCES))

    assert "- new: a\\_b\n\n````diff\n-    1 def f(): # ```\n+    2 def f():\n````" in text


def test_json_holds_lines_if_they_are_asked_for() -> None:
    """Otherwise null."""
    report = both_levels()
    documents = [
        json.loads(json_format.explanation(attrs.evolve(report, sources=sources)))["sources"]
        for sources in (None, (), SOURCES)
    ]

    assert [None, []] == documents[:2]
    assert {"first": 2, "lines": ["def f():"], "is_checked": True} == documents[2][0]["new"]


def test_lines_stand_below_what_ran() -> None:
    """Before the native functions."""
    lines = rendered(both_levels().explanation, sources=SOURCES)
    places = [
        next(number for number, line in enumerate(lines) if line.startswith(text))
        for text in ("by operator", "torch/a.py f", "by layer")
    ]

    assert places == sorted(places)


def test_json_has_null_where_what_ran_is_not_known() -> None:
    """The other side keeps its totals."""
    report = Report(explained(side("base", BASE), side("new", NEW, executed=None)))
    found = json.loads(json_format.explanation(report))["executed"]

    assert found["base"]["bytecodes"] == 27
    assert [None] * 3 == [found[name] for name in ("new", "functions", "operators")]


def test_json_holds_every_function() -> None:
    """Also those that did not change, with their whole names."""
    document = json.loads(json_format.explanation(Report(usual())))

    assert 1 == document["explain_version"]
    assert "add" == document["label"][-1]
    assert 203 == document["change"]
    assert 4 == len(document["functions"])
    assert {
        "function": "malloc",
        "library": STEADY,
        "layer": "allocator",
        "was": "",
        "kind": "changed",
        "base": 99,
        "new": 110,
        "change": 11,
        "base_calls": 9,
        "new_calls": 10,
    } in document["functions"]


@pytest.mark.parametrize("name", ["layers", "libraries", "functions"])
def test_json_adds_up_as_well(name: str) -> None:
    """Per run, like all in it."""
    document = json.loads(json_format.explanation(Report(usual())))

    assert document["change"] == sum(row["change"] for row in document[name])


def test_a_library_without_names_is_reported() -> None:
    """Its functions cannot be compared one by one."""
    stripped = costs_of([(CPU, "0x4ac0", 900), (CPU, "0x4b10", 69)], ())
    text = words(explained(side("base", stripped), side("new", NEW)))

    assert "Most functions of libtorch_cpu.so (base) have no names and are shown as ???." in text
    assert "have no names" not in words(usual())
