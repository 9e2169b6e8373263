"""Bisections of builds that are not really measured, and the case that they are about."""

import csv
import functools
import itertools
import json
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
from instruction_counts.report.renderers import csv as csv_renderer
from instruction_counts.report.renderers import json as json_renderer
from instruction_counts.report.renderers import terminal
from instruction_counts.session.bisecting import Found, bisect
from instruction_counts.session.build_series import StoreBuildMeasurer
from instruction_counts.session.comparing import ComparisonRequest
from tests.fakes import FINGERPRINT, failed, make_case, make_record
from tests.history.made import outcome_of
from tests.session.fakes import FakeRecorder

CASE = make_case("add", language=Language.CPP)
RECORD = make_record("add", language=Language.CPP)
KEY = RECORD.key
Place = tuple[int, int, tuple[int, ...]]


@attrs.define
class FakeBuildMeasurer(StoreBuildMeasurer):
    """Builds whose counts are given by name; those of None do not start, text fails the case.

    Other memory layouts move counts by ``layouts``; first readings can lie off by ``outliers``.
    """

    counts: Mapping[str, int | str | None] = attrs.field(factory=dict)
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
            [{KEY: self._count(side.title) + more} for more in self.layouts]
            for side in (comparison.base, comparison.new)
        ]
        return verified(comparison, *counts)

    def _side(self, build: Build, fault: str = "") -> Side:
        count = self.counts[build.name]
        fault = count if isinstance(count, str) else fault
        first = build.name not in self.names
        more = self.outliers.get(build.name, 0) if first else 0
        outcome = failed(message=fault) if fault else outcome_of(self._count(build.name) + more)
        return Side(build.name, "fork", FINGERPRINT, {KEY: attrs.evolve(RECORD, outcome=outcome)})

    def _count(self, name: str) -> int:
        count = self.counts[name]
        assert isinstance(count, int)
        return count + self.noise()


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


@attrs.frozen
class Planted:
    """Builds with two regressions, an improvement, one that is broken, and outliers."""

    counts: tuple[int, ...]
    changes: tuple[int, ...]
    """The first build after each change."""
    broken: int
    outliers: Mapping[str, int]
    seed: int

    def expected(self) -> list[Place]:
        """Between which builds the changes are found: a broken one widens the range."""
        places = []
        for change in self.changes:
            before = change - 1 - (change - 1 == self.broken)
            after = change + (change == self.broken)
            if 0 <= before and after < len(self.counts):
                places.append((before, after, tuple(range(before + 1, after))))
        return places


@st.composite
def planted(draw: st.DrawFn) -> Planted:
    """Changes at random places, of which no few in a row cancel each other out."""
    size = draw(st.integers(12, 24))
    changes = sorted(draw(st.sets(st.integers(2, size - 2), min_size=3, max_size=3)))
    sizes = draw(st.permutations([400, 90, -150]))
    counts = tuple(
        10_000 + sum(size for at, size in zip(changes, sizes, strict=True) if place >= at)
        for place in range(size)
    )
    apart = min(after - before for before, after in itertools.pairwise(changes))
    # A broken build between two changes side by side would make one of them.
    broken = draw(st.integers(0, size - 1).filter(lambda at: apart > 1 or at not in changes))
    # An outlier as large as some changes together (490 at most) would cancel them out.
    names = st.integers(0, size - 1).map("b{}".format)
    outliers = draw(st.dictionaries(names, st.integers(600, 10_000), max_size=2))
    return Planted(counts, tuple(changes), broken, outliers, draw(st.integers(0, 2**32)))


@settings(max_examples=100, deadline=None)
@given(planted())
def test_every_planted_change_is_found_and_no_other(example: Planted) -> None:
    """Two regressions and an improvement, with noise, outliers and a broken build."""
    noise = random.Random(example.seed)  # noqa: S311 - nothing is kept secret
    counts: list[int | str | None] = [*example.counts]
    counts[example.broken] = None
    few = functools.partial(noise.randint, -1, 1)
    found = searched(measurer_of(counts, outliers=example.outliers, noise=few))

    assert example.expected() == places_in(found)
    assert all(change.difference.verified for change in found.changes)


def test_an_outlier_is_measured_again_once() -> None:
    """The intervals beside it are judged by what came out then."""
    measurer = measurer_of([1000] * 9, outliers={"b8": 5000})

    assert () == searched(measurer).changes
    assert 2 == measurer.names.count("b8")


@pytest.mark.parametrize(
    ("counts", "changes", "most"),
    [
        ([1000] * 700 + [2000] * 324, [(699, 700, ())], 2 + 10 + 2),
        # Noise within the floor makes no change.
        ([10_000, *range(10_001, 10_059), 10_000], [], 2),
    ],
)
def test_one_change_takes_the_logarithm_of_the_builds(
    counts: list[int], changes: list[Place], most: int
) -> None:
    """And two measurements to verify it."""
    measurer = measurer_of(counts)

    assert changes == places_in(searched(measurer))
    assert len(measurer.names) <= most


def test_each_build_is_measured_once_before_it_is_verified() -> None:
    """Also where the halves meet."""
    measurer = measurer_of([1000, 1100, 1200, 1300, 1400])
    found = searched(measurer)

    assert 4 == len(found.changes)
    assert [0, 1, 2, 3, 4] == [*found.measured]
    assert 5 + 8 == len(measurer.names) == found.measurements


@pytest.mark.parametrize(
    ("broken", "changes"),
    [
        ({3, 4, 5}, [(2, 6, (3, 4, 5))]),
        ({0, 1}, [(3, 4, ())]),
        ({6, 7}, [(3, 4, ())]),
        ({0, 7}, [(3, 4, ())]),
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


def test_a_change_is_verified_in_other_layouts() -> None:
    """What is only layout is no change, and is not asked for again and again."""
    measurer = measurer_of([1000, 1000, 1100, 1100], layouts=(0, 150))

    assert () == searched(measurer).changes
    assert len(measurer.names) < 12


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
    """All that one needs to look further. No change is said, too."""
    assert "no change" in text_of(measurer_of([1000, 1000, 1000]))
    shown = text_of(measurer_of([1000, 1000, None, 1500, 1500]))

    assert "1,000 → 1,500  +500, +50.00%  verified" in shown
    assert "before  b1, torch 2.13.0+cpu (cf30153c)" in shown
    assert "after   b3, torch 2.13.0+cpu (cf30153c)" in shown
    assert "or b2, which cannot be measured" in shown
    assert "+500 at::slow (new)" in shown
    assert "broken: b2: b2 cannot import torch" in shown
    assert "5 builds · 4 measured · 1 broken · 6 measurements · 0 taken from the store" in shown


def test_json_and_csv_have_the_changes_and_the_effort() -> None:
    """For programs."""
    measurer = measurer_of([1000, None, 1500, 1500])
    document = bisection(searched(measurer))
    data = json.loads(json_renderer.render(document))
    (change,) = data["changes"]
    (row,) = csv.DictReader(csv_renderer.render(document).splitlines())

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
