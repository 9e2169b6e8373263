"""A watch: each step is found once, whatever fails, and its place is kept over restarts."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.comparison import Comparison, compare, verified
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.builds.configured import parse_build
from instruction_counts.cli import console
from instruction_counts.cli.watch_command import StepReporting
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.session.build_series import StoreBuildMeasurer
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.session.measuring import MeasuredRun
from instruction_counts.session.watch_state import (
    Base,
    FoundStep,
    SeenBuild,
    State,
    held,
    read_state,
    state_file_of,
    write_state,
)
from instruction_counts.session.watching import (
    Looking,
    Reporting,
    WatchedBuilds,
    WatchRequest,
)
from instruction_counts.storage.store import Store
from tests.builders import cpp, side
from tests.fakes import FINGERPRINT, make_record
from tests.history.made import outcome_of, run_of


@attrs.define
class FakeWatchedBuilds(WatchedBuilds):
    """Builds with what is measured of each; those of None are broken.

    ``again`` are the second readings that are others; builds that are ``gone`` have none.
    """

    sides: Mapping[str, Side | None]
    again: Mapping[str, Side] = attrs.field(factory=dict)
    gone: frozenset[str] = frozenset()
    verifications: list[tuple[str, str]] = attrs.field(factory=list)
    loaded: list[str] = attrs.field(factory=list)
    make: Callable[[str], Build] = parse_build
    measurer: Any = None

    def measure(self, line: str) -> tuple[SeenBuild, Side]:
        """What is known of it."""
        side = self.sides[line]
        if side is None:
            raise BuildError(f"{line} has no torch", "Install it.")
        return SeenBuild(line, line, f"/{line}/python", 1), side

    def stored(self, last: SeenBuild) -> Side | None:
        """The same."""
        self.loaded.append(last.name)
        return self.sides[last.name]

    def compare(self, base: Side, new: Side) -> Comparison:
        """Of all of it."""
        return compare(base, new)

    def verify(self, base: SeenBuild, new: SeenBuild, keys: Sequence[CaseKey]) -> Comparison:
        """By the second readings."""
        if base.name in self.gone:
            raise BuildError(f"{base.name} is gone", "Make it again.")
        self.verifications.append((base.name, new.name))
        sides = [self.again.get(build.name) or self.sides[build.name] for build in (base, new)]
        kept = [
            attrs.evolve(side, records={key: side.records[key] for key in keys})
            for side in sides
            if side is not None
        ]
        return verified(compare(*kept), *([counts_of(side)] for side in kept))


def counts_of(side: Side) -> dict[CaseKey, int]:
    """The counts of the cases that have one."""
    counted = {key: record.outcome.instructions for key, record in side.records.items()}
    return {key: count.per_run for key, count in counted.items() if count is not None}


def with_cases(code: str = "d1", engine: str = "fork", **counts: int) -> Side:
    """What was measured of a build, by case; of -1 the case fails."""
    records = (
        cpp(name, outcome=outcome_of(None if count < 0 else count), definition_hash=code)
        for name, count in counts.items()
    )
    return side(*records, engine=engine)


def costing(*counts: int | None) -> dict[str, Side | None]:
    """Builds of one case that cost so much, called b0, b1 and so on; those of None are broken."""
    return {f"b{at}": None if n is None else with_cases(a=n) for at, n in enumerate(counts)}


@attrs.define
class Watch:
    """A look at builds, what is reported of them, and what is noticed."""

    steps: list[FoundStep] = attrs.field(factory=list)
    notices: list[str] = attrs.field(factory=list)
    state: State = attrs.field(factory=lambda: State("w"))

    @classmethod
    def over(cls, builds: FakeWatchedBuilds | Mapping[str, Side | None]) -> Watch:
        """One that looked at all of them."""
        watch = cls()
        if not isinstance(builds, FakeWatchedBuilds):
            builds = FakeWatchedBuilds(builds)
        looking = Looking(watch.state, builds, watch, lambda _: None, watch.notices.append)
        assert looking.look("\n".join(builds.sides)) == len(watch.steps)
        watch.state = looking.state
        watch.notices.pop()
        return watch

    def causes(self, _: Difference) -> tuple[str, ...]:
        """A cause."""
        return ("+1 f",)

    def report(self, step: FoundStep) -> None:
        """Keep it."""
        self.steps.append(step)

    @property
    def found(self) -> list[tuple[str, str, str]]:
        """Base, new and verdict of each step."""
        return [(step.base, step.new, step.verdict) for step in self.steps]


# What is a step


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([1000, 2000, 3000, None]), min_size=1, max_size=16),
    st.sets(st.integers(0, 15)),
)
def test_every_step_is_found_exactly_once(counts: list[int | None], outliers: set[int]) -> None:
    """Whatever is broken, and whichever first readings are outliers."""
    sides = costing(*counts)
    working = [(f"b{at}", n) for at, n in enumerate(counts) if n is not None]
    far = {name: with_cases(a=90_000 + n) for name, n in working if int(name[1:]) in outliers}
    again = {name: side for name, side in sides.items() if side is not None}
    expected = [
        (before, after, "worse" if new > base else "better")
        for (before, base), (after, new) in itertools.pairwise(working)
        if base != new
    ]

    assert expected == Watch.over(FakeWatchedBuilds(sides | far, again)).found


def test_a_suspect_is_measured_again_before_it_is_a_step() -> None:
    """Both builds, and then in other layouts; an id tells each step from all others."""
    builds = FakeWatchedBuilds(costing(1000, 1000, 2000, 3000))
    first, second = Watch.over(builds).steps

    assert [("b1", "b2"), ("b2", "b3")] == builds.verifications
    assert (True, 1000, ("+1 f",)) == (first.verified, first.change, first.causes)
    assert first.id != second.id
    assert [first, second] == Watch.over(builds).steps


def test_a_broken_build_is_passed_over() -> None:
    """The next one is compared with the last that worked; the reason is reported."""
    watch = Watch.over(costing(1000, None, -1, 2000))

    assert [("b0", "b3", "worse")] == watch.found
    assert [
        "b1 is broken and was skipped: b1 has no torch",
        "b2 is broken and was skipped: no case has a count",
    ] == watch.notices
    assert ("b0", "b1", "b2", "b3") == watch.state.seen


def test_a_suspect_that_cannot_be_verified_is_a_step_as_such() -> None:
    """The build before it may have been removed."""
    watch = Watch.over(FakeWatchedBuilds(costing(1000, 2000), gone=frozenset({"b0"})))

    assert [False] == [step.verified for step in watch.steps]
    assert "cannot be verified" in watch.notices[0]


@pytest.mark.parametrize("without", [with_cases(a=1000, b=-1), with_cases(a=1000)])
def test_a_case_is_compared_with_the_last_build_on_which_it_worked(without: Side) -> None:
    """It fails, or is gone, for a while; the others work in between. It is noticed once."""
    whole = [with_cases(a=1000, b=count) for count in (1000, 2000, 2000)]
    sides = (whole[0], without, without, *whole[1:])
    builds = FakeWatchedBuilds({f"b{place}": side for place, side in enumerate(sides)})
    watch = Watch.over(builds)

    assert [("b0", "b3", "worse")] == watch.found
    assert ["b · C++ · Eager · Forward"] == [step.case for step in watch.steps]
    assert ["b1: not counted, so not compared: b · C++ · Eager · Forward"] == watch.notices
    assert ["b4"] == [base.build.name for base in watch.state.bases]
    # A run can be large: an earlier one is loaded only for cases that are back.
    assert ["b0", "b1", "b0", "b2", "b3"] == builds.loaded


def test_each_case_waits_for_itself() -> None:
    """Each is compared with another build."""
    builds: dict[str, Side | None] = {
        "b0": with_cases(a=1000, b=1000, c=1000),
        "b1": with_cases(a=-1, b=2000, c=2000),
        "b2": with_cases(a=-1, b=-1, c=2000),
        "b3": with_cases(a=3000, b=3000, c=3000),
    }

    assert [
        *(("b", "b0", "b1"), ("c", "b0", "b1")),
        *(("a", "b0", "b3"), ("b", "b1", "b3"), ("c", "b2", "b3")),
    ] == [(step.case[0], step.base, step.new) for step in Watch.over(builds).steps]


def test_a_suspect_that_fails_when_it_is_measured_again_is_an_unverified_step() -> None:
    """Its build is seen, so that nobody would look at it again; the notice says why."""
    builds = {"b0": with_cases(a=1000, b=1000), "b1": with_cases(a=2000, b=2000)}
    watch = Watch.over(FakeWatchedBuilds(builds, {"b1": with_cases(a=2000, b=-1)}))

    assert [("a", True), ("b", False)] == [(step.case[0], step.verified) for step in watch.steps]
    assert [
        "b1: 1 of 2 candidates cannot be verified: they failed when measured again"
    ] == watch.notices


OTHER_PROFILE = attrs.evolve(FINGERPRINT, profile_version=2)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (with_cases("d2", a=2000), "definition changed"),
        (with_cases(engine="timer", a=2000), "fingerprint differs, engine fork → timer"),
        (
            attrs.evolve(with_cases(a=2000), fingerprint=OTHER_PROFILE),
            "fingerprint differs, hermetic profile 1 → 2",
        ),
    ],
)
def test_what_cannot_be_compared_is_noticed(other: Side, why: str) -> None:
    """A step in it is not seen; the next build is compared again."""
    watch = Watch.over({"b0": with_cases(a=1000), "b1": other, "b2": other})

    assert [] == watch.steps
    assert [f"b1: not comparable with b0, {why}: a · C++ · Eager · Forward"] == watch.notices


def test_a_notice_names_a_few_cases() -> None:
    """All may be concerned."""
    cases = {f"c{place}": 1000 for place in range(5)}
    watch = Watch.over({"b0": with_cases(**cases), "b1": with_cases("d2", **cases)})

    assert watch.notices[0].endswith("; c2 · C++ · Eager · Forward and 2 more")


# What is reported, and where it is kept


class Killed(StepReporting):
    """The program ends while a step is being reported."""

    def report(self, step: FoundStep) -> None:  # noqa: ARG002
        """Nothing comes of it."""
        raise KeyboardInterrupt


@attrs.define
class Restarted:
    """A watch over builds that come one after the other; each look starts from the file."""

    folder: Path
    counts: list[int | None] = attrs.field(factory=list)
    command: str | None = None

    def look(self, reporting: Reporting | None = None) -> int:
        """Look at what is there, and at blank lines; the number of steps that were found."""
        path = self.folder / "state.json"
        save = functools.partial(write_state, path)
        builds = FakeWatchedBuilds(costing(*self.counts))
        usual = StepReporting((self.folder / "steps.jsonl",), self.command)
        looking = Looking(read_state(path, "w"), builds, reporting or usual, save, console.note)
        found = looking.look("\n\n ".join([*builds.sides, *builds.sides]))
        assert looking.state == read_state(path, "w")
        return found

    @property
    def reported(self) -> list[dict[str, Any]]:
        """What was written to the file of steps."""
        path = self.folder / "steps.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_the_place_is_kept_over_restarts(tmp_path: Path) -> None:
    """The first build after a pause is compared with the last one before it."""
    watch = Restarted(tmp_path)
    found = []
    for count in (1000, 1000, None, 1500, 1500):
        watch.counts.append(count)
        found.append(watch.look())

    assert [0, 0, 0, 1, 0] == found
    assert [("b1", "b3")] == [(step["base"], step["new"]) for step in watch.reported]


def test_a_step_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the screen, as a line of JSON, and to a command; looking again reports nothing again."""
    watch = Restarted(tmp_path, [1000, 2000, 3000], f"cat >> {tmp_path}/sent")
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
    watch = Restarted(tmp_path, [1000, 2000], f"cat >> {tmp_path}/later/sent")
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
    watch = Restarted(tmp_path, [1000, 2000], "exit 1")
    with pytest.raises(KeyboardInterrupt):
        watch.look(Killed())

    assert [0, 0] == [watch.look(), watch.look()]
    assert 1 == len(watch.reported)


