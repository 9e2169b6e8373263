"""Watching builds: each step alerts once, whatever fails in between."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Mapping, Sequence

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.types import CaseKey, Language
from instruction_counts.analysis.verdicts.comparison import Comparison, compare, verified
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.errors import BuildError, DataError
from instruction_counts.history import watching
from instruction_counts.history.watch_state import Alert, Delivery, LastBuild, State
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

    def measure(self, name: str) -> tuple[LastBuild, Side]:
        """See `WatchedBuilds`."""
        count = self.counts[name]
        if count is None:
            raise BuildError(f"{name} has no torch", "Install it.")
        build = LastBuild(name, name, f"/{name}/python", 1)
        return build, self._side(name, self.outliers.get(name, count))

    def stored(self, last: LastBuild) -> Side | None:
        """See `WatchedBuilds`."""
        count = self.counts[last.name]
        assert count is not None
        return self._side(last.name, self.outliers.get(last.name, count))

    def compare(self, base: Side, new: Side) -> Comparison:
        """See `WatchedBuilds`."""
        return compare(base, new)

    def verify(self, base: LastBuild, new: LastBuild, keys: Sequence[CaseKey]) -> Comparison:
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


def described(difference: Difference) -> tuple[str, tuple[str, ...]]:
    """A title and a cause."""
    return "/".join(difference.key.label), ("+1 f",)


def ignored(_: object) -> None:
    """What is noticed or saved, and not asked for here."""


def watched(builds: FakeWatchedBuilds, notices: list[str] | None = None) -> State:
    """The state after all builds of a watch."""
    state = State("w")
    notice: Callable[[str], None] = ignored if notices is None else notices.append
    for name in builds.counts:
        state = watching.look_at(state, name, builds, described, notice)
    return state


def steps_in(state: State) -> list[tuple[str, str, str]]:
    """Base, new and verdict of each alert."""
    return [(alert.base, alert.new, alert.verdict) for alert in state.alerts]


def named(counts: Sequence[int | None]) -> dict[str, int | None]:
    """Names for builds."""
    return {f"b{place}": count for place, count in enumerate(counts)}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([1000, 2000, 3000, None]), min_size=1, max_size=16),
    st.sets(st.integers(0, 15)),
)
def test_every_step_alerts_exactly_once(counts: list[int | None], outliers: set[int]) -> None:
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


def test_a_suspect_is_measured_again_before_it_alerts() -> None:
    """Both builds, and then in other layouts."""
    builds = FakeWatchedBuilds(named([1000, 1000, 2000]))
    (alert,) = watched(builds).alerts

    assert [("b1", "b2")] == builds.verifications
    assert alert.verified is True
    assert 1000 == alert.change


def test_an_outlier_does_not_alert() -> None:
    """Nor does the way back."""
    builds = FakeWatchedBuilds(named([1000] * 4), {"b1": 9000})

    assert () == watched(builds).alerts
    assert 2 == len(builds.verifications)


def test_a_broken_build_is_passed_over() -> None:
    """The next one is compared with the last that worked; the reason is reported."""
    notices: list[str] = []
    state = watched(FakeWatchedBuilds(named([1000, None, -1, 2000])), notices)

    assert [("b0", "b3", "worse")] == steps_in(state)
    assert ["b1 is broken and was skipped: b1 has no torch"] == notices[:1]
    assert "no case has a count" in notices[1]
    assert ("b0", "b1", "b2", "b3") == state.seen


def test_a_suspect_that_cannot_be_verified_alerts_as_such() -> None:
    """The build before it may have been removed."""
    notices: list[str] = []
    builds = FakeWatchedBuilds(named([1000, 2000]), gone=frozenset({"b0"}))
    (alert,) = watched(builds, notices).alerts

    assert alert.verified is False
    assert "cannot be verified" in notices[0]


def test_a_step_that_is_seen_again_has_the_same_id() -> None:
    """So that it is not reported again."""
    state = watched(FakeWatchedBuilds(named([1000, 2000])))

    assert state == state.with_alerts(state.alerts)


# Several cases


@attrs.define
class WatchedCases:
    """Builds with several cases each; ``again`` are the second readings that are others."""

    sides: Mapping[str, Side]
    again: Mapping[str, Side] = attrs.field(factory=dict)
    loaded: list[str] = attrs.field(factory=list)

    def measure(self, name: str) -> tuple[LastBuild, Side]:
        """See `WatchedBuilds`."""
        return LastBuild(name, name, f"/{name}/python", 1), self.sides[name]

    def stored(self, last: LastBuild) -> Side | None:
        """See `WatchedBuilds`."""
        self.loaded.append(last.name)
        return self.sides[last.name]

    def compare(self, base: Side, new: Side) -> Comparison:
        """See `WatchedBuilds`."""
        return compare(base, new)

    def verify(self, base: LastBuild, new: LastBuild, keys: Sequence[CaseKey]) -> Comparison:
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


def watched_cases(builds: WatchedCases, *names: str) -> tuple[State, list[str]]:
    """The state after these builds, or all, and what was noticed."""
    notices: list[str] = []
    state = State("w")
    for name in names or builds.sides:
        state = watching.look_at(state, name, builds, described, notices.append)
    return state, notices


GAP = {
    "b0": with_cases(a=1000, b=1000),
    "b1": with_cases(a=1000, b=-1),
    "b2": with_cases(a=1000, b=-1),
    "b3": with_cases(a=1000, b=2000),
    "b4": with_cases(a=1000, b=2000),
}


def test_a_case_is_compared_with_the_last_build_on_which_it_worked() -> None:
    """The others worked in between; the step alerts once."""
    state, _ = watched_cases(WatchedCases(GAP))

    assert [("b0", "b3", "worse")] == steps_in(state)
    assert ["b"] == [x.case for x in state.alerts]


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
    ] == [(alert.case, alert.base, alert.new) for alert in state.alerts]


def test_a_case_that_fails_is_noticed_once() -> None:
    """As long as it fails, nothing of it is compared."""
    _, notices = watched_cases(WatchedCases(GAP))

    assert ["b1: not counted, so not compared: b"] == notices


def test_an_earlier_build_is_loaded_only_for_cases_that_are_back() -> None:
    """A run can be large."""
    builds = WatchedCases(GAP)
    watched_cases(builds, "b0", "b1", "b2")

    assert ["b0", "b1"] == builds.loaded


def test_nothing_waits_when_all_cases_are_back() -> None:
    """The state does not grow."""
    state, _ = watched_cases(WatchedCases(GAP))

    assert () == state.waiting


def test_a_suspect_that_fails_when_it_is_measured_again_alerts_unverified() -> None:
    """Its build is seen, so that nobody would look at it again; the notice says why."""
    builds = {"b0": with_cases(a=1000, b=1000), "b1": with_cases(a=2000, b=2000)}
    state, notices = watched_cases(WatchedCases(builds, {"b1": with_cases(a=2000, b=-1)}))

    assert [("a", True), ("b", False)] == [(alert.case, alert.verified) for alert in state.alerts]
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

    assert () == state.alerts
    assert [f"b1: not comparable with b0, {why}: a"] == notices


def test_a_notice_names_a_few_cases() -> None:
    """All may be concerned."""
    cases = {f"c{place}": 1000 for place in range(5)}
    builds = {"b0": with_cases(**cases), "b1": with_cases("d2", **cases)}
    _, notices = watched_cases(WatchedCases(builds))

    assert ["b1: not comparable with b0, definition changed: c0; c1; c2 and 2 more"] == notices


# Delivery

WAITING = watched(FakeWatchedBuilds(named([1000, 2000, 3000])))


def delivered(
    state: State, *answers: Exception | None, saved: list[State] | None = None
) -> tuple[State, list[str]]:
    """The state after a delivery that is answered so, and the ids that were sent."""
    sent: list[str] = []
    left = list(answers)

    def send(alert: Alert) -> None:
        answer = left.pop(0) if left else None
        if answer is not None:
            raise answer
        sent.append(alert.id)

    save = ignored if saved is None else saved.append
    return watching.deliver(state, send, save, ignored), sent


def test_an_alert_is_sent_once() -> None:
    """Whoever asks again."""
    state, sent = delivered(WAITING)

    assert [alert.id for alert in WAITING.alerts] == sent
    assert [] == delivered(state)[1]


@pytest.mark.parametrize("error", [OSError("full"), DataError("refused")])
def test_an_alert_that_does_not_arrive_waits(error: Exception) -> None:
    """And is sent the next time; the others are not held up."""
    first, second = (alert.id for alert in WAITING.alerts)
    state, sent = delivered(WAITING, error)

    assert [second] == sent
    assert [first] == delivered(state)[1]


def test_an_alert_that_may_have_arrived_is_not_sent_again() -> None:
    """The program was killed while it was being sent."""
    saved: list[State] = []
    with pytest.raises(KeyboardInterrupt):
        delivered(WAITING, KeyboardInterrupt(), saved=saved)  # type: ignore[arg-type]
    first, second = (alert.id for alert in WAITING.alerts)
    state, sent = delivered(saved[-1])

    assert [second] == sent
    assert [] == delivered(state)[1]
    assert {Delivery.SENT} == {alert.delivery for alert in state.alerts}
    assert first not in sent


@pytest.mark.parametrize(
    ("lines", "names"), [("", []), ("a\n\n b \na\nc", ["b", "c"]), ("a=/x\n", ["a=/x"])]
)
def test_only_new_builds_are_looked_at(lines: str, names: list[str]) -> None:
    """Each once."""
    assert names == list(watching.new_names(lines, ["a"]))


def test_an_alert_tells_all_in_one_line() -> None:
    """For people, and for programs."""
    data = json.loads(watching.alert_to_json(WAITING.alerts[0]))

    assert "worse: add 1,000 → 2,000 between b0 and b1 (exact difference): +1 f" == data["text"]
    assert 1000 == data["change"]
    assert "b1" == data["new"]
    assert "delivery" not in data


def test_each_watch_saves_after_each_alert() -> None:
    """Before it is sent, and after."""
    saved: list[State] = []
    delivered(WAITING, saved=saved)
    progress = functools.reduce(
        lambda found, state: [*found, [alert.delivery.value for alert in state.alerts]], saved, []
    )

    assert [
        ["sending", "waiting"],
        ["sent", "waiting"],
        ["sent", "sending"],
        ["sent", "sent"],
    ] == progress
