"""Bisections of builds that are not really measured, and the case that they are about."""

import functools
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.comparison import Comparison, verified
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import Case, Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError
from instruction_counts.execution.events import Silent
from instruction_counts.report.history import bisection
from instruction_counts.report.renderers import terminal
from instruction_counts.session.bisecting import Found, bisect
from instruction_counts.session.build_series import StoreBuildMeasurer
from instruction_counts.session.comparing import ComparisonRequest
from tests.builders import cpp, side
from tests.fakes import failed, make_case
from tests.history.made import outcome_of
from tests.report.rendered import as_csv, as_json
from tests.session.fakes import FakeRecorder

CASE = make_case("add", language=Language.CPP)
Place = tuple[int, int, tuple[int, ...]]


@attrs.define
class FakeBuildMeasurer(StoreBuildMeasurer):
    """Builds whose counts are given by name; those of None do not start, text fails the case.

    Other memory layouts move counts by ``layouts``; first readings can lie off by ``outliers``.
    """

    counts: Mapping[str, Any] = attrs.field(factory=dict)
    layouts: tuple[int, ...] = (0, 0)
    stored: frozenset[str] = frozenset()
    outliers: Mapping[str, int] = attrs.field(factory=dict)
    noise: Callable[[], int] = lambda: 0
    fault_of_pairs: str = ""
    """How two builds end that are measured together: they do not start, or a text."""
    names: list[str] = attrs.field(factory=list)
    """Of the builds that were measured."""

    def known(self, build: Build, case: Case) -> Side | None:
        """See `StoreBuildMeasurer`."""
        del case
        if self.counts[build.name] is None:
            raise BuildError(f"{build.name} cannot import torch", "Install it.")
        return self._side(build) if build.name in self.stored else None

    def measure(self, builds: Sequence[Build]) -> Mapping[str, Side]:
        """See `StoreBuildMeasurer`."""
        fault = self.fault_of_pairs if len(builds) > 1 else ""
        if fault == "gone":
            raise BuildError("gone", "Make it again.")
        sides = {build.name: self._side(build, fault) for build in builds}
        self.names += sides
        return sides

    def check(self, comparison: Comparison) -> Comparison:
        """See `StoreBuildMeasurer`."""
        counts = [
            [{CASE.key: self.counts[side.title] + self.noise() + more} for more in self.layouts]
            for side in (comparison.base, comparison.new)
        ]
        return verified(comparison, *counts)

    def _side(self, build: Build, fault: str = "") -> Side:
        count = self.counts[build.name]
        fault = count if isinstance(count, str) else fault
        first = build.name not in self.names
        more = self.outliers.get(build.name, 0) if first else 0
        outcome = failed(message=fault) if fault else outcome_of(count + self.noise() + more)
        return side(cpp("add", outcome=outcome), title=build.name)


def measurer_of(counts: Sequence[int | str | None], **more: Any) -> FakeBuildMeasurer:
    """Builds that cost so much, called b0, b1 and so on."""
    named = {f"b{place}": count for place, count in enumerate(counts)}
    store: Any = FakeRecorder()
    return FakeBuildMeasurer(ComparisonRequest(""), store, Silent(), counts=named, **more)


def searched(measurer: FakeBuildMeasurer) -> Found:
    """A bisection over all builds."""
    makers = {name: functools.partial(Build, name, "/python") for name in measurer.counts}
    return bisect(makers, CASE, measurer)


def places_in(found: Found) -> list[Place]:
    """Where the case changed, and which builds are broken there."""
    return [(change.before, change.after, change.broken) for change in found.changes]


def text_of(measurer: FakeBuildMeasurer) -> str:
    """The report of a bisection."""
    return terminal.render(bisection(searched(measurer)))


# What is found


@st.composite
def planted(draw: st.DrawFn) -> tuple[FakeBuildMeasurer, list[Place]]:
    """Builds with changes at random places, of which no few in a row cancel each other out.

    With them come the places where these are found: a broken build widens the range.
    """
    size = draw(st.integers(12, 24))
    changes = sorted(draw(st.sets(st.integers(2, size - 2), min_size=3, max_size=3)))
    steps = [*zip(changes, draw(st.permutations([400, 90, -150])), strict=True)]
    counts: list[int | str | None] = [
        10_000 + sum(step for at, step in steps if place >= at) for place in range(size)
    ]
    apart = min(after - before for before, after in itertools.pairwise(changes))
    # A broken build between two changes side by side would make one of them.
    broken = draw(st.integers(0, size - 1).filter(lambda at: apart > 1 or at not in changes))
    counts[broken] = None
    # An outlier as large as some changes together (490 at most) would cancel them out.
    names = st.integers(0, size - 1).map("b{}".format)
    outliers = draw(st.dictionaries(names, st.integers(600, 10_000), max_size=2))
    noise = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311 - nothing is kept secret
    few = functools.partial(noise.randint, -1, 1)
    places = []
    for change in changes:
        before, after = change - 1 - (change - 1 == broken), change + (change == broken)
        places.append((before, after, tuple(range(before + 1, after))))
    return measurer_of(counts, outliers=outliers, noise=few), places


