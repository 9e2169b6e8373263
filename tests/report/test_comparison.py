"""A comparison as a document: the answer, what explains it, one line for each case."""

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.comparison import Comparison, compare, verified
from instruction_counts.analysis.verdicts.difference import Layouts, Verdict
from instruction_counts.core.facts import Layer, Model, Use
from instruction_counts.core.types import Language
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.outcomes import EstimatedCycles, Outcome, Output, TensorValue, Times
from instruction_counts.report.cases import selector
from instruction_counts.report.comparison import comparison_document
from instruction_counts.report.document import Table
from instruction_counts.report.renderers import csv
from tests.builders import LONGER_FORWARD, comparison, counted, cpp, difference, key, side
from tests.fakes import failed, paired_times
from tests.report.rendered import as_json, screen, words


def of_one(base: Outcome, new: Outcome) -> Comparison:
    """Of one case."""
    return compare(side(cpp("add", outcome=base)), side(cpp("add", outcome=new), title="new"))


def shown(found: Comparison) -> list[str]:
    """What a terminal of 80 columns shows, line by line."""
    return screen(comparison_document(found, ("11", "12")))


LOCK = Cause(CauseKind.NATIVE, "pthread_mutex_lock", 1000, 400, where="libc.so.6", more_calls=-6)
CASES = (
    *(
        difference(9000 + n, 8400 + n, label=f"op{n}", verdict=Verdict.BETTER, causes=(LOCK,))
        for n in range(25)
    ),
    *(difference(5000, 5400, label=name, causes=(LONGER_FORWARD,)) for name in ("a", "b")),
    difference(100, 100, verdict=Verdict.SAME, label="same"),
)


def test_only_cases_whose_counts_were_compared_move_the_change_in_all() -> None:
    """On the screen and in files: other code, or another output, has counts that say nothing."""
    other = difference(1000, 10, verdict=Verdict.INCOMPARABLE, label="other")
    document = comparison_document(comparison(other, difference(100, 110)))

    assert "2 cases: 1 worse · 1 incomparable · in all +10.00%" in screen(document)
    assert 0.1 == pytest.approx(as_json(document)["mean_change"])


def test_a_release_is_the_answer_its_causes_and_a_line_a_case() -> None:
    """Causes are counted once, and called by letters below; the last line is what to type next."""
    lines = shown(comparison(*CASES))

    assert [
        "       base                   new",
        "torch  2.13.0+cpu (cf30153c)  2.13.0+cpu (cf30153c)",
        "28 cases: 1 same · 25 better · 2 worse · in all -5.45%",
        "",
        "     share  cases  what explains that share of all changes",
        "  A  94.9%     25  pthread_mutex_lock (6 calls fewer)",
        "  B   3.8%      2  torch/nn/modules/linear.py:130 Linear.forward (20 → 30",
        "                   bytecodes)",
        "      1.3%         what single cases have alone",
        "",
        "WORSE  not verified   base    new  change       %",
        "  a · C++            5,000  5,400    +400  +8.00%",
        "    why  B Linear.forward",
        "  b · C++            5,000  5,400    +400  +8.00%",
        "    why  B Linear.forward",
        "",
        "BETTER  not verified   base    new  change       %",
        "  op0 · C++           9,000  8,400    -600  -6.67%",
        "    why  A pthread_mutex_lock",
    ] == lines[:19]
    assert "  … 5 more: --limit 0 shows all" in lines
    assert "Next: instruction-counts explain 11 12 a" == lines[-1]
    assert max(len(line) for line in lines if not line.startswith("Not verified")) <= 80


COUNTS = st.integers(1, 10**6)
LAYOUTS = st.none() | st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=4).map(
    lambda pairs: Layouts(*zip(*pairs, strict=True))
)


@given(st.lists(st.tuples(COUNTS, COUNTS, LAYOUTS, st.sampled_from(Verdict)), min_size=1))
def test_in_every_row_base_and_change_add_up_to_new(drawn: list[Any]) -> None:
    """Whatever layouts moved: on the screen, in Markdown, in CSV and in JSON."""
    cases = [
        difference(base, new, label=f"{place}", verdict=verdict, layouts=layouts)
        for place, (base, new, layouts, verdict) in enumerate(drawn)
    ]
    document = comparison_document(comparison(*cases))
    values = as_json(document)["cases"]
    sums = [(case["base"], case["change"], case["new"]) for case in values]
    for table in (*document.tables, document.records):
        if isinstance(table, Table) and any(column.key == "change" for column in table.columns):
            sums += zip(*(table.column(key) for key in ("base", "change", "new")), strict=True)

    assert all(base + change == new for base, change, new in sums)
    assert len(sums) >= 2 * len(cases)


