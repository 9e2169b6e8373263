"""A run during which files of its build changed is marked wherever it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest

from instruction_counts.domain.records import ChangedFiles
from instruction_counts.storage.store import Store
from tests.builders import counted
from tests.cli.program import Program
from tests.fakes import make_record, make_run

pytestmark = pytest.mark.faults

CHANGED = ChangedFiles.of(["/venv/torch/a.py", "/venv/torch/b.py"])
SAID = "files changed during the run: /venv/torch/a.py, /venv/torch/b.py"
AS_JSON = {"number": 2, "first": ["/venv/torch/a.py", "/venv/torch/b.py"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a database of a sound run, 1, and a marked one, 2; the environment names it."""
    sound = make_run(make_record("Group", "add", outcome=counted(1000)))
    marked = attrs.evolve(sound, changed_files={"default": CHANGED})
    with Store.open(tmp_path / "runs.db") as store:
        for run in (sound, marked):
            store.import_run(run)
    monkeypatch.setenv("INSTRUCTION_COUNTS_DB", str(tmp_path / "runs.db"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_the_list_of_runs_has_a_mark_and_says_what_it_means(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 80 columns; sound runs have none, and nearly every list needs no remark."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = program.output("runs", "list").splitlines()
    marked, sound = json.loads(program.output("runs", "list", "--format", "json"))
    program.output("runs", "delete", "2", "--force")

    assert ["complete *", "complete"] == [
        line[line.index("complete") :].strip() for line in lines[1:3]
    ]
    assert lines[-1].startswith("* files of a build changed during the run")
    assert max(map(len, lines)) <= 80
    assert ({"default": AS_JSON}, {}) == (marked["changed_files"], sound["changed_files"])
    assert "*" not in program.output("runs", "list")


def test_a_run_is_shown_with_what_changed(program: Program) -> None:
    """Below its results."""
    assert f'files of build "default" {SAID[6:]}' in program.output("runs", "show", "2")


@pytest.mark.parametrize(("marked", "other"), [("base", "new"), ("new", "base")])
def test_a_comparison_says_of_which_side(
    marked: str, other: str, folder: Path, program: Program
) -> None:
    """On the terminal, in Markdown and as JSON."""
    files = folder / "o.md", folder / "o.json"
    runs = ("2", "1") if marked == "base" else ("1", "2")
    shown = program.output("compare", *runs, *(f"--output={file}" for file in files))
    document = json.loads(files[1].read_text())

    for text in (shown, files[0].read_text()):
        assert f"changed during the run{SAID.partition(':')[2]}" in " ".join(
            text.replace("|", "").split()
        )
    assert AS_JSON == document[marked]["changed_files"]
    assert document[other]["changed_files"] is None


def test_a_check_and_what_is_accepted_say_so(folder: Path, program: Program) -> None:
    """In the file that the next check reads, too; whoever accepts such a run may know why."""
    baseline, files = folder / "baseline.json", (folder / "o.md", folder / "o.json")
    program.output("baseline", "accept", baseline, "1")
    check = ("baseline", "check", baseline, "2")
    shown = program.output(*check, *(f"--output={file}" for file in files))
    again = program(*check, "--previous", files[1])
    accepted = program("baseline", "accept", folder / "other.json", "2")

    for text in (shown, files[0].read_text()):
        assert SAID.partition(": ")[2] in text
    assert AS_JSON == json.loads(files[1].read_text())["changed_files"]
    assert [0, 0] == [again.code, accepted.code]
    assert f"The run may have counted other code: {SAID.partition(': ')[2]}" in accepted.out


def test_an_explanation_says_so(folder: Path, program: Program) -> None:
    """Before the numbers."""
    file = folder / "o.json"
    shown = program.output("explain", "1", "2", "Group/add", f"--output={file}")
    document = json.loads(file.read_text())

    assert f"run 2: {SAID}" in shown
    assert [None, AS_JSON] == [document[side]["changed_files"] for side in ("base", "new")]


def test_a_history_says_of_which_run(program: Program) -> None:
    """A step there may be one of other code."""
    history = ("history", "Group/add", "--format")
    for form in ("text", "csv"):
        shown = program.output(*history, form).splitlines()
        (line,) = (line for line in shown if "files of the build changed during the run" in line)
        assert "2" in line
    (case,) = json.loads(program.output(*history, "json"))["cases"]
    points = case["segments"][0]["points"]

    assert {1: False, 2: True} == {point["run"]: point["has_changed_files"] for point in points}
