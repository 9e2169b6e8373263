"""``--time-budget``: what a command shows and writes of the cases that were skipped."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import attrs
import pytest

from core.types import Language
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.report import table
from instruction_counts.report.registry import render
from instruction_counts.storage.json_files import to_json
from tests.cli.program import Answer, Program
from tests.fakes import make_record, make_run
from tests.gate.fakes import counted

LEFT_OUT = Outcome.out_of_time(60)


@attrs.frozen
class Place:
    """A baseline of three cases, and a run that left two of them out."""

    folder: Path
    program: Program

    def save(self, name: str, **outcomes: Outcome) -> str:
        """A JSON file of a run of C++ cases."""
        records = [
            make_record("Group", label, outcome=outcome, language=Language.CPP)
            for label, outcome in outcomes.items()
        ]
        (self.folder / name).write_text(to_json(make_run(*records)))
        return str(self.folder / name)

    def call(self, *args: str | Path) -> Answer:
        """Call the program with a database of its own."""
        return self.program(*args, "--db", self.folder / "runs.db")

    def check(self, count: int, *args: str) -> Answer:
        """Check a run in which only the first case was measured."""
        run = self.save("new.json", a=counted(count), b=LEFT_OUT, c=LEFT_OUT)
        return self.call("baseline", "check", self.folder / "baseline.json", run, *args)


@pytest.fixture
def place(tmp_path: Path, program: Program) -> Place:
    """With the baseline."""
    made = Place(tmp_path, program)
    base = made.save("base.json", a=counted(1000), b=counted(1000), c=counted(1000))
    assert 0 == made.call("baseline", "accept", base, f"--output={tmp_path}/baseline.json").code
    return made


SENTENCE = "1 of 3 cases measured within 60 s; skipped: 2, the least likely to have changed first"


@pytest.mark.parametrize(("count", "code"), [(1000, 0), (1500, 3)])
def test_the_exit_code_is_that_of_what_was_measured(count: int, code: int, place: Place) -> None:
    """What was left out is neither missing nor failed, and told."""
    answer = place.check(count)
    shown = answer.out + answer.err

    assert code == answer.code
    assert SENTENCE in shown
    assert "2 skipped by the time budget" in shown
    assert "missing" not in shown
    assert "failed in" not in shown


def test_limits_on_missing_cases_are_not_about_them(place: Place) -> None:
    """They were not looked for."""
    limits = place.folder / "limits.yaml"
    limits.write_text("default: {hard: 1%}\nfail_on_missing: true\n")

    assert 0 == place.check(1000, f"--limits={limits}").code


def test_a_comment_has_the_list_folded_away(place: Place) -> None:
    """The sentence is above it."""
    path = place.folder / "comment.md"
    place.check(1000, f"--output={path}")
    text = path.read_text()

    assert f"<details><summary>{SENTENCE}</summary>\n\n- Group / b" in text


def test_junit_has_them_skipped(place: Place) -> None:
    """With the reason, and the sentence for the whole."""
    path = place.folder / "junit.xml"
    place.check(1000, f"--junit={path}")
    suite = ET.fromstring(path.read_text())[0]  # noqa: S314 - it was written here
    skipped = [one.get("message") for one in suite.iter("skipped")]

    assert ["time budget of 60 s"] * 2 == skipped
    assert "2" == suite.get("skipped")
    assert "3" == suite.get("tests")
    assert SENTENCE == suite.findtext("system-out")


def test_what_failed_last_time_is_remembered_while_it_is_left_out(place: Place) -> None:
    """Else a check that had no time for it would let it pass in the one after."""
    limits = place.folder / "limits.yaml"
    limits.write_text("default: {hard: 10%, soft: 1%}\n")
    state = place.folder / "check.json"
    handed_on = [f"--limits={limits}", f"--previous={state}", f"--output={state}"]
    baseline = place.folder / "baseline.json"
    wobbling = counted(1101, exact=False, spread=5)
    runs = [
        place.save("1.json", a=counted(1000), b=counted(1500), c=counted(1000)),
        place.save("2.json", a=counted(1000), b=LEFT_OUT, c=counted(1000)),
        place.save("3.json", a=counted(1000), b=wobbling, c=counted(1000)),
    ]
    codes = [place.call("baseline", "check", baseline, run, *handed_on).code for run in runs]

    assert [3, 0, 3] == codes


def test_a_comparison_tells_them_too(place: Place) -> None:
    """On the terminal, in Markdown and in JSON."""
    new = place.save("new.json", a=counted(1500), b=LEFT_OUT, c=LEFT_OUT)
    files = [place.folder / name for name in ("c.md", "c.json")]
    outputs = [f"--output={path}" for path in files]
    answer = place.call("compare", place.folder / "base.json", new, *outputs)

    assert 3 == answer.code
    assert SENTENCE in answer.out + answer.err
    assert SENTENCE in files[0].read_text()
    assert [("b", "60 s"), ("c", "60 s")] == [
        (one["label"][1], one["time_budget"])
        for one in json.loads(files[1].read_text())["skipped_by_budget"]
    ]


def test_a_run_is_accepted_without_what_it_left_out(place: Place) -> None:
    """These cases keep their counts."""
    run = place.save("new.json", a=counted(2000), b=LEFT_OUT, c=LEFT_OUT)
    path = place.folder / "baseline.json"
    answer = place.call("baseline", "accept", run, f"--output={path}")
    counts = [one["instructions"] for one in json.loads(path.read_text())["cases"]]

    assert 0 == answer.code
    assert [2000, 1000, 1000] == counts


def test_a_run_lists_them_once() -> None:
    """And not as rows or problems."""
    run = make_run(make_record("a"), make_record("b", outcome=LEFT_OUT))

    assert [] == list(table.problems(run))
    assert "1 of 2 cases" in next(table.skipped_lines(run))
    text = str(render("markdown", run))
    assert "| b " not in text
    assert "<details><summary>1 of 2 cases" in text


def test_many_are_cut_short_on_a_terminal() -> None:
    """As everywhere."""
    records = [make_record(f"case {number}", outcome=LEFT_OUT) for number in range(30)]

    assert "  … and 10 more" == list(table.skipped_lines(make_run(*records)))[-1]


@pytest.mark.parametrize("command", [["compare"], ["baseline", "check"]])
def test_a_budget_for_nothing_is_refused(command: list[str], place: Place) -> None:
    """Stored runs take no time."""
    file = "base.json" if command == ["compare"] else "baseline.json"
    new = place.save("new.json", a=counted(1000))
    answer = place.call(*command, place.folder / file, new, "--time-budget", "60")

    assert 1 == answer.code
    assert "--time-budget: nothing is measured" in answer.err
