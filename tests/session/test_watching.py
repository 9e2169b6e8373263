"""A watch: each step is found once, whatever fails, and its place is kept over restarts."""

import functools
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.comparison import Comparison, verified
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.cli.watch_command import report_step
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.records import Run
from instruction_counts.domain.selection import Selection
from instruction_counts.report.history import found_step
from instruction_counts.session import watching
from instruction_counts.session.build_series import StoreBuildMeasurer
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.session.measuring import MeasuredRun
from instruction_counts.session.watching import (
    Base,
    Looking,
    SeenBuild,
    State,
    Step,
    WatchRequest,
    held,
    read_state,
    state_file_of,
    write_state,
)
from instruction_counts.storage.store import Store
from tests.builders import cpp, key, side
from tests.fakes import make_record
from tests.history.made import outcome_of
from tests.session.fakes import Remarks


@attrs.define
class FakeMeasurer(StoreBuildMeasurer):
    """Builds by their names, with what is measured of each: first, and ``again``.

    Builds that are ``gone`` cannot be measured again. What was measured is remembered.
    """

    sides: Mapping[str, Side] = attrs.field(factory=dict)
    again: Mapping[str, Side] = attrs.field(factory=dict)
    gone: frozenset[str] = frozenset()
    stores: bool = True
    asked: list[tuple[tuple[str, ...], list[str]]] = attrs.field(factory=list)

    def measured(self, builds: Sequence[Build], *, in_order: bool = True) -> MeasuredRun:
        """A run of the cases that are selected."""
        only, names = self.request.selection.only, [build.name for build in builds]
        self.asked.append((only, names))
        if len(builds) > 1 and self.gone.intersection(names):
            raise BuildError("a build is gone", "Make it again.")
        known = {**self.sides, **self.again} if len(builds) > 1 else self.sides
        sides = {name: known[name.removesuffix(" before")] for name in names}
        records = (
            attrs.evolve(record, build=name)
            for name, side in sides.items()
            for key, record in side.records.items()
            if key.path in (only or {key.path})
        )
        fingerprints = {name: side.fingerprint for name, side in sides.items()}
        run = Run("0.1.0", sides[names[0]].engine, fingerprints, tuple(records), in_order=in_order)
        return MeasuredRun(run, (), self.store.import_run(run) if self.stores else None)

    def check(self, comparison: Comparison) -> Comparison:
        """In one more layout, which moves nothing."""
        return verified(
            comparison, *([counts_of(side)] for side in (comparison.base, comparison.new))
        )


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
class Watch(Remarks):
    """A watch over builds that come one after the other, and what is reported and noticed."""

    store: Store
    state: State = attrs.field(factory=lambda: State("w"))
    steps: list[Step] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)
    asked: list[tuple[tuple[str, ...], list[str]]] = attrs.field(factory=list)

    def over(self, builds: Mapping[str, Side | None], **more: Any) -> Self:
        """Look at all of them."""
        looking = self.looking(builds, self.steps.append, **more)
        assert looking.look(lambda: builds) == len(self.steps)
        self.state = looking.state
        self.notes.pop()
        return self

    def looking(
        self, builds: Mapping[str, Side | None], report: Callable[[Step], None], **more: Any
    ) -> Looking:
        """A look at builds, from this state."""

        def make(line: str) -> Build:
            if builds[line] is None:
                raise BuildError(f"{line} has no torch", "Install it.")
            return Build(names.get(line, line), python or f"/{line}/python")

        names, python = more.pop("names", {}), more.pop("python", "")
        sides = {names.get(line, line): side for line, side in builds.items() if side is not None}
        request = ComparisonRequest("")
        measurer = FakeMeasurer(request, self.store, self, sides=sides, asked=self.asked, **more)
        return Looking(self.state, lambda _: None, make, measurer, found_step, report)

    @property
    def found(self) -> list[tuple[str, str, str]]:
        """Base, new and verdict of each step."""
        return [(step["base"], step["new"], step["verdict"]) for step in self.steps]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    """A watch with a store of its own."""
    with Store(tmp_path / "runs.db") as store:
        yield Watch(store)


# What is a step


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([1000, 2000, 3000, None]), min_size=1, max_size=10),
    st.sets(st.integers(0, 9)),
)
def test_every_step_is_found_exactly_once(
    watch: Watch, counts: list[int | None], outliers: set[int]
) -> None:
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

    assert expected == Watch(watch.store).over(sides | far, again=again).found


