"""Bisection over synthetic builds: every planted change is found, whatever is broken or noisy."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.history.bisection import Bisection, Change, bisect

FLOOR = 10


@attrs.define
class FakeMeasurer:
    """Builds that cost what they are said to, but for noise, and outliers at the first reading."""

    counts: Sequence[int]
    broken: frozenset[int] = frozenset()
    outliers: Mapping[int, int] = attrs.field(factory=dict)
    noise: random.Random | None = None
    measured: list[int] = attrs.field(factory=list)
    readings: dict[int, int] = attrs.field(factory=dict)

    def measure(self, place: int) -> str | None:
        """See `Measurer`."""
        self.measured.append(place)
        if place in self.broken:
            return "cannot import torch"
        first = place not in self.readings
        noise = self.noise.randint(-FLOOR // 2, FLOOR // 2) if self.noise else 0
        more = self.outliers.get(place, 0) if first else 0
        self.readings[place] = self.counts[place] + noise + more
        return None

    def differ(self, before: int, after: int) -> bool:
        """See `Measurer`."""
        return abs(self.readings[after] - self.readings[before]) > FLOOR

    def verify(self, before: int, after: int) -> bool:
        """See `Measurer`."""
        for place in (before, after):
            self.measure(place)
        return self.differ(before, after)


def found(measurer: FakeMeasurer) -> Bisection:
    """What a search over all builds finds."""
    return bisect(len(measurer.counts), measurer)


@attrs.frozen
class Planted:
    """Builds with two regressions, an improvement, one that is broken, and outliers."""

    counts: tuple[int, ...]
    changes: tuple[int, ...]
    """The first build after each change."""
    broken: int
    outliers: Mapping[int, int]
    seed: int

    def expected(self) -> list[Change]:
        """Between which builds the changes are found: a broken one widens the range."""
        size = len(self.counts)
        places = []
        for after in self.changes:
            before = after - 1
            if after == self.broken:
                after += 1  # noqa: PLW2901 - the next that works
            if before == self.broken:
                before -= 1
            if 0 <= before and after < size:
                places.append(Change(before, after, tuple(range(before + 1, after))))
        return places


@st.composite
def planted(draw: st.DrawFn) -> Planted:
    """Changes at random places, of which no few in a row cancel each other out."""
    size = draw(st.integers(12, 40))
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
    outliers = draw(st.dictionaries(st.integers(0, size - 1), st.integers(600, 10_000), max_size=2))
    return Planted(counts, tuple(changes), broken, outliers, draw(st.integers(0, 2**32)))


@settings(max_examples=300, deadline=None)
@given(planted())
def test_every_planted_change_is_found_and_no_other(example: Planted) -> None:
    """Two regressions and an improvement, with noise, outliers and a broken build."""
    noise = random.Random(example.seed)  # noqa: S311 - nothing is kept secret
    broken = frozenset({example.broken})
    result = found(FakeMeasurer(example.counts, broken, example.outliers, noise))

    assert example.expected() == list(result.changes)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 60), st.integers(0, 2**32))
def test_builds_that_do_not_differ_take_two_measurements(size: int, seed: int) -> None:
    """Noise within the floor makes no change."""
    noise = random.Random(seed)  # noqa: S311 - nothing is kept secret
    measurer = FakeMeasurer([1000] * size, noise=noise)
    result = found(measurer)

    assert () == result.changes
    assert [0, size - 1] == measurer.measured


def test_one_change_takes_the_logarithm_of_the_builds() -> None:
    """And two measurements to verify it."""
    measurer = FakeMeasurer([1000] * 700 + [2000] * 324)
    result = found(measurer)

    assert (Change(699, 700),) == result.changes
    assert len(measurer.measured) <= 2 + 10 + 2


def test_each_build_is_measured_once_before_it_is_verified() -> None:
    """Also where the halves meet."""
    measurer = FakeMeasurer([1000, 1100, 1200, 1300, 1400])
    result = found(measurer)

    assert 4 == len(result.changes)
    assert (0, 1, 2, 3, 4) == result.measured
    assert 5 + 8 == len(measurer.measured)


def test_broken_builds_at_a_change_are_a_range() -> None:
    """Any of them may have made it."""
    result = found(FakeMeasurer([1] * 4 + [900] * 4, broken=frozenset({3, 4, 5})))

    assert (Change(2, 6, (3, 4, 5)),) == result.changes
    assert dict.fromkeys((3, 4, 5), "cannot import torch") == result.broken


@pytest.mark.parametrize(
    ("broken", "changes"),
    [
        ({0, 1}, (Change(3, 4),)),
        ({6, 7}, (Change(3, 4),)),
        ({0, 7}, (Change(3, 4),)),
        # With fewer than two that work there is nothing to compare.
        (set(range(7)), ()),
        (set(range(8)), ()),
    ],
)
def test_broken_builds_at_the_ends_are_left_out(
    broken: set[int], changes: tuple[Change, ...]
) -> None:
    """The search is over those that work."""
    result = found(FakeMeasurer([1] * 4 + [900] * 4, broken=frozenset(broken)))

    assert changes == result.changes
    assert broken.isdisjoint(result.measured)
    assert broken == {*result.broken}


def test_a_change_in_small_steps_is_reported_as_gradual() -> None:
    """No two neighbours differ by more than the noise, but the ends do."""
    (change,) = found(FakeMeasurer([1000, 1008, 1016, 1024])).changes

    assert change.gradual
