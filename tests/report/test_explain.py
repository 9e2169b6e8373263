"""The explanation of a case: on a terminal, in Markdown and as JSON."""

from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.executed import (
    CudaCalls,
    CudaKind,
    Executed,
    OperatorCalls,
    PythonFunction,
    SourceChange,
    SourceLines,
)
from instruction_counts.domain.outcomes import EstimatedCycles, FunctionCosts
from instruction_counts.report import explain as report
from instruction_counts.report.document import Document
from instruction_counts.report.renderers import markdown
from instruction_counts.session.explaining import Explained
from tests import builders
from tests.builders import CPU, FORWARD, costs_of, counted
from tests.fakes import make_record
from tests.report.rendered import as_json, screen, words

LONG = "void at::native::(anonymous namespace)::" + "a_very_long_kernel_name_" * 6 + "<6>(int)"
CALL = "at::_ops::add_Tensor::call(at::Tensor const&)"
ADD_KERNEL = "at::native::add(at::Tensor const&)"
BASE = costs_of(
    {CALL: 70, ADD_KERNEL: 800, "malloc": 99},
    [(CALL, ADD_KERNEL, 1, 899), (ADD_KERNEL, "malloc", 9, 99)],
)
NEW = costs_of(
    {CALL: 70, ADD_KERNEL: 780, LONG: 212, "malloc": 110},
    [
        (CALL, ADD_KERNEL, 1, 1102),
        (ADD_KERNEL, "malloc", 9, 99),
        (ADD_KERNEL, LONG, 1, 223),
        (LONG, "malloc", 1, 11),
    ],
)

STATEMENT = PythonFunction("<case>", 0, "statement", "", 7)
ADD = OperatorCalls("aten::add", backward=False, calls=1)
FILL = CudaCalls(CudaKind.LAUNCH, "at::fill<float>(int)", 1)
EXECUTED = Executed((FORWARD, STATEMENT), (ADD,), "3.11")
EDITED = Executed(
    (attrs.evolve(FORWARD, bytecodes=30, digest="bb"), STATEMENT),
    (ADD, OperatorCalls("aten::contiguous", backward=False, calls=1)),
    "3.11",
)
OF_OTHER_PYTHON = attrs.evolve(EXECUTED, python="3.13")


def side(
    title: str,
    functions: FunctionCosts,
    stmt: str = "x + y",
    facts: Mapping[str, str] | None = None,
    **fields: Any,
) -> Side:
    """One side with one case, whose count is that of its functions; ``fields`` of its outcome."""
    per_run = round(sum(cost.exclusive for cost in functions.costs) / functions.runs)
    outcome = counted(per_run, **{"functions": functions, "executed": EXECUTED, **fields})
    record = make_record("Top", "add", outcome=outcome, stmt=stmt)
    return builders.side(record, title=title, **(facts or {}))


def explained(*sides: Side) -> Explained:
    """The explanation of the only case."""
    (key,) = sides[0].records
    functions = [side.records[key].outcome.functions for side in sides]
    base = functions[0] if len(sides) > 1 else None
    return Explained(key, sides, difference(base, functions[-1]))


def pair(functions: FunctionCosts = NEW, **changes: Any) -> Explained:
    """Some functions that changed, and one that did not; ``changes`` are those of new."""
    return explained(side("base", BASE), side("new", functions, **changes))


def document(found: Explained, *by: str) -> Document:
    """Some sections, or all of them."""
    return report.explanation_document(found, by or report.SECTIONS)


def test_what_is_asked_of_cuda_is_a_table_where_the_case_is_on_it() -> None:
    """Of others nothing is said."""
    base, new = (
        attrs.evolve(EXECUTED, cuda=(attrs.evolve(FILL, calls=calls),)) for calls in (1, 3)
    )
    found = explained(side("base", BASE, executed=base), side("new", NEW, executed=new))

    assert "by CUDA call, 1 of 1 changed calls base new change launch of fill 1 3 +2" in words(
        document(found, "cuda")
    )
    assert "CUDA" not in words(document(pair(), "cuda"))


