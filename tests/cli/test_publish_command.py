"""``publish``, called as the console script calls it."""

import json
import sys
from pathlib import Path

import pytest

from instruction_counts.storage.store import Store
from tests.builders import counted
from tests.cli.program import Program
from tests.fakes import FakeEngine
from tests.history.made import stored
from tests.process import workflow_steps, write_definitions
from tests.session.fakes import fake_engines, known_lanes

COUNTS = {"monday": 1000, "tuesday": 1300}


@pytest.fixture
def publish(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Program:
    """The command, over a store of three builds of a case."""
    with Store(tmp_path / "runs.db") as store:
        stored(store, [1000, 1000, 1300])
    return Program(capsys, ("publish", "--db", str(tmp_path / "runs.db")))


def test_a_site_is_published_and_kept_current(tmp_path: Path, publish: Program) -> None:
    """What did not change is not written again; the address of the site is remembered."""
    site = tmp_path / "site"
    first = publish.output(site, "--url", "https://example.org/counts")
    again = publish.output(site)
    narrowed = publish.output(site, "--since", "2026-01-02")

    assert f"Published to {site}: 13 files, 13 written.\n" == first
    assert f"Published to {site}: 13 files, 0 written.\n" == again
    assert "2 removed.\n" in narrowed
    assert '<link href="https://example.org/counts/cases/' in (site / "feed.xml").read_text()


def test_what_cannot_be_published_is_said(tmp_path: Path, publish: Program) -> None:
    """With what to do. A watch refuses a folder of somebody before it measures anything."""
    assert "No case matches 'Nothing'." in publish.error(tmp_path / "site", "--only", "Nothing")
    assert "--url example is no address" in publish.error(tmp_path / "site", "--url", "example")
    assert f"{tmp_path} contains other files, such as runs.db" in publish.error(tmp_path)
    watch = Program(publish.capsys, ("watch", "--command", f"touch {tmp_path}/asked"))
    assert "contains other files" in watch.error("--publish", tmp_path)

    assert not (tmp_path / "asked").exists()


def test_a_watch_without_a_measured_build_publishes_nothing(
    tmp_path: Path, publish: Program
) -> None:
    """There is no history yet, and that is no error."""
    files = ("--db", tmp_path / "new.db", "--state", tmp_path / "state.json")
    watch = Program(publish.capsys, ("watch", "--command", "echo a=/nowhere/a"))
    answer = watch(*files, "--publish", tmp_path / "site")

    assert 0 == answer.code
    assert not (tmp_path / "site").exists()


def test_the_example_workflow_is_one() -> None:
    """It deploys what the watch published."""
    steps = workflow_steps("pages", "publish")
    (upload,) = (step for step in steps if "upload-pages-artifact" in step.get("uses", ""))

    assert any(f"--publish {upload['with']['path']}" in step.get("run", "") for step in steps)


def test_a_watch_keeps_a_site_up_to_date(tmp_path: Path, publish: Program) -> None:
    """From the list of builds to the pages: what a look measured is on them after it.

    Standard output has the step alone, once, as a line of JSON.
    """
    builds, site = tmp_path / "builds", tmp_path / "site"
    files = ["--db", tmp_path / "watched.db", "--state", tmp_path / "state.json"]
    how = ["--definitions", write_definitions(tmp_path, mm="x"), "--output", "-"]
    watch = Program(publish.capsys, ("watch", "--command", f"cat {builds}", "--publish", str(site)))
    engines = {name: FakeEngine({("mm",): [counted(count)]}) for name, count in COUNTS.items()}
    links = {name: tmp_path / name for name in COUNTS}
    for link in links.values():
        link.symlink_to(sys.executable)
    answers = []
    with fake_engines(engines, layouts=engines), known_lanes() as lanes:
        for number in (1, 2, 2):
            lines = [f"{name}={links[name]}" for name in list(COUNTS)[:number]]
            builds.write_text("\n".join(lines))
            answers.append(watch(*files, *how, "--lanes", lanes))
    assert [0, 3, 0] == [answer.code for answer in answers], answers
    (reported,) = map(json.loads, answers[1].out.splitlines())
    overview = json.loads((site / "index.json").read_text())

    assert {"verdict": "worse", "verified": True}.items() <= reported.items()
    assert ["", ""] == [answers[0].out, answers[2].out]
    assert [("run 1, monday", "run 2, tuesday", 300)] == [
        (step["before"], step["build"], step["change"]) for step in overview["steps"]
    ]
    assert {False} == {call.order.times for made in engines.values() for call in made.calls}
    # Both were measured once more, to verify the step: that is no news.
    assert ["run 2, tuesday", "run 1, monday"] == [build["build"] for build in overview["builds"]]
    assert (site / overview["builds"][0]["build_page"]).is_file()
    assert ", 0 written.\n" in answers[-1].err