# What is measured


@attrs.define
class FakeBuildMeasurer(StoreBuildMeasurer):
    """Measures builds of 1,000 and 2,000 instructions; what it was asked for is kept."""

    stores: bool = True
    asked: list[tuple[tuple[str, ...], list[str]]] = attrs.field(factory=list)

    def measured(self, builds: Sequence[Build]) -> MeasuredRun:
        """By their order."""
        self.asked.append((self.request.selection.only, [build.name for build in builds]))
        parts = {build.name: run_of(1000 * n, 1) for n, build in enumerate(builds, 1)}
        records = (
            attrs.evolve(record, build=name) for name, run in parts.items() for record in run.cases
        )
        fingerprints = {name: run.builds["default"] for name, run in parts.items()}
        run = attrs.evolve(run_of(0, 1), builds=fingerprints, cases=tuple(records))
        return MeasuredRun(run, (), 12 if self.stores else None)

    def check(self, comparison: Comparison) -> Comparison:
        """As it is."""
        return comparison


def watched(store: Any = None, *, stores: bool = True) -> tuple[WatchedBuilds, FakeBuildMeasurer]:
    """Builds that are measured so, and what measures them."""
    measurer = FakeBuildMeasurer(ComparisonRequest(""), store, console, stores=stores)
    return WatchedBuilds(parse_build, measurer), measurer