def test_estimated_cycles_are_a_table_where_each_side_has_them_of_one_machine() -> None:
    """And rows of their own in JSON, where they are null else."""
    base, new, other = (
        side("new", NEW, cycles=EstimatedCycles(machine, (9, 9, 9)), cycle_costs=costs)
        for machine, costs in (("a", BASE), ("a", NEW), ("b", NEW))
    )

    title = "estimated cycles by function, of the median layout"
    assert f"{title}, 3 of 4 changed cycles" in words(document(explained(base, new)))
    assert f"{title}: none of" in words(document(explained(new, new)))
    assert "estimated cycles" not in words(document(explained(base, other)))
    explained(base, new).require(["cycles"])
    with pytest.raises(UsageError, match="cycles are those of different machines"):
        explained(base, other).require(["cycles"])
    assert "estimated cycles" in words(document(explained(new), "cycles"))
    rows = as_json(document(explained(base, new)))["cycles"]
    assert {"base", "new", "change", "function"} < {*rows[0]}
    assert as_json(document(pair()))["cycles"] is None


def test_two_sides_show_what_changed_level_by_level() -> None:
    """What people can open first; what adds up stands below each table."""
    found = explained(
        side("a.json", BASE, metrics={"allocations": 9}),
        side(
            *("new", NEW),
            facts={"torch": "2.14.0", "libc": "glibc-2"},
            executed=EDITED,
            metrics={"allocations": 10},
        ),
    )

    assert (
        """\
Top / add · Python · Eager · Forward
              base: a.json           new
torch         2.13.0+cpu (cf30153c)  2.14.0 (cf30153c)
C library     glibc-2.36             glibc-2
instructions  969                    1,172
+203 instructions per iteration (+20.95%)

by Python function, 1 of 2 changed  bytecodes    base  new  change
  torch/nn/modules/linear.py:130 Linear.forward    20   30     +10  █████ edited

by operator, 1 of 2 changed  calls  base  new  change
  aten::contiguous                     –    1      +1  ████████████████

by layer  instructions  base    new  change
  kernels                800    992    +192  ████████████████
  allocator               99    110     +11  █                9 → 10 allocations
  dispatcher              70     70       0
  sum                    969  1,172    +203

Flame graph: --output FILE.html, or FILE.speedscope.json for speedscope.app
""".splitlines()
        == screen(document(found, "python", "operator", "layer"))
    )


def test_one_side_shows_all_that_it_spends() -> None:
    """With shares in place of changes."""
    assert (
        """\
by Python function                               bytecodes   share
  torch/nn/modules/linear.py:130 Linear.forward         20   74.1%
  <case> statement                                       7   25.9%
  sum                                                   27  100.0%

by function (3)               instructions   share  calls  layer
  at::native::add                      800   82.6%  1      kernels
  malloc                                99   10.2%  9      allocator
  at::_ops::add_Tensor::call            70    7.2%  0      dispatcher
  sum                                  969  100.0%
""".splitlines()
        == screen(document(explained(side("run 12", BASE)), "python", "function"))[5:-2]
    )


AMOUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(-(10**9), 10**9))


@given(AMOUNTS, AMOUNTS, st.integers(1, 7))
def test_every_row_and_every_column_adds_up(base: Any, new: Any, runs: int) -> None:
    """To the instruction, though amounts are fractions; rows that are not shown, too."""
    sides = [side(name, costs_of(rows, runs=runs)) for name, rows in (("base", base), ("new", new))]
    for table in document(explained(*sides)).tables:
        for most in (None, 1):
            rows, _ = table.first(most)
            amounts = [[cell.value or 0 for cell in row.cells[1:4]] for row in rows]
            assert all(row[0] + row[2] == row[1] for row in amounts)
            if table.total is not None:
                sums = [sum(column) for column in zip(*amounts[:-1], strict=True)]
                assert sums == amounts[-1]