def test_a_suspect_is_measured_again_before_it_is_a_step(watch: Watch) -> None:
    """Both builds, and then in other layouts; an id tells each step from all others."""
    first, second = watch.over(costing(1000, 1000, 2000, 3000)).steps

    assert [["b1", "b2"], ["b2", "b3"]] == [names for _, names in watch.asked if len(names) > 1]
    assert (True, 1000, ["+1,000 at::slow (new)"]) == (
        first["verified"],
        first["change"],
        first["causes"],
    )
    assert first["id"] != second["id"]
    assert [first["id"], second["id"]] == [
        step["id"] for step in Watch(watch.store).over(costing(1000, 1000, 2000, 3000)).steps
    ]


def test_only_suspects_are_measured_again(watch: Watch) -> None:
    """Also where both builds have the same name."""
    builds = {"b0": with_cases(a=1000, b=1000), "b1": with_cases(a=1000, b=2000)}
    watch.over(builds, names=dict.fromkeys(builds, "nightly"))
    # The fake tells builds by their names: both readings are those of the later build.
    assert [] == watch.steps

    assert ((), ["nightly"]) == watch.asked[-1]
    watch.over({"b2": with_cases(a=1000, b=3000)}, names={"b2": "nightly"})
    assert (("b",), ["nightly before", "nightly"]) == watch.asked[-1]


def test_a_broken_build_is_passed_over(watch: Watch) -> None:
    """The next one is compared with the last that worked; the reason is reported."""
    watch.over(costing(1000, None, -1, 2000))

    assert [("b0", "b3", "worse")] == watch.found
    assert [
        "b1 is broken and was skipped: b1 has no torch",
        "b2 is broken and was skipped: ValueError: bad   (stmt line 1: x + y)",
        "Measuring candidates once more: 1",
    ] == watch.notes
    assert ("b0", "b1", "b2", "b3") == watch.state.seen


def test_what_the_machine_is_short_of_is_no_fault_of_a_build(watch: Watch) -> None:
    """It is made at the next look, before those after it."""

    def make(line: str) -> Build:
        raise BuildError(f"{line}: OSError: No space left on device", "See above.")

    looking = watch.looking(costing(1000, 2000), watch.steps.append)
    made, looking.make = looking.make, make
    with pytest.raises(BuildError, match="No space left on device"):
        looking.look(lambda: ["b0", "b1"])
    looking.make = made

    assert 1 == looking.look(lambda: ["b0", "b1"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"gone": frozenset({"b0"})}, "a build is gone"),
        # A virtual environment that is upgraded in place is not the build before any more.
        (
            {"again": {"b0": side(cpp("a", outcome=1000), torch_git="1")}},
            "/b0/python is not b0 any more",
        ),
        # Where the new one is in its place, both would be the new one, and the same.
        ({"python": "/venv/bin/python"}, "/venv/bin/python is not b0 any more"),
    ],
)
def test_a_suspect_that_cannot_be_verified_is_a_step_as_such(
    more: dict[str, Any], message: str, watch: Watch
) -> None:
    """The build before it may have been removed, or replaced."""
    watch.over(costing(1000, 2000), **more)

    assert [False] == [step["verified"] for step in watch.steps]
    assert f"b1: candidates cannot be verified: {message}" == watch.notes[-1]


@pytest.mark.parametrize(
    ("without", "why"),
    [
        (with_cases(a=1000, b=-1), ": ValueError: bad   (stmt line 1: x + y)"),
        (with_cases(a=1000), ""),
    ],
    ids=["failed", "gone"],
)
def test_a_case_is_compared_with_the_last_build_on_which_it_worked(
    without: Side, why: str, watch: Watch
) -> None:
    """It fails, or is gone, for a while; the others work in between. It is noticed once."""
    whole = [with_cases(a=1000, b=count) for count in (1000, 2000, 2000)]
    sides = (whole[0], without, without, *whole[1:])
    watch.over({f"b{place}": side for place, side in enumerate(sides)})

    assert [("b0", "b3", "worse")] == watch.found
    assert ["b · C++ · Eager · Forward"] == [step["case"] for step in watch.steps]
    lost = f"b · C++ · Eager · Forward{why}"
    assert [f"b1: not counted, so not compared: {lost}"] == watch.notes[:1]
    assert ["b4"] == [base.build.name for base in watch.state.bases]
    assert 2 == len(watch.notes)


def test_each_case_waits_for_itself(watch: Watch) -> None:
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
    ] == [(step["case"][0], step["base"], step["new"]) for step in watch.over(builds).steps]