def test_the_next_command_selects_one_case() -> None:
    """By the modes that tell it from others of its label."""
    one = key("a b")
    others = [attrs.evolve(one, language=Language.PYTHON), attrs.evolve(one, num_threads=2)]

    assert "'a b'" == selector(one, [one])
    assert "'a b' --language c++ --num-threads 1" == selector(one, [one, *others])


SLOW, FAST = (Times.of([value] * 10, 1) for value in (2e-6, 1e-6))
OUTPUTS = [Output("i", (TensorValue("z", shape, "float32", "d", 0, ""),)) for shape in ((2,), (3,))]
OTHER_OUTPUT = of_one(*(counted(9, output=output) for output in OUTPUTS))
CONV = Layer("Conv2d", (Use("Net", "a", 17),))
NET = attrs.evolve(cpp("Net", outcome=counted(34_000)), subject=Model("Net"))


def in_turns(base: int | None, new: int | None, *ratios: float) -> Comparison:
    """A case that was counted so, if it was, and timed in rounds of these ratios."""
    paired = attrs.evolve(paired_times(ratios), base="default", new="default")
    times = [Times.of(values_s, 1) for values_s in (paired.base_s, paired.new_s)]
    outcomes = zip((base, new), times, strict=True)
    found = [counted(count or 0, times=of, paired=paired) for count, of in outcomes]
    if base is None:
        found = [attrs.evolve(outcome, instructions=None) for outcome in found]
    return of_one(*found)


def estimated(base: int, new: int, *, more: int = 0, machine: str = "a") -> Comparison:
    """A case with these cycles in each of three layouts, of which data makes ten each time."""
    machines = (("a", base), (machine, new))
    cycles = [EstimatedCycles(name, (each,) * 3) for name, each in machines]
    metrics = [{"l1_data_misses": each // 10, "mispredictions": 5} for each in (base, new)]
    return of_one(
        counted(1000, cycles=cycles[0], metrics=metrics[0]),
        counted(1000 + more, cycles=cycles[1], metrics=metrics[1]),
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            of_one(counted(1000, times=FAST), counted(2000, times=SLOW)),
            "; time 1 us → 2 us (+100.00%)",
        ),
        (
            of_one(*(counted(1000, metrics={"bytecodes": count}) for count in (97, 24))),
            "% add · C++ 1,000 1,000 0 0% why identical count; bytecodes: 97 → 24 (better)",
        ),
        (
            compare(
                *(
                    side(cpp("a", outcome=counted(count, metrics={"bytecodes": count})))
                    for count in (100, 111)
                ),
                min_effect=Effect(relative=0.5),
            ),
            "OTHER METRICS CHANGED verdict on instructions: same",
        ),
        (
            of_one(counted(1000), failed(message="ValueError: bad")),
            "FAILED base add · C++ 1,000 why failed in new: ValueError: bad",
        ),
        (OTHER_OUTPUT, "OUTPUT DIFFERS the builds compute different values"),
        (OTHER_OUTPUT, "output: z: shape (2,) → (3,)"),
        # What noise moves is no change in all.
        (
            comparison(difference(100, 106, noise=18, verdict=Verdict.SAME)),
            "1 case: 1 same No case changed",
        ),
        # It is not ``-0.00%``, and few changed cases have no list of causes above them.
        (
            comparison(*(difference(100_000, 99_999 + by, label=f"{by}") for by in (0, 1))),
            "2 cases: 2 worse · in all 0% WORSE",
        ),
        (
            compare(*(side(cpp("a", outcome=n, subject=CONV), NET) for n in (1000, 1100))),
            "+5.0% of Net (17 calls)",
        ),
        (
            compare(side(title="3", torch="2.1"), side(title="new", libc="glibc-2")),
            "base: 3 new torch 2.1 (cf30153c) 2.13.0+cpu (cf30153c) C library glibc-2.36 glibc-2",
        ),
        (
            compare(side(allocator="steady"), side(allocator="system")),
            "allocator steady system counts cannot be compared",
        ),
        # Times and cycles do not change the verdict; where times and counts disagree, that is said.
        (
            in_turns(1000, 900, *[1.05] * 5),
            "why fewer instructions, slower: time 1 us → 1.05 us (+5.00% ± 0.00%)",
        ),
        (
            in_turns(1000, 1000, *[1.05] * 5),
            "add · C++ 1,000 1,000 0 0% +5.00% why time 1 us → 1.05 us (+5.00% ± 0.00%)",
        ),
        (in_turns(1000, 1100, *[1.05] * 5), "+100 +10.00% +5.00% why +100 at::native::add"),
        (in_turns(1000, 1100, *[1.001] * 5), "+100 +10.00% = why +100 at::native::add"),
        (in_turns(1000, 1100, 1.001, 1.2), "+100 +10.00% ? why +100 at::native::add"),
        (in_turns(1000, 1100, *[1.05] * 5), "1 case: 1 worse · in all +10.00% times: 1 slower"),
        (in_turns(None, None, *[1.05] * 5), "TIMES CHANGED timed in turns time add · C++ +5.00%"),
        (in_turns(None, None, 1.0, 1.5), "1 incomparable times: 1 cannot tell No case"),
        (
            estimated(2000, 2200),
            "in all memory layouts base new change % cycles add · C++ 1,000 1,000 0 0% +10.00%",
        ),
        (estimated(2000, 1800, more=100), "-10.00% why cycles: 2,000 → 1,800"),
        (estimated(2000, 2200), "first-level misses of data: 200 → 220"),
        (estimated(2000, 2001, more=100), "+100 +10.00% = why +100 at::native::add"),
        (estimated(2000, 2001), "estimated cycles: 1 no difference above 2% No case"),
        (
            estimated(2000, 2200, machine="b"),
            "Estimated cycles are not compared: they are those of different machines.",
        ),
    ],
)
def test_what_differs_is_said_where_it_is_looked_for(found: Comparison, said: str) -> None:
    """What prevents a comparison at the top; below a case what is not the change of its count."""
    assert 1 == words(comparison_document(found)).count(said)
    assert "time" not in " ".join(shown(of_one(counted(1, times=SLOW), counted(9, times=SLOW))))


