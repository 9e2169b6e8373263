"""Watching builds: each step is found once, whatever fails in between."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.types import CaseKey, Language
from instruction_counts.analysis.verdicts.comparison import Comparison, compare, verified
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.errors import BuildError
from instruction_counts.history import watching
from instruction_counts.history.watching import SeenBuild, State
from tests.fakes import FINGERPRINT, failed, make_record
from tests.history.made import outcome_of

RECORD = make_record("add", language=Language.CPP)
KEY = RECORD.key


@attrs.define
class FakeWatchedBuilds:
    """Builds whose counts are given by name; those of None are broken, of -1 fail the case.

    ``outliers`` are the counts of the first reading of some.
    """

    counts: Mapping[str, int | None]
    outliers: Mapping[str, int] = attrs.field(factory=dict)
    gone: frozenset[str] = frozenset()
    verifications: list[tuple[str, str]] = attrs.field(factory=list)

    def measure(self, name: str) -> tuple[SeenBuild, Side]:
        """See `WatchedBuilds`."""
        count = self.counts[name]
        if count is None:
            raise BuildError(f"{name} has no torch", "Install it.")
        build = SeenBuild(name, name, f"/{name}/python", 1)
        return build, self._side(name, self.outliers.get(name, count))

    def stored(self, last: SeenBuild) -> Side | None:
        """See `WatchedBuilds`."""
        count = self.counts[last.name]
        assert count is not None
        return self._side(last.name, self.outliers.get(last.name, count))

    def compare(self, base: Side, new: Side) -> Comparison:
        """See `WatchedBuilds`."""
        return compare(base, new)

    def verify(self, base: SeenBuild, new: SeenBuild, keys: Sequence[CaseKey]) -> Comparison:
        """See `WatchedBuilds`."""
        assert [KEY] == list(keys)
        if base.name in self.gone:
            raise BuildError(f"{base.name} is gone", "Make it again.")
        self.verifications.append((base.name, new.name))
        counts = [self.counts[build.name] or 0 for build in (base, new)]
        sides = [
            self._side(build.name, count) for build, count in zip((base, new), counts, strict=True)
        ]
        return verified(compare(*sides), *([{KEY: count}, {KEY: count}] for count in counts))

    def _side(self, name: str, count: int) -> Side:
        outcome = failed() if count < 0 else outcome_of(count)
        record = attrs.evolve(RECORD, outcome=outcome)
        return Side(f"run 1, {name}", "fork", FINGERPRINT, {KEY: record})


def causes(_: Difference) -> tuple[str, ...]:
    """A cause."""
    return ("+1 f",)


def watched(builds: FakeWatchedBuilds, notices: list[str] | None = None) -> State:
    """The state after all builds of a watch."""
    state = State("w")
    said: list[str] = [] if notices is None else notices
    for name in builds.counts:
        state = watching.look_at(state, name, builds, causes, said.append)
    return state


def steps_in(state: State) -> list[tuple[str, str, str]]:
    """Base, new and verdict of each step."""
    return [(step.base, step.new, step.verdict) for step in state.unreported]


def named(counts: Sequence[int | None]) -> dict[str, int | None]:
    """Names for builds."""
    return {f"b{place}": count for place, count in enumerate(counts)}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([1000, 2000, 3000, None]), min_size=1, max_size=16),
    st.sets(st.integers(0, 15)),
)
def test_every_step_is_found_exactly_once(counts: list[int | None], outliers: set[int]) -> None:
    """Whatever is broken, and whichever first readings are outliers."""
    builds = named(counts)
    far = {name: 90_000 + 7000 * place for place, name in enumerate(builds) if place in outliers}
    working = [(name, count) for name, count in builds.items() if count is not None]
    expected = [
        (before, after, "worse" if new > base else "better")
        for (before, base), (after, new) in itertools.pairwise(working)
        if base != new
    ]

    assert expected == steps_in(watched(FakeWatchedBuilds(builds, far)))


def test_a_suspect_is_measured_again_before_it_is_a_step() -> None:
    """Both builds, and then in other layouts."""
    builds = FakeWatchedBuilds(named([1000, 1000, 2000]))
    (step,) = watched(builds).unreported

    assert [("b1", "b2")] == builds.verifications
    assert step.verified is True
    assert 1000 == step.change
    assert ("+1 f",) == step.causes


def test_an_outlier_is_no_step() -> None:
    """Nor is the way back."""
    builds = FakeWatchedBuilds(named([1000] * 4), {"b1": 9000})

    assert () == watched(builds).unreported
    assert 2 == len(builds.verifications)


def test_a_broken_build_is_passed_over() -> None:
    """The next one is compared with the last that worked; the reason is reported."""
    notices: list[str] = []
    state = watched(FakeWatchedBuilds(named([1000, None, -1, 2000])), notices)

    assert [("b0", "b3", "worse")] == steps_in(state)
    assert ["b1 is broken and was skipped: b1 has no torch"] == notices[:1]
    assert "no case has a count" in notices[1]
    assert ("b0", "b1", "b2", "b3") == state.seen


def test_a_suspect_that_cannot_be_verified_is_a_step_as_such() -> None:
    """The build before it may have been removed."""
    notices: list[str] = []
    builds = FakeWatchedBuilds(named([1000, 2000]), gone=frozenset({"b0"}))
    (step,) = watched(builds, notices).unreported

    assert step.verified is False
    assert "cannot be verified" in notices[0]


def test_each_step_has_an_id_of_its_own() -> None:
    """The same wherever it is found again."""
    first, second = (watched(FakeWatchedBuilds(named([1000, 2000, 3000]))) for _ in range(2))

    assert first == second
    assert 2 == len({step.id for step in first.unreported})


# Several cases


@attrs.define
class WatchedCases:
    """Builds with several cases each; ``again`` are the second readings that are others."""

    sides: Mapping[str, Side]
    again: Mapping[str, Side] = attrs.field(factory=dict)
    loaded: list[str] = attrs.field(factory=list)

    def measure(self, name: str) -> tuple[SeenBuild, Side]:
        """See `WatchedBuilds`."""
        return SeenBuild(name, name, f"/{name}/python", 1), self.sides[name]

    def stored(self, last: SeenBuild) -> Side | None:
        """See `WatchedBuilds`."""
        self.loaded.append(last.name)
        return self.sides[last.name]

    def compare(self, base: Side, new: Side) -> Comparison:
        """See `WatchedBuilds`."""
        return compare(base, new)

    def verify(self, base: SeenBuild, new: SeenBuild, keys: Sequence[CaseKey]) -> Comparison:
        """See `WatchedBuilds`."""
        sides = [self.again.get(build.name, self.sides[build.name]) for build in (base, new)]
        kept = [
            attrs.evolve(side, records={key: side.records[key] for key in keys}) for side in sides
        ]
        return verified(compare(*kept), *([counts_of(side)] for side in kept))


def counts_of(side: Side) -> dict[CaseKey, int]:
    """The counts of the cases that have one."""
    counted = {key: record.outcome.instructions for key, record in side.records.items()}
    return {key: count.per_run for key, count in counted.items() if count is not None}


def with_cases(code: str = "d1", engine: str = "fork", **counts: int) -> Side:
    """What was measured of a build, by case; of -1 the case fails."""
    records = [
        attrs.evolve(
            make_record(name, language=Language.CPP),
            outcome=failed() if count < 0 else outcome_of(count),
            definition_hash=code,
        )
        for name, count in counts.items()
    ]
    return Side("run 1", engine, FINGERPRINT, {record.key: record for record in records})


def watched_cases(builds: WatchedCases) -> tuple[State, list[str]]:
    """The state after all builds, and what was noticed."""
    notices: list[str] = []
    state = State("w")
    for name in builds.sides:
        state = watching.look_at(state, name, builds, causes, notices.append)
    return state, notices


GAP = {
    "b0": with_cases(a=1000, b=1000),
    "b1": with_cases(a=1000, b=-1),
    "b2": with_cases(a=1000, b=-1),
    "b3": with_cases(a=1000, b=2000),
    "b4": with_cases(a=1000, b=2000),
}


def test_a_case_is_compared_with_the_last_build_on_which_it_worked() -> None:
    """The others worked in between; while it fails, it is noticed once."""
    builds = WatchedCases(GAP)
    state, notices = watched_cases(builds)

    assert [("b0", "b3", "worse")] == steps_in(state)
    assert ["b · C++ · Eager · Forward"] == [step.case for step in state.unreported]
    assert ["b1: not counted, so not compared: b · C++ · Eager · Forward"] == notices
    assert ["b4"] == [base.build.name for base in state.bases]
    # A run can be large: an earlier one is loaded only for cases that are back.
    assert ["b0", "b1", "b0", "b2", "b3"] == builds.loaded


def test_a_case_that_is_gone_for_a_while_is_compared_when_it_is_back() -> None:
    """A build may lack what it needs."""
    builds = {**GAP, "b1": with_cases(a=1000), "b2": with_cases(a=1000)}

    assert [("b0", "b3", "worse")] == steps_in(watched_cases(WatchedCases(builds))[0])


def test_each_case_waits_for_itself() -> None:
    """Each is compared with another build."""
    builds = {
        "b0": with_cases(a=1000, b=1000, c=1000),
        "b1": with_cases(a=-1, b=2000, c=2000),
        "b2": with_cases(a=-1, b=-1, c=2000),
        "b3": with_cases(a=3000, b=3000, c=3000),
    }
    state, _ = watched_cases(WatchedCases(builds))

    assert [
        ("b", "b0", "b1"),
        ("c", "b0", "b1"),
        ("a", "b0", "b3"),
        ("b", "b1", "b3"),
        ("c", "b2", "b3"),
    ] == [(step.case[0], step.base, step.new) for step in state.unreported]


def test_a_suspect_that_fails_when_it_is_measured_again_is_an_unverified_step() -> None:
    """Its build is seen, so that nobody would look at it again; the notice says why."""
    builds = {"b0": with_cases(a=1000, b=1000), "b1": with_cases(a=2000, b=2000)}
    state, notices = watched_cases(WatchedCases(builds, {"b1": with_cases(a=2000, b=-1)}))

    assert [("a", True), ("b", False)] == [
        (step.case[0], step.verified) for step in state.unreported
    ]
    assert ["b1: 1 of 2 suspects cannot be verified: they failed when measured again"] == notices


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (with_cases("d2", a=2000), "definition changed"),
        (with_cases(engine="timer", a=2000), "fingerprint differs, engine fork → timer"),
        (
            attrs.evolve(
                with_cases(a=2000), fingerprint=attrs.evolve(FINGERPRINT, profile_version=2)
            ),
            "fingerprint differs, hermetic profile 1 → 2",
        ),
    ],
)
def test_what_cannot_be_compared_is_noticed(other: Side, why: str) -> None:
    """A step in it is not seen; the next build is compared again."""
    builds = {"b0": with_cases(a=1000), "b1": other, "b2": other}
    state, notices = watched_cases(WatchedCases(builds))

    assert () == state.unreported
    assert [f"b1: not comparable with b0, {why}: a · C++ · Eager · Forward"] == notices


def test_a_notice_names_a_few_cases() -> None:
    """All may be concerned."""
    cases = {f"c{place}": 1000 for place in range(5)}
    builds = {"b0": with_cases(**cases), "b1": with_cases("d2", **cases)}
    _, (notice,) = watched_cases(WatchedCases(builds))

    assert notice.startswith("b1: not comparable with b0, definition changed: c0 · C++")
    assert notice.endswith("; c2 · C++ · Eager · Forward and 2 more")


@pytest.mark.parametrize(
    ("lines", "names"), [("", []), ("a\n\n b \na\nc", ["b", "c"]), ("a=/x\n", ["a=/x"])]
)
def test_only_new_builds_are_looked_at(lines: str, names: list[str]) -> None:
    """Each once."""
    assert names == list(watching.new_names(lines, ["a"]))
