"""A watch: its place over restarts, where steps are reported, and what is measured."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import attrs
import pytest

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.builds.configured import parse_build
from instruction_counts.cli import console
from instruction_counts.cli.watch_command import StepReporting
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.execution.events import Observer
from instruction_counts.history.watching import Base, FoundStep, SeenBuild, State
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.session.measuring import MeasuredRun
from instruction_counts.session.watching import (
    Looking,
    Reporting,
    StoreWatchedBuilds,
    WatchRequest,
    held,
    listed,
    read_state,
    state_file_of,
    write_state,
)
from instruction_counts.storage.store import Store
from tests.fakes import make_record
from tests.history.made import run_of
from tests.history.test_watching import FakeWatchedBuilds


class Killed(StepReporting):
    """The program ends while a step is being reported."""

    def report(self, step: FoundStep) -> None:  # noqa: ARG002
        """Nothing comes of it."""
        raise KeyboardInterrupt


@attrs.define
class Watch:
    """A watch over builds that come one after the other; each look starts from the file."""

    folder: Path
    counts: list[int | None] = attrs.field(factory=list)
    command: str | None = None

    def look(self, reporting: Reporting | None = None) -> int:
        """Look at what is there; the number of steps that were found."""
        path = self.folder / "state.json"
        save = functools.partial(write_state, path)
        builds = FakeWatchedBuilds.of(self.counts)
        usual = StepReporting((self.folder / "steps.jsonl",), self.command)
        looking = Looking(read_state(path, "w"), builds, reporting or usual, save, console.note)
        found = looking.look("\n".join(builds.sides))
        assert looking.state == read_state(path, "w")
        return found

    @property
    def reported(self) -> list[dict[str, Any]]:
        """What was written to the file of steps."""
        path = self.folder / "steps.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_the_place_is_kept_over_restarts(tmp_path: Path) -> None:
    """The first build after a pause is compared with the last one before it."""
    watch = Watch(tmp_path)
    found = []
    for count in (1000, 1000, None, 1500, 1500):
        watch.counts.append(count)
        found.append(watch.look())

    assert [0, 0, 0, 1, 0] == found
    assert [("b1", "b3")] == [(step["base"], step["new"]) for step in watch.reported]


def test_a_step_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the screen, as a line of JSON, and to a command; looking again reports nothing again."""
    watch = Watch(tmp_path, [1000, 2000, 3000], f"cat >> {tmp_path}/sent")
    for _ in range(3):
        watch.look()
    what = "worse: a · C++ · Eager · Forward 1,000 → 2,000 between b0 and b1"
    text = f"{what} (exact difference): +1,000 at::slow (new)"

    assert ["b1", "b2"] == [step["new"] for step in watch.reported]
    assert text == watch.reported[0]["text"]
    assert 1 == capsys.readouterr().out.count(text)
    assert (tmp_path / "sent").read_text() == (tmp_path / "steps.jsonl").read_text()


def test_a_step_that_could_not_be_reported_comes_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file, which took it already, does not get it again."""
    watch = Watch(tmp_path, [1000, 2000], f"cat >> {tmp_path}/later/sent")
    watch.look()
    said = capsys.readouterr()
    (tmp_path / "later").mkdir()
    watch.look()

    assert "A step could not be reported and will be retried: --on-step ends with 1" in said.err
    assert "" == said.out
    assert 1 == len(watch.reported)
    assert (tmp_path / "later" / "sent").read_text() == (tmp_path / "steps.jsonl").read_text()


def test_a_step_is_not_lost_when_the_program_is_killed(tmp_path: Path) -> None:
    """The state had it before it was reported, and has it until it was."""
    watch = Watch(tmp_path, [1000, 2000], "exit 1")
    with pytest.raises(KeyboardInterrupt):
        watch.look(Killed())

    assert [0, 0] == [watch.look(), watch.look()]
    assert 1 == len(watch.reported)


def test_what_the_command_prints_is_taken() -> None:
    """Its errors go to stderr; half of a list would be taken for all of it."""
    assert "a\nb\n" == listed("echo a; echo b; echo c >&2")
    with pytest.raises(BuildError, match="--command ends with 3"):
        listed("echo a; exit 3")


# What is measured


@attrs.define
class FakeBuildMeasurer:
    """Measures builds of 1,000 and 2,000 instructions; what it was asked for is kept."""

    store: Store | None = None
    stores: bool = True
    request: ComparisonRequest = attrs.field(factory=lambda: ComparisonRequest(""))
    observer: Observer = console
    asked: list[tuple[tuple[str, ...], list[str]]] = attrs.field(factory=list)

    def measured(self, builds: Sequence[Build]) -> MeasuredRun:
        """See `StoreBuildMeasurer`."""
        self.asked.append((self.request.selection.only, [build.name for build in builds]))
        parts = {build.name: run_of(1000 * n, 1) for n, build in enumerate(builds, 1)}
        records = (
            attrs.evolve(record, build=name) for name, run in parts.items() for record in run.cases
        )
        fingerprints = {name: run.builds["default"] for name, run in parts.items()}
        run = attrs.evolve(run_of(0, 1), builds=fingerprints, cases=tuple(records))
        return MeasuredRun(run, (), 12 if self.stores else None)

    def measure(self, builds: Sequence[Build]) -> Any:
        """See `BuildMeasurer`."""
        return self.measured(builds).sides

    def check(self, comparison: Comparison) -> Comparison:
        """See `BuildMeasurer`."""
        return comparison


def watched(measurer: FakeBuildMeasurer) -> StoreWatchedBuilds:
    """Builds that are measured so."""
    return StoreWatchedBuilds(parse_build, cast("Any", measurer))


def test_a_build_is_measured_and_remembered_by_its_run() -> None:
    """So that the next one can be compared with it, which one that is not stored cannot be."""
    measurer = FakeBuildMeasurer()

    assert SeenBuild("a=/bin/sh", "a", "/bin/sh", 12) == watched(measurer).measure("a=/bin/sh")[0]
    measurer.stores = False
    with pytest.raises(DataError, match="could not be stored"):
        watched(measurer).measure("a=/bin/sh")


def test_the_last_build_is_taken_from_the_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless it was deleted; or the database was made anew, and has another run of that number."""
    with Store.open(tmp_path / "runs.db") as store:
        number = store.import_run(run_of(1000, 1))
        known = (("default", number), ("default", number + 1), ("nightly", number))
        side, *gone = (
            watched(FakeBuildMeasurer(store)).stored(SeenBuild("l", name, "/python", run))
            for name, run in known
        )

    assert side is not None
    assert (f"run {number}, default", 1) == (side.title, len(side.records))
    assert [None, None] == gone
    assert f"Run {number} has no nightly: nothing to compare with." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "names"), [("old", ["old", "new"]), ("new", ["new before", "new"])]
)
def test_suspects_are_measured_on_both_builds(name: str, names: list[str], tmp_path: Path) -> None:
    """Only they are; also where both builds have the same name."""
    with Store.open(tmp_path / "runs.db") as store:
        measurer = FakeBuildMeasurer(store)
        base, new = (SeenBuild("l", build, f"/{build}", 1) for build in (name, "new"))
        key = attrs.evolve(make_record().key, label=("Group", "add"))
        asked = measurer.asked
        found = watched(measurer).verify(base, new, [key])

    assert [(("Group/add",), names)] == asked
    assert ["worse"] == [difference.verdict.value for difference in found.differences]