def test_nothing_changed_is_reported_as_such() -> None:
    """Without a list of functions. An import has no operators that could have changed."""
    text = words(document(explained(side("base", BASE), side("new", BASE))))
    alone = explained(side("base", BASE, executed=Executed((STATEMENT,), (), "3.11")))

    for said in (
        "no change in instructions per iteration",
        "by function: none of 3 changed",
        "by Python function: none of 2 changed",
        "by operator: none of 1 changed",
    ):
        assert said in text
    assert "by operator: none by" in words(document(alone))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"stmt": "x - y"}, "The definitions differ"),
        (
            {"exact": False, "spread": 559, "varying": ("at::random()",)},
            "~ new: the windows do not agree (spread 559; at::random).",
        ),
        ({"exact": False}, "~ new: the windows agree, but those of another process may not."),
        ({"executed": None}, "Python functions and operators were not stored for new."),
        *(
            ({"executed": OF_OTHER_PYTHON}, f"by {what}: Python 3.11 and 3.13 cannot be compared")
            for what in ("Python function", "source")
        ),
        ({"functions": attrs.evolve(NEW, calls=())}, "new was stored without calls"),
        (
            {"functions": costs_of({"0x4ac0": 900, "0x4b10": 69})},
            "Most functions of libtorch_cpu.so (new) have no names and are shown as ???.",
        ),
    ],
)
def test_what_makes_the_difference_another_one_is_said(
    changes: dict[str, Any], expected: str
) -> None:
    """Definitions that differ, a count that is not exact, and what is not known."""
    found, unchanged = (
        words(report.explanation_document(each, sources=())) for each in (pair(**changes), pair())
    )

    assert expected in found
    assert expected not in unchanged


def test_functions_that_do_not_add_up_to_the_counts_are_reported() -> None:
    """The reference engine counts them in other windows; of C++ cases operators alone are known."""
    found = pair(executed=Executed(None, (ADD,)))
    text = words(document(attrs.evolve(found, difference=difference(NEW, BASE))))

    assert "The functions' changes add up to -203" in text
    assert ("by Python function" in text, "by operator" in text) == (False, True)


def test_functions_are_limited_and_the_others_summed_up() -> None:
    """0 shows all; callers of the largest changes come with calls and what is below them."""
    lines = screen(document(pair(), "function"), limit=1)
    start = next(at for at, line in enumerate(lines) if line.startswith("by function"))

    assert lines[start].startswith("by function, 3 of 4 changed  instructions")
    assert ["…", "2", "more", "899", "890", "-9"] == lines[start + 3].split()
    text = words(document(pair(), "function"), limit=0)
    assert "callers of malloc, inclusive" in text
    assert "0 11 +11 0 → 1 kernels" in text


SOURCES = (
    SourceChange(
        *("torch/a.py", "f", SourceLines(1, ("def f(): # ```",)), SourceLines(2, ("def f():",))),
        remarks=("new: a_b",),
    ),
)


def test_lines_stand_between_what_ran_and_native_functions() -> None:
    """As code, which nothing in it can end; JSON holds them, too."""
    found = report.explanation_document(pair(executed=EDITED), sources=SOURCES)
    text = markdown.render(found)
    places = [text.index(part) for part in ("by operator", "**torch/a.py f**", "by layer")]

    assert places == sorted(places)
    assert "\n````\nnew: a_b\n-    1 def f(): # ```\n+    2 def f():\n````" in text
    assert {"first": 2, "lines": ["def f():"], "is_checked": True} == (
        as_json(found)["sources"][0]["new"]
    )
    assert as_json(document(pair()))["sources"] is None


