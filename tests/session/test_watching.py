"""A watch: its place over restarts, where steps are reported, and what is measured."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import attrs
import pytest

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.builds.configured import parse_build
from instruction_counts.cli import console
from instruction_counts.cli.watch_command import StepReporting
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import MIN_EFFECT
from instruction_counts.domain.errors import BuildError, DataError
from instruction_counts.domain.selection import Selection
from instruction_counts.history.watching import FoundStep, SeenBuild
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.comparing import MeasuredSides
from instruction_counts.session.watch_state import read_state, write_state
from instruction_counts.session.watching import (
    Reporting,
    StoreWatchedBuilds,
    listed,
    look,
    place_of,
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
        notice = console.note
        state, found = look(
            read_state(path, "w"), "\n".join(builds.sides), builds, reporting or usual, save, notice
        )
        assert state == read_state(path, "w")
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
    found = [watch.look(), watch.look()]

    assert [0, 0] == found
    assert 1 == len(watch.reported)


def test_what_the_command_prints_is_taken() -> None:
    """Its errors go to stderr."""
    assert "a\nb\n" == listed("echo a; echo b; echo c >&2")


def test_a_command_that_fails_is_reported() -> None:
    """Half of a list would be taken for all of it."""
    with pytest.raises(BuildError, match="--command ends with 3"):
        listed("echo a; exit 3")


def watched_builds(store: Store) -> StoreWatchedBuilds:
    """Watched builds that find what is stored."""
    measurer: Any = type("BuildMeasurer", (), {"store": store})()
    return StoreWatchedBuilds(
        lambda _: pytest.fail("nothing is made"), measurer, MIN_EFFECT, console
    )


def test_the_last_build_is_taken_from_the_store(tmp_path: Path) -> None:
    """It is not measured again only to be compared with."""
    with Store.open(tmp_path / "runs.db") as store:
        number = store.import_run(run_of(1000, 1))
        side = watched_builds(store).stored(SeenBuild("l", "default", "/python", number))

    assert side is not None
    assert f"run {number}, default" == side.title
    assert 1 == len(side.records)


def test_a_run_that_is_gone_is_nothing_to_compare_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was deleted; or the database was made anew, and has another run of that number."""
    with Store.open(tmp_path / "runs.db") as store:
        number = store.import_run(run_of(1000, 1))
        builds = watched_builds(store)
        sides = [
            builds.stored(SeenBuild("l", name, "/python", run))
            for name, run in (("default", number + 1), ("nightly", number))
        ]

    assert [None, None] == sides
    assert f"Run {number} has no nightly: nothing to compare with." in capsys.readouterr().err


@attrs.define
class FakeBuildMeasurer:
    """Measures builds of 1,000 and 2,000 instructions; what it was asked for is kept."""

    store: Store | None = None
    stores: bool = True
    selection: Selection = attrs.field(factory=Selection)
    measuring: Any = attrs.field(factory=MeasurementSettings)
    asked: list[tuple[tuple[str, ...], list[str]]] = attrs.field(factory=list)

    def measure(self, builds: Sequence[Build]) -> dict[str, Side]:
        """See `BuildMeasurer`."""
        self.asked.append((self.selection.only, [build.name for build in builds]))
        sides = {}
        for count, build in enumerate(builds, 1):
            sides[build.name] = side_of(run_of(1000 * count, 1), "default", build.name)
        return sides

    def measured(self, builds: Sequence[Build]) -> MeasuredSides:
        """See `StoreBuildMeasurer`."""
        return MeasuredSides(self.measure(builds), 12 if self.stores else None)

    def check(self, comparison: Comparison) -> Comparison:
        """See `BuildMeasurer`."""
        return comparison


def test_a_build_is_measured_and_remembered_by_its_run() -> None:
    """So that the next one can be compared with it."""
    builds = StoreWatchedBuilds(
        lambda _: Build("a", "/python"), cast("Any", FakeBuildMeasurer()), MIN_EFFECT, console
    )

    assert SeenBuild("a=/python", "a", "/python", 12) == builds.measure("a=/python")[0]


def test_a_build_that_could_not_be_stored_ends_the_watch() -> None:
    """The next one would have nothing to be compared with."""
    measurer = cast("Any", FakeBuildMeasurer(stores=False))
    builds = StoreWatchedBuilds(lambda _: Build("a", "/python"), measurer, MIN_EFFECT, console)
    with pytest.raises(DataError, match="could not be stored"):
        builds.measure("a=/python")


@pytest.mark.parametrize(
    ("name", "names"), [("old", ["old", "new"]), ("new", ["new before", "new"])]
)
def test_suspects_are_measured_on_both_builds(name: str, names: list[str], tmp_path: Path) -> None:
    """Only they are; also where both builds have the same name."""
    measurer = FakeBuildMeasurer(Store.open(tmp_path / "runs.db"))
    watched = StoreWatchedBuilds(parse_build, cast("Any", measurer), MIN_EFFECT, console)
    base, new = (SeenBuild("l", build, f"/{build}", 1) for build in (name, "new"))
    key = attrs.evolve(make_record().key, label=("Group", "add"))
    found = watched.verify(base, new, [key])

    assert [(("Group/add",), names)] == measurer.asked
    assert ["worse"] == [difference.verdict.value for difference in found.differences]


def verify_after(store: Store, day: int) -> Comparison:
    """Verify a suspect, where the base was of this day when it was stored, and is of the first."""
    number = store.import_run(run_of(1000, day))
    watched = StoreWatchedBuilds(
        parse_build, cast("Any", FakeBuildMeasurer(store)), MIN_EFFECT, console
    )
    base, new = SeenBuild("l", "default", "/a", number), SeenBuild("m", "new", "/b", 2)
    return watched.verify(base, new, [make_record().key])


def test_a_build_that_was_replaced_verifies_nothing(tmp_path: Path) -> None:
    """A virtual environment that is upgraded in place is not the build before any more."""
    with Store.open(tmp_path / "runs.db") as store:
        found = verify_after(store, 1)
        with pytest.raises(BuildError, match="/a is not l any more"):
            verify_after(store, 2)

    assert 1 == len(found.differences)


def test_a_database_is_the_same_wherever_a_watch_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its path may be a relative one."""
    monkeypatch.chdir(tmp_path)
    with Store.open("runs.db") as near, Store.open(tmp_path / "runs.db") as far:
        assert [str(tmp_path / "runs.db")] * 2 == [place_of(near), place_of(far)]