def test_an_earlier_run_is_loaded_only_for_cases_that_are_back(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can be large."""
    load, loaded = watch.store.load, list[int]()

    def noted(number: int) -> Run:
        loaded.append(number)
        return load(number)

    monkeypatch.setattr(watch.store, "load", noted)
    whole, without = with_cases(a=1000, b=1000), with_cases(a=1000, b=-1)
    watch.over(dict(zip(("b0", "b1", "b2", "b3"), (whole, without, without, whole), strict=True)))

    assert [1, 2, 1, 3] == loaded


def test_a_suspect_that_fails_when_it_is_measured_again_is_an_unverified_step(watch: Watch) -> None:
    """Its build is seen, so that nobody would look at it again."""
    builds = {"b0": with_cases(a=1000, b=1000), "b1": with_cases(a=2000, b=2000)}
    watch.over(builds, again={"b1": with_cases(a=2000, b=-1)})

    assert [("a", True), ("b", False)] == [
        (step["case"][0], step["verified"]) for step in watch.steps
    ]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (with_cases("d2", a=2000), "definition changed"),
        (with_cases(engine="timer", a=2000), "fingerprint differs, engine fork → timer"),
    ],
)
def test_what_cannot_be_compared_is_noticed(other: Side, why: str, watch: Watch) -> None:
    """A step in it is not seen; the next build is compared again."""
    watch.over({"b0": with_cases(a=1000), "b1": other, "b2": other})

    assert [] == watch.steps
    assert [f"b1: not comparable with b0, {why}: a · C++ · Eager · Forward"] == watch.notes


def test_a_notice_names_a_few_cases(watch: Watch) -> None:
    """All may be concerned."""
    cases = {f"c{place}": 1000 for place in range(5)}
    watch.over({"b0": with_cases(**cases), "b1": with_cases("d2", **cases)})

    assert watch.notes[0].endswith("; c2 · C++ · Eager · Forward and 2 more")


# What is reported, and where it is kept


def killed(_: Step) -> None:
    """The program ends while a step is being reported."""
    raise KeyboardInterrupt


@attrs.define
class Restarted(Watch):
    """A watch of which each look starts from the file."""

    folder: Path = Path()
    command: str | None = None

    def look(self, report: Callable[[Step], None] | None = None) -> int:
        """Look at two builds that differ; the number of steps that were found."""
        path = self.folder / "state.json"
        builds = costing(1000, 2000)
        files = (self.folder / "steps.jsonl",)
        usual = functools.partial(report_step, files=files, command=self.command)
        self.state = read_state(path, "w")
        looking = self.looking(builds, report or usual)
        looking.save = functools.partial(write_state, path)
        found = looking.look(lambda: builds)
        assert looking.state == read_state(path, "w")
        return found

    @property
    def reported(self) -> list[dict[str, Any]]:
        """What was written to the file of steps."""
        path = self.folder / "steps.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def place(tmp_path: Path, watch: Watch) -> Restarted:
    """Nothing was looked at so far."""
    return Restarted(watch.store, folder=tmp_path)


def test_a_step_is_reported_once(place: Restarted, capsys: pytest.CaptureFixture[str]) -> None:
    """On the screen, as a line of JSON, and to a command; looking again reports nothing again."""
    place.command = f"cat >> {place.folder}/sent"
    for _ in range(3):
        place.look()
    what = "worse: a · C++ · Eager · Forward 1,000 → 2,000 between b0 and b1"
    text = f"{what} (exact difference): +1,000 at::slow (new)"

    assert [text] == [step["text"] for step in place.reported]
    assert 1 == capsys.readouterr().out.count(text)
    assert (place.folder / "sent").read_text() == (place.folder / "steps.jsonl").read_text()


def test_a_step_that_could_not_be_reported_comes_later(
    place: Restarted, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file, which took it already, does not get it again."""
    later = place.folder / "later"
    place.command = f"cat >> {later}/sent"
    place.look()
    failed = "A step could not be reported and will be retried: --on-step ends with 1"
    assert failed in place.notes[-2]
    assert "" == capsys.readouterr().out
    later.mkdir()
    place.look()

    assert 1 == len(place.reported)
    assert (later / "sent").read_text() == (place.folder / "steps.jsonl").read_text()


def test_a_step_that_waits_is_reported_also_where_builds_cannot_be_listed(
    place: Restarted,
) -> None:
    """A branch may have been renamed, say."""

    def lines() -> list[str]:
        raise BuildError("--command ends with 128", "Try it.")

    with pytest.raises(KeyboardInterrupt):
        place.look(killed)
    steps: list[Step] = []
    place.state = read_state(place.folder / "state.json", "w")
    looking = place.looking({}, steps.append)
    with pytest.raises(BuildError):
        looking.look(lines)

    assert 1 == len(steps)


def test_a_step_is_not_lost_when_the_program_is_killed(place: Restarted) -> None:
    """The state had it before it was reported, and has it until it was."""
    with pytest.raises(KeyboardInterrupt):
        place.look(killed)

    assert [0, 0] == [place.look(), place.look()]
    assert 1 == len(place.reported)


# What is measured


def test_a_build_that_is_not_stored_ends_the_watch(watch: Watch) -> None:
    """The next one could not be compared with it."""
    with pytest.raises(DataError, match="b0 was measured, but could not be stored"):
        watch.over(costing(1000), stores=False)


def test_the_last_build_is_taken_from_the_store(watch: Watch) -> None:
    """Unless it was deleted; or the database was made anew, and has another run of that number."""
    watch.over(costing(1000))
    (base,) = watch.state.bases
    for number, name in ((9, "b0"), (1, "nightly")):
        other = attrs.evolve(base, build=attrs.evolve(base.build, run_id=number, name=name))
        watch.state = State("w", bases=(other,))
        watch.over(costing(2000))
        assert f"Run {number} has no {name}: nothing to compare with." == watch.notes[-1]

    watch.state = State("w", ("b0",), (base,))
    assert [("b0", "b1", "worse")] == watch.over(costing(1000, 2000)).found
    assert watch.steps[0]["run"].endswith(", b1")


# How far it got


STATE = State(
    "w",
    ("b0", "b1"),
    (
        Base(SeenBuild("b0=/b0", "b0", "/b0", 1), (make_record("add", "mm").key,)),
        Base(SeenBuild("b1=b1.txt", "b1", "", 2, "torch==2"), (make_record("add").key,)),
    ),
    ({"id": "0123", "case": "add", "change": None, "verified": True, "causes": ["+1000 f"]},),
)


def test_the_state_comes_back_as_it_was(tmp_path: Path) -> None:
    """With all that is in it; at first nothing was seen. One watch holds it: two would report.

    A place that cannot be written is named at the start, before a build is measured in vain.
    A build is measured again by its interpreter, or by the lock file as it was then.
    """
    path = tmp_path / "state.json"
    with pytest.raises(UsageError, match=r"--state .* cannot be written"):
        held(tmp_path / "none" / "state.json").__enter__()
    assert State("w") == read_state(path, "w")
    for _ in range(2):
        with held(path):
            write_state(path, STATE)
            with pytest.raises(UsageError, match=r"another watch is using.*\n.*--state"):
                held(path).__enter__()

    found = read_state(path, "w")
    assert STATE == found
    builds = [base.build.build for base in found.bases]
    assert [Build("b0", "/b0"), Build("b1", lock="torch==2")] == builds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"version": 2}', "found     2 .*\n  expected  1, the only supported version\n.*--state"),
        ('{"version": 1, "state": {"watched": "w", "more": 1}}', 'state.more\n.*a field "more"'),
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