def test_json_has_every_function_and_what_was_executed() -> None:
    """Also what did not change, with whole names; null where it is not known."""
    found, unknown, alone = (
        as_json(document(some))
        for some in (pair(executed=EDITED), pair(executed=None), explained(side("run 12", BASE)))
    )
    executed = found["executed"]

    assert (1, "add", 4) == (found["explain_version"], found["label"][-1], len(found["functions"]))
    for name in ("layers", "libraries", "functions"):
        assert found["change"] == sum(row["change"] for row in found[name]) == 203
    assert {
        "function": "malloc",
        "library": CPU,
        "layer": "allocator",
        "base": 99,
        "new": 110,
        "change": 11,
        "base_calls": 9,
        "new_calls": 10,
    } in found["functions"]
    assert [10, 0] == [function["change"] for function in executed["functions"]]
    assert {"python": "3.11", "bytecodes": 37, "operator_calls": 2} == executed["new"]
    assert ["aten::contiguous", "aten::add"] == [row["name"] for row in executed["operators"]]
    assert [None] * 3 == [unknown["executed"][key] for key in ("new", "functions", "operators")]
    assert (None, 27, 969) == (
        alone["base"],
        alone["executed"]["new"]["bytecodes"],
        alone["new"]["instructions"],
    )


def test_flame_graphs_are_those_of_the_sides() -> None:
    """Base and new; of one side its own."""
    sides = side("base", BASE), side("new", NEW)
    for some, ends in ((sides, {"base": 969, "new": 1172}), (sides[1:], {"new": 1172})):
        found = report.explanation_document(explained(*some), with_profiles=True).profiles

        assert found is not None
        assert ends == {side["name"]: side["endValue"] for side in found["profiles"][:2]}


@pytest.mark.parametrize("section", [name for name in report.SECTIONS if name != "cycles"])
def test_sections_are_shown_alone_on_request(section: str) -> None:
    """Each under its title."""
    base, new = attrs.evolve(EXECUTED, cuda=()), attrs.evolve(EDITED, cuda=(FILL,))
    found = explained(side("base", BASE, executed=base), side("new", NEW, executed=new))

    assert document(found, section).tables[0].title.lower().startswith(f"by {section}")


OLD_LINES = (
    "    def forward(self, x):",
    *(f"        {name}" for name in "abcdefgh"),
    "        return x",
)
NEW_LINES = (*OLD_LINES[:-1], "        y = x", "        return y")
CHANGED = SourceChange(
    "torch/linear.py", "forward", SourceLines(130, OLD_LINES), SourceLines(131, NEW_LINES)
)
ONE_SIDE = SourceChange("a.py", "f", None, SourceLines(1, ("x = 1",) * 99))
FAR_APART = attrs.evolve(
    CHANGED, new=SourceLines(130, (OLD_LINES[0], "        z", *OLD_LINES[2:-1], "        return y"))
)


def lines_shown(*changes: SourceChange) -> list[str]:
    """The lines of a terminal."""
    return screen(Document("x", sections=tuple(report.source_blocks(changes))))


def test_lines_that_changed_are_shown_with_some_around_them() -> None:
    """And with the numbers that each side has."""
    assert [
        "torch/linear.py forward",
        "     137     f",
        "     138     g",
        "     139     h",
        "  -  139     return x",
        "  +  140     y = x",
        "  +  141     return y",
    ] == lines_shown(CHANGED)


@pytest.mark.parametrize(("change", "number"), [(FAR_APART, 13), (ONE_SIDE, 42)])
def test_what_is_left_out_is_marked(change: SourceChange, number: int) -> None:
    """Between lines far from each other, and at the end of a long function of one side."""
    lines = lines_shown(change)

    assert [report.NONE_CHANGED] == lines_shown()  # the option was not overlooked
    assert 1 == [line.strip() for line in lines].count("…")
    assert number == len(lines)


def test_one_side_is_shown_alone() -> None:
    """With the reason, and not as if all of it was new."""
    lines = lines_shown(attrs.evolve(CHANGED, base=None, remarks=("base: /a/linear.py is gone",)))

    assert ["  base: /a/linear.py is gone", "     131 def forward(self, x):"] == lines[1:3]
    assert not [line for line in lines if line.strip().startswith("+")]