def test_a_build_that_was_replaced_verifies_nothing(tmp_path: Path) -> None:
    """A virtual environment that is upgraded in place is not the build before any more."""

    def verify_after(day: int) -> Comparison:
        base = SeenBuild("l", "default", "/a", store.import_run(run_of(1000, day)))
        new = SeenBuild("m", "new", "/b", 2)
        return watched(FakeBuildMeasurer(store)).verify(base, new, [make_record().key])

    with Store.open(tmp_path / "runs.db") as store:
        assert 1 == len(verify_after(1).differences)
        with pytest.raises(BuildError, match="/a is not l any more"):
            verify_after(2)


# How far it got


STATE = State(
    "w",
    ("b0", "b1"),
    (
        Base(SeenBuild("b0=/b0", "b0", "/b0", 1), (make_record("add", "mm").key,)),
        Base(SeenBuild("b1=/b1", "b1", "/b1", 2), (make_record("add").key,)),
    ),
    (
        FoundStep(
            *("0123", "add", "b0", "b1", "worse", "exact difference", 1000, 2000, 1000, "run 2"),
            verified=True,
            causes=("+1000 f",),
        ),
    ),
)


def test_the_state_comes_back_as_it_was(tmp_path: Path) -> None:
    """With all that is in it; at first nothing was seen."""
    path = tmp_path / "state.json"
    before = read_state(path, "w")
    for _ in range(2):
        with held(path):
            write_state(path, STATE)

    assert State("w") == before
    assert STATE == read_state(path, "w")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: \\$\n  found     Expecting value\n  expected  JSON"),
        ('{"version": 2}', "found     2 .*\n  expected  1, the only supported version\n.*--state"),
        ('{"version": 1, "state": {"watched": "w", "more": 1}}', 'state.more\n.*a field "more"'),
        ('{"version": 1, "state": {"watched": "another"}}', "belongs to another watch: another"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    """With what to do."""
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_state(path, "w")


def test_a_state_is_held_by_one_watch(tmp_path: Path) -> None:
    """Two would measure the same build, and report its steps twice."""
    path = tmp_path / "state.json"
    with held(path), pytest.raises(UsageError, match=r"another watch is using.*\n.*--state"):
        held(path).__enter__()


@pytest.mark.parametrize(
    "attempt", [lambda path: held(path).__enter__(), lambda path: write_state(path, STATE)]
)
def test_a_place_that_cannot_be_written_is_named(
    attempt: Callable[[Path], object], tmp_path: Path
) -> None:
    """Also at the start, before a build is measured in vain."""
    with pytest.raises(DataError, match=r"cannot be written.*\n.*--state"):
        attempt(tmp_path / "none" / "state.json")


def test_each_watch_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same one each time, wherever the program is started."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def name(database: Path, only: str) -> str:
        request = ComparisonRequest("d", Selection((only,)))
        with Store.open(database) as store:
            return WatchRequest("command", None, request).name(store)

    near, far = Path("runs.db"), tmp_path / "runs.db"
    files = [state_file_of(name(*watch)) for watch in ((near, "a"), (near, "b"), (far, "a"))]

    assert files[0] == files[2] != files[1]
    assert [tmp_path / "instruction-counts"] * 3 == [file.parent for file in files]
