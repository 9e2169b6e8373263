"""Watching builds: each step is found once, whatever fails in between."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.comparison import Comparison, compare, verified
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import BuildError
from instruction_counts.history import watching
from instruction_counts.history.watching import SeenBuild, State
from tests.builders import cpp, side
from tests.fakes import FINGERPRINT
from tests.history.made import outcome_of


@attrs.define
class FakeWatchedBuilds:
    """Builds with what is measured of each; those of None are broken.

    ``again`` are the second readings that are others; builds that are ``gone`` have none.
    """

    sides: Mapping[str, Side | None]
    again: Mapping[str, Side] = attrs.field(factory=dict)
    gone: frozenset[str] = frozenset()
    verifications: list[tuple[str, str]] = attrs.field(factory=list)
    loaded: list[str] = attrs.field(factory=list)

    @classmethod
    def of(
        cls, counts: Sequence[int | None], outliers: Mapping[str, int] | None = None, **more: Any
    ) -> FakeWatchedBuilds:
        """Builds of one case that cost so much; ``outliers`` are first readings of some."""
        sides = {f"b{at}": None if n is None else with_cases(a=n) for at, n in enumerate(counts)}
        first = {name: with_cases(a=count) for name, count in (outliers or {}).items()}
        again = {name: side for name, side in sides.items() if side is not None}
        return cls(sides | {name: first[name] for name in first if sides[name]}, again, **more)

    def measure(self, name: str) -> tuple[SeenBuild, Side]:
        """See `WatchedBuilds`."""
        side = self.sides[name]
        if side is None:
            raise BuildError(f"{name} has no torch", "Install it.")
        return SeenBuild(name, name, f"/{name}/python", 1), side

    def stored(self, last: SeenBuild) -> Side | None:
        """See `WatchedBuilds`."""
        self.loaded.append(last.name)
        return self.sides[last.name]

    def compare(self, base: Side, new: Side) -> Comparison:
        """See `WatchedBuilds`."""
        return compare(base, new)

    def verify(self, base: SeenBuild, new: SeenBuild, keys: Sequence[CaseKey]) -> Comparison:
        """See `WatchedBuilds`."""
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


def causes(_: Difference) -> tuple[str, ...]:
    """A cause."""
    return ("+1 f",)


def watched(builds: FakeWatchedBuilds) -> tuple[State, list[str]]:
    """The state after all builds, and what was noticed."""
    notices: list[str] = []
    state = State("w")
    for name in builds.sides:
        state = watching.look_at(state, name, builds, causes, notices.append)
    return state, notices


def steps_in(state: State) -> list[tuple[str, str, str]]:
    """Base, new and verdict of each step."""
    return [(step.base, step.new, step.verdict) for step in state.unreported]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([1000, 2000, 3000, None]), min_size=1, max_size=16),
    st.sets(st.integers(0, 15)),
)
def test_every_step_is_found_exactly_once(counts: list[int | None], outliers: set[int]) -> None:
    """Whatever is broken, and whichever first readings are outliers."""
    names = [f"b{place}" for place in range(len(counts))]
    far = {name: 90_000 + 7000 * at for at, name in enumerate(names) if at in outliers}
    working = [(name, n) for name, n in zip(names, counts, strict=True) if n is not None]
    expected = [
        (before, after, "worse" if new > base else "better")
        for (before, base), (after, new) in itertools.pairwise(working)
        if base != new
    ]

    assert expected == steps_in(watched(FakeWatchedBuilds.of(counts, far))[0])


def test_a_suspect_is_measured_again_before_it_is_a_step() -> None:
    """Both builds, and then in other layouts; an id tells each step from all others."""
    builds = FakeWatchedBuilds.of([1000, 1000, 2000, 3000])
    state, _ = watched(builds)
    first, second = state.unreported

    assert [("b1", "b2"), ("b2", "b3")] == builds.verifications
    assert (True, 1000, ("+1 f",)) == (first.verified, first.change, first.causes)
    assert first.id != second.id
    assert state == watched(builds)[0]


def test_a_broken_build_is_passed_over() -> None:
    """The next one is compared with the last that worked; the reason is reported."""
    state, notices = watched(FakeWatchedBuilds.of([1000, None, -1, 2000]))

    assert [("b0", "b3", "worse")] == steps_in(state)
    assert ["b1 is broken and was skipped: b1 has no torch"] == notices[:1]
    assert "no case has a count" in notices[1]
    assert ("b0", "b1", "b2", "b3") == state.seen


def test_a_suspect_that_cannot_be_verified_is_a_step_as_such() -> None:
    """The build before it may have been removed."""
    state, notices = watched(FakeWatchedBuilds.of([1000, 2000], gone=frozenset({"b0"})))

    assert [False] == [step.verified for step in state.unreported]
    assert "cannot be verified" in notices[0]


# Several cases


@pytest.mark.parametrize("without", [with_cases(a=1000, b=-1), with_cases(a=1000)])
def test_a_case_is_compared_with_the_last_build_on_which_it_worked(without: Side) -> None:
    """It fails, or is gone, for a while; the others work in between. It is noticed once."""
    whole = [with_cases(a=1000, b=count) for count in (1000, 2000, 2000)]
    sides = (whole[0], without, without, *whole[1:])
    builds = FakeWatchedBuilds({f"b{place}": side for place, side in enumerate(sides)})
    state, notices = watched(builds)

    assert [("b0", "b3", "worse")] == steps_in(state)
    assert ["b · C++ · Eager · Forward"] == [step.case for step in state.unreported]
    assert ["b1: not counted, so not compared: b · C++ · Eager · Forward"] == notices
    assert ["b4"] == [base.build.name for base in state.bases]
    # A run can be large: an earlier one is loaded only for cases that are back.
    assert ["b0", "b1", "b0", "b2", "b3"] == builds.loaded


def test_each_case_waits_for_itself() -> None:
    """Each is compared with another build."""
    builds = {
        "b0": with_cases(a=1000, b=1000, c=1000),
        "b1": with_cases(a=-1, b=2000, c=2000),
        "b2": with_cases(a=-1, b=-1, c=2000),
        "b3": with_cases(a=3000, b=3000, c=3000),
    }
    state, _ = watched(FakeWatchedBuilds(builds))

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
    state, notices = watched(FakeWatchedBuilds(builds, {"b1": with_cases(a=2000, b=-1)}))

    assert [("a", True), ("b", False)] == [
        (step.case[0], step.verified) for step in state.unreported
    ]
    assert ["b1: 1 of 2 candidates cannot be verified: they failed when measured again"] == notices


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
    state, notices = watched(FakeWatchedBuilds(builds))

    assert () == state.unreported
    assert [f"b1: not comparable with b0, {why}: a · C++ · Eager · Forward"] == notices


def test_a_notice_names_a_few_cases() -> None:
    """All may be concerned."""
    cases = {f"c{place}": 1000 for place in range(5)}
    _, (notice,) = watched(
        FakeWatchedBuilds({"b0": with_cases(**cases), "b1": with_cases("d2", **cases)})
    )

    assert notice.endswith("; c2 · C++ · Eager · Forward and 2 more")


@pytest.mark.parametrize(
    ("lines", "names"), [("", []), ("a\n\n b \na\nc", ["b", "c"]), ("a=/x\n", ["a=/x"])]
)
def test_only_new_builds_are_looked_at(lines: str, names: list[str]) -> None:
    """Each once."""
    assert names == watching.new_names(lines, ["a"])