def test_each_watch_has_a_file_of_its_own(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same one each time, wherever the program is started."""
    monkeypatch.setenv("XDG_DATA_HOME", str(here))
    (here / "d.py").touch()

    def name(database: Path, only: str, definitions: str = "d.py") -> str:
        request = ComparisonRequest(definitions, Selection((only,)))
        with Store(database) as store:
            return WatchRequest("command", None, request).name(store)

    near, far = Path("runs.db"), here / "runs.db"
    watches = (near, "a"), (near, "b"), (far, "a", str(here / "d.py"))
    files = [state_file_of(name(*watch)) for watch in watches]

    assert files[0] == files[2] != files[1]
    assert files[0] != state_file_of(name(near, "a", "operators of " + "x" * 5_000))
    assert [here / "instruction-counts"] * 3 == [file.parent for file in files]


def test_a_site_that_cannot_be_written_is_tried_again(watch: Watch, tmp_path: Path) -> None:
    """At the next look, until it is written; where there is no next look, it is an error."""
    full = UsageError("the disk is full", "Make room.")
    listing = f"echo >>{tmp_path}/looks; [ $(wc -l <{tmp_path}/looks) -lt 4 ] && echo b0 || echo b1"
    request = WatchRequest(listing, None, ComparisonRequest(""), tmp_path / "state")
    base = Base(SeenBuild("b0", "b0", "", 1), (key("a"),))
    write_state(tmp_path / "state", State(request.name(watch.store), ("b0",), (base,)))
    remarks, published = Remarks(), list[bool]()
    given = request, watch.store, found_step, watch.steps.append, remarks

    def publish() -> None:
        published.append(len(published) > 1)
        if not published[-1]:
            raise full

    with pytest.raises(UsageError, match="the disk is full"):
        watching.watch(*given, None, publish)
    assert [] == remarks.errors
    with pytest.raises(UsageError, match="is not NAME=PYTHON"):  # what the fourth look has
        watching.watch(*given, 0.01, publish)
    assert ([str(full)], [False, False, True]) == (remarks.errors, published)
