"""``--time-budget``: what a command shows and writes of the cases that were skipped."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from instruction_counts.domain.outcomes import Outcome
from instruction_counts.report.renderers import markdown
from instruction_counts.report.run import problems, run_document
from tests.builders import counted
from tests.cli.program import Program
from tests.cli.workplace import Workplace
from tests.fakes import make_record, make_run

LEFT_OUT = Outcome.out_of_time(60)


BASE = dict.fromkeys("abc", 1000)


def partly(count: int) -> dict[str, int | Outcome]:
    """A run in which only the first case was measured."""
    return {"a": count, "b": LEFT_OUT, "c": LEFT_OUT}


@pytest.fixture
def place(tmp_path: Path, program: Program) -> Workplace:
    """With a baseline of three cases."""
    made = Workplace(tmp_path, program)
    made.accept(BASE)
    return made


SENTENCE = "1 of 3 cases measured within 60 s; skipped: 2"


@pytest.mark.parametrize(("count", "code"), [(1000, 0), (1500, 3)])
def test_the_exit_code_is_that_of_what_was_measured(
    count: int, code: int, place: Workplace
) -> None:
    """What was left out is neither missing nor failed, and listed: on the screen and in files."""
    comment, junit = place.folder / "comment.md", place.folder / "junit.xml"
    limits = place.folder / "limits.yaml"
    limits.write_text("default: {hard: 1%}\nfail_on_missing: true\n")
    options = (f"--gate={limits}", f"--output={comment}", f"--output={junit}")
    assert code == place.check(partly(count), *options)
    suite = ET.fromstring(junit.read_text())[0]  # noqa: S314 - it was written here
    skipped = [skipped.get("message") for skipped in suite.iter("skipped")]

    assert SENTENCE in " ".join(place.shown.split())
    assert "2 skipped by the time budget" in place.shown
    assert "failed in" not in place.shown
    listed = f"- {SENTENCE}: Group / b · C++ · Eager · Forward, Group / c"
    assert listed in comment.read_text()
    assert ["time budget of 60 s"] * 2 == skipped
    assert ["2", "3"] == [suite.get("skipped"), suite.get("tests")]
    assert (suite.findtext("system-out") or "").startswith(SENTENCE)


def test_what_failed_last_time_is_remembered_while_it_is_left_out(place: Workplace) -> None:
    """Else a check that had no time for it would let it pass in the one after."""
    state = place.folder / "check.json"
    handed_on = [place.limits, f"--previous={state}", f"--output={state}"]
    wobbling = counted(1101, exact=False, spread=5)

    assert [3, 0, 3] == [
        place.check({**BASE, "b": outcome}, *handed_on) for outcome in (1500, LEFT_OUT, wobbling)
    ]


def test_a_comparison_tells_them_too(place: Workplace) -> None:
    """On the terminal, in Markdown and in JSON."""
    sides = [place.run_file(BASE, "base.json"), place.run_file(partly(1500), "new.json")]
    files = [place.folder / name for name in ("c.md", "c.json")]
    outputs = [f"--output={path}" for path in files]
    answer = place.program("compare", *sides, *outputs)

    assert 3 == answer.code
    assert SENTENCE in " ".join(answer.out.split())
    assert SENTENCE in files[0].read_text()
    assert [("b", "60 s"), ("c", "60 s")] == [
        (case["label"][1], case["time_budget"])
        for case in json.loads(files[1].read_text())["skipped_by_budget"]
    ]


def test_a_run_is_accepted_without_what_it_left_out(place: Workplace) -> None:
    """These cases keep their counts."""
    place.accept(partly(2000))
    cases = json.loads(place.baseline.read_text())["cases"]

    assert [2000, 1000, 1000] == [case["instructions"] for case in cases]


def test_a_run_lists_them_once() -> None:
    """And not as rows or problems."""
    run = make_run(make_record("a"), make_record("b", outcome=LEFT_OUT))
    text = markdown.render(run_document(run))

    assert [] == list(problems(run))
    assert "| b " not in text
    assert 1 == text.count("1 of 2 cases measured within 60 s")


@pytest.mark.parametrize("command", [["compare"], ["baseline", "check"]])
def test_a_budget_for_nothing_is_refused(command: list[str], place: Workplace) -> None:
    """Stored runs take no time."""
    base = place.run_file(BASE, "base.json") if command == ["compare"] else place.baseline
    new = place.run_file({"a": 1000})

    assert "--time-budget: nothing is measured" in place.program.error(
        *command, base, new, "--time-budget", "60"
    )