@settings(max_examples=100)
@given(planted())
def test_every_planted_change_is_found_and_no_other(
    example: tuple[FakeBuildMeasurer, list[Place]],
) -> None:
    """Two regressions and an improvement, with noise, outliers and a broken build."""
    measurer, expected = example
    found = searched(measurer)

    assert expected == places_in(found)
    assert all(change.difference.verified for change in found.changes)


@pytest.mark.parametrize(
    ("counts", "more", "changes", "most"),
    [
        ([1000] * 700 + [2000] * 324, {}, [(699, 700, ())], 2 + 10 + 2),
        # Each build is measured once before it is verified, also where the halves meet.
        ([*range(1000, 1500, 100)], {}, [(at, at + 1, ()) for at in range(4)], 5 + 8),
        # Noise within the floor makes no change.
        ([10_000, *range(10_001, 10_059), 10_000], {}, [], 2),
        # What is only layout is none, and is not asked for again and again.
        ([1000, 1000, 1100, 1100], {"layouts": (0, 150)}, [], 11),
        # An outlier is measured again once; the intervals beside it are judged by what came out.
        ([1000] * 9, {"outliers": {"b8": 5000}}, [], 2 + 3 + 2),
    ],
)
def test_one_change_takes_the_logarithm_of_the_builds(
    counts: list[int], more: dict[str, Any], changes: list[Place], most: int
) -> None:
    """And two measurements to verify it, in other layouts, too."""
    measurer = measurer_of(counts, **more)
    found = searched(measurer)

    assert changes == places_in(found)
    assert found.measurements == len(measurer.names) <= most


@pytest.mark.parametrize(
    ("broken", "changes"),
    [
        ({3, 4, 5}, [(2, 6, (3, 4, 5))]),
        ({0, 1, 6, 7}, [(3, 4, ())]),
        # With fewer than two that work there is nothing to compare.
        (set(range(7)), []),
        (set(range(8)), []),
    ],
)
@pytest.mark.parametrize(
    ("fault", "reason"), [(None, "cannot import torch"), ("no such operator", "no such operator")]
)
def test_broken_builds_are_passed_over_with_the_reason(
    broken: set[int], changes: list[Place], fault: str | None, reason: str
) -> None:
    """At a change, any of them may have made it; at the ends, the search is over those that work.

    They do not start, or fail the case.
    """
    counts: list[int | str | None] = [1000] * 4 + [1900] * 4
    for place in broken:
        counts[place] = fault
    found = searched(measurer_of(counts))

    assert changes == places_in(found)
    assert broken == {*found.broken}
    assert all(reason in why for why in found.broken.values())
    assert broken.isdisjoint(found.measured)
    assert found.is_conclusive is (len(broken) < 7)


def test_a_change_in_small_steps_is_reported_as_gradual() -> None:
    """No two neighbours differ by more than the least effect, but the ends do."""
    (change,) = searched(measurer_of([1000, 1002, 1004])).changes

    assert (0, 2, True) == (change.before, change.after, change.gradual)


def test_what_is_known_is_not_measured() -> None:
    """But for the two that a change lies between."""
    stored = frozenset(f"b{place}" for place in range(8))
    measurer = measurer_of([1000] * 4 + [2000] * 4, stored=stored)
    found = searched(measurer)

    assert [(3, 4, ())] == places_in(found)
    assert ["b3", "b4"] == measurer.names
    assert (2, 5) == (found.measurements, found.reused)


@pytest.mark.parametrize("fault", ["gone", "out of memory"])
def test_a_change_that_cannot_be_verified_is_reported_as_such(fault: str) -> None:
    """What was read first stands."""
    shown = text_of(measurer_of([1000, 1000, 2000], fault_of_pairs=fault))

    assert "1,000 → 2,000  +1,000, +100.00%  not verified" in shown


# What is reported


def test_the_report_names_neighbours_causes_and_effort() -> None:
    """All that one needs to look further."""
    shown = text_of(measurer_of([1000, 1000, None, 1500, 1500]))

    assert "1,000 → 1,500  +500, +50.00%  verified" in shown
    assert "before  b1, torch 2.13.0+cpu (cf30153c)" in shown
    assert "after   b3, torch 2.13.0+cpu (cf30153c)" in shown
    assert "or b2, which cannot be measured" in shown
    assert "+500 at::slow (new)" in shown
    assert "broken: b2: b2 cannot import torch" in shown
    assert "5 builds · 4 measured · 1 broken · 6 measurements · 0 taken from the store" in shown


def test_no_change_is_said_with_the_counts_of_both_ends() -> None:
    """Builds that do not work are none."""
    shown = text_of(measurer_of([None, 1000, 1000, 1001]))

    assert "no change between b1 (1,000) and b3 (1,001)" in shown


def test_json_and_csv_have_the_changes_and_the_effort() -> None:
    """For programs."""
    measurer = measurer_of([1000, None, 1500, 1500])
    document = bisection(searched(measurer))
    data = as_json(document)
    (change,) = data["changes"]
    (row,) = as_csv(document)

    assert {
        "before": "b0",
        "after": "b2",
        "broken": ["b1"],
        "verdict": "worse",
        "verified": True,
        "change": 500,
        "causes": ["+500 at::slow (new)"],
    }.items() <= change.items()
    assert ("b0", "b2", "worse", "500") == tuple(
        row[name] for name in ("before", "after", "verdict", "change")
    )
    assert ["b0", "b2", "b3"] == data["measured"]
    assert 5 == data["measurements"]
