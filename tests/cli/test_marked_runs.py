"""A run during which files of its build changed is marked wherever it is shown."""

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
FILES = SAID.partition(":")[2]
AS_JSON = {"number": 2, "first": ["/venv/torch/a.py", "/venv/torch/b.py"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a database of a sound run, 1, and a marked one, 2; the environment names it."""
    sound = make_run(make_record("Group", "add", outcome=counted(1000)))
    marked = attrs.evolve(sound, changed_files={"default": CHANGED})
    with Store(tmp_path / "runs.db") as store:
        for run in (sound, marked):
            store.import_run(run)
    monkeypatch.setenv("INSTRUCTION_COUNTS_DB", str(tmp_path / "runs.db"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_the_list_of_runs_has_a_mark_and_says_what_it_means(program: Program) -> None:
    """Sound runs have none, and nearly every list needs no remark."""
    lines = program.output("runs", "list").splitlines()
    marked, sound = json.loads(program.output("runs", "list", "--format", "json"))
    program.output("runs", "delete", "2", "--force")

    assert ["complete *", "complete"] == [
        line[line.index("complete") :].strip() for line in lines[1:3]
    ]
    assert lines[-1].startswith("* files of a build changed during the run")
    assert ({"default": AS_JSON}, {}) == (marked["changed_files"], sound["changed_files"])
    assert "*" not in program.output("runs", "list")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("runs", "show", "2"), f'files of build "default" {SAID[6:]}'),
        (("compare", "2", "1"), f"changed during the run{FILES}"),
        (("compare", "1", "2"), f"changed during the run{FILES}"),
        (("explain", "1", "2", "Group/add"), f"changed during the run{FILES}"),
        (("history", "Group/add"), "run 2, torch 2.13.0+cpu (cf30153c), files of the build"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_each_command_says_what_changed(
    command: tuple[str, ...], said: str, folder: Path, program: Program
) -> None:
    """On the terminal, in Markdown, and as JSON of the side or run that is marked."""
    files = folder / "o.md", folder / "o.json"
    shown = program.output(*command, *(f"--output={file}" for file in files))
    as_json = " ".join(files[1].read_text().split())

    for text in (shown, files[0].read_text()):
        assert said in " ".join(text.replace("|", "").split())
    if command[0] == "history":
        assert 1 == as_json.count('"has_changed_files": true')
    else:
        assert 1 == as_json.count('"number": 2, "first": [ "/venv/torch/a.py"')


def test_a_check_and_what_is_accepted_say_so(folder: Path, program: Program) -> None:
    """In the file that the next check reads, too; whoever accepts such a run may know why."""
    baseline, files = folder / "baseline.json", (folder / "o.md", folder / "o.json")
    program.output("baseline", "accept", baseline, "1")
    check = ("baseline", "check", baseline, "2")
    shown = program.output(*check, *(f"--output={file}" for file in files))
    program.output(*check, "--previous", files[1])
    accepted = program.output("baseline", "accept", folder / "other.json", "2")

    for text in (shown, files[0].read_text()):
        assert FILES.strip() in text
    assert AS_JSON == json.loads(files[1].read_text())["changed_files"]
    assert f"The run may have counted other code:{FILES}" in accepted