def test_files_have_the_times_in_turns_with_their_rounds() -> None:
    """So that whoever doubts the interval can find another one."""
    time = as_json(comparison_document(in_turns(9, 9, 2.0)))["cases"][0]["time"]

    assert ("cannot tell", [2.0], 1) == (
        *(time["verdict"], time["paired"]["ratios"], time["paired"]["seed"]),
    )
    assert (0.0, None) == (time["low"], time["high"])


def test_files_say_whether_this_is_all_or_what_was_found_until_an_interrupt() -> None:
    """Whoever reads them cannot tell by the cases."""
    documents = [comparison_document(comparison(), interrupted=said) for said in (True, False)]

    assert [True, False] == [as_json(document)["interrupted"] for document in documents]


def test_what_was_verified_is_said_and_what_was_not_with_the_remedy() -> None:
    """A difference may be layout."""
    found = of_one(counted(1000), counted(2000))
    (suspect,) = found.suspects
    checked = verified(found, [{suspect.key: 1000}] * 2, [{suspect.key: 2000}] * 2)

    assert any(line.startswith("WORSE  verified in 2 memory layouts") for line in shown(checked))
    assert not any("Not verified" in line for line in shown(checked))
    assert any("Not verified" in line for line in shown(found))


def test_files_have_every_case_and_every_cause_with_its_cases() -> None:
    """Those that are the same, too; and the letter of causes that lead."""
    document = comparison_document(comparison(*CASES))
    head, first, *others = csv.render(document).splitlines()
    lock, forward = as_json(document)["causes"]

    assert [("worse", False), ("better", True)] == [
        (table.name, table.folded) for table in document.tables[1:]
    ]
    assert head.startswith("label,language,runtime,autograd,num_threads,verdict,reason,verified")
    assert first.startswith("op0,c++,eager,forward,1,better,exact difference,False,9000,8400,-600,")
    assert len(CASES) == 1 + len(others)
    assert ("A", "pthread_mutex_lock", 25) == (lock["letter"], lock["name"], len(lock["cases"]))
    assert (-600, 15_000) == (lock["most"], lock["explained_instructions"])
    assert {"label": ["a"], "instructions": 400, "change": 10}.items() <= (
        forward["cases"][0].items()
    )