def test_a_build_is_measured_and_remembered_by_its_run() -> None:
    """So that the next one can be compared with it, which one that is not stored cannot be."""
    expected = SeenBuild("a=/bin/sh", "a", "/bin/sh", 12)

    assert expected == watched()[0].measure("a=/bin/sh")[0]
    with pytest.raises(DataError, match="could not be stored"):
        watched(stores=False)[0].measure("a=/bin/sh")


def test_the_last_build_is_taken_from_the_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless it was deleted; or the database was made anew, and has another run of that number."""
    with Store.open(tmp_path / "runs.db") as store:
        number = store.import_run(run_of(1000, 1))
        known = (("default", number), ("default", number + 1), ("nightly", number))
        side, *gone = (
            watched(store)[0].stored(SeenBuild("l", name, "/python", run)) for name, run in known
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
        builds, measurer = watched(store)
        base, new = (SeenBuild("l", build, f"/{build}", 1) for build in (name, "new"))
        key = attrs.evolve(make_record().key, label=("Group", "add"))
        found = builds.verify(base, new, [key])

    assert [(("Group/add",), names)] == measurer.asked
    assert ["worse"] == [difference.verdict.value for difference in found.differences]


def test_a_build_that_was_replaced_verifies_nothing(tmp_path: Path) -> None:
    """A virtual environment that is upgraded in place is not the build before any more."""

    def verify_after(day: int) -> Comparison:
        base = SeenBuild("l", "default", "/a", store.import_run(run_of(1000, day)))
        new = SeenBuild("m", "new", "/b", 2)
        return watched(store)[0].verify(base, new, [make_record().key])

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
    """With all that is in it; at first nothing was seen. One watch holds it: two would report."""
    path = tmp_path / "state.json"
    assert State("w") == read_state(path, "w")
    for _ in range(2):
        with held(path):
            write_state(path, STATE)
            with pytest.raises(UsageError, match=r"another watch is using.*\n.*--state"):
                held(path).__enter__()

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
