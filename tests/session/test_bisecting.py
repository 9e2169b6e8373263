"""Bisections of builds that are not really measured, and the case that they are about."""

from __future__ import annotations

import csv
import functools
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.comparison import Comparison, verified
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.outcomes import Details
from instruction_counts.domain.selection import Selection
from instruction_counts.history.bisection import Candidates, Change, bisect
from instruction_counts.report.causes import texts
from instruction_counts.report.history import bisection
from instruction_counts.report.renderers import csv as csv_renderer
from instruction_counts.report.renderers import json as json_renderer
from instruction_counts.report.renderers import terminal
from instruction_counts.session.bisecting import Found, only_case
from tests.builders import side
from tests.fakes import FINGERPRINT, failed, make_record
from tests.history.made import outcome_of

RECORD = make_record("add", language=Language.CPP)
KEY = RECORD.key


@attrs.define
class FakeBuildMeasurer:
    """Builds whose counts are given by name; those of None do not start, text fails the case.

    Other memory layouts move counts by ``layouts``; first readings can lie off by ``outliers``.
    """

    counts: Mapping[str, int | str | None]
    layouts: tuple[int, ...] = (0, 0)
    stored: frozenset[str] = frozenset()
    outliers: Mapping[str, int] = attrs.field(factory=dict)
    noise: Callable[[], int] = lambda: 0
    fault_of_pairs: str = ""
    """How two builds end that are measured together: they do not start, or a text."""
    measured: list[str] = attrs.field(factory=list)

    def known(self, build: Build) -> Side | None:
        """See `BuildMeasurer`."""
        if self.counts[build.name] is None:
            raise BuildError(f"{build.name} cannot import torch", "Install it.")
        return self._side(build) if build.name in self.stored else None

    def measure(self, builds: Sequence[Build]) -> Mapping[str, Side]:
        """See `BuildMeasurer`."""
        fault = self.fault_of_pairs if len(builds) > 1 else ""
        if fault == "gone":
            raise BuildError("gone", "Make it again.")
        sides = {build.name: self._side(build, fault) for build in builds}
        self.measured += sides
        return sides

    def check(self, comparison: Comparison) -> Comparison:
        """See `BuildMeasurer`."""
        counts = [
            [{KEY: self._count(side.title) + more} for more in self.layouts]
            for side in (comparison.base, comparison.new)
        ]
        return verified(comparison, *counts)

    def _side(self, build: Build, fault: str = "") -> Side:
        count = self.counts[build.name]
        fault = count if isinstance(count, str) else fault
        first = build.name not in self.measured
        more = self.outliers.get(build.name, 0) if first else 0
        outcome = failed(message=fault) if fault else outcome_of(self._count(build.name) + more)
        return Side(build.name, "fork", FINGERPRINT, {KEY: attrs.evolve(RECORD, outcome=outcome)})

    def _count(self, name: str) -> int:
        count = self.counts[name]
        assert isinstance(count, int)
        return count + self.noise()


def measurer_of(counts: Sequence[int | str | None], **more: Any) -> FakeBuildMeasurer:
    """Builds that cost so much, called b0, b1 and so on."""
    return FakeBuildMeasurer({f"b{place}": count for place, count in enumerate(counts)}, **more)


def searched(measurer: FakeBuildMeasurer) -> Found:
    """A bisection over all builds."""
    makers = [functools.partial(Build, name, "/python") for name in measurer.counts]
    candidates = Candidates(makers, KEY, measurer)
    return Found.of(measurer.counts, candidates, bisect(len(makers), candidates))


def places_in(found: Found) -> list[Change]:
    """Where the case changed."""
    return [change.place for change in found.changes]


def text_of(measurer: FakeBuildMeasurer) -> str:
    """The report of a bisection."""
    return terminal.render(bisection(searched(measurer)))


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.integers(2, 14), min_size=2, max_size=2),
    st.integers(0, 15),
    st.integers(0, 15),
    st.integers(0, 2**32),
)
def test_a_regression_and_an_improvement_are_found_exactly(
    places: set[int], broken: int, outlier: int, seed: int
) -> None:
    """In sixteen builds with noise, one that is broken, and one outlier."""
    first, second = sorted(places)
    noise = random.Random(seed)  # noqa: S311 - nothing is kept secret
    counts: list[int | str | None] = [
        10_000 + 700 * (place >= first) - 300 * (place >= second) for place in range(16)
    ]
    if broken not in places and broken + 1 not in places:
        counts[broken] = None
    measurer = measurer_of(
        counts, outliers={f"b{outlier}": 5000}, noise=functools.partial(noise.randint, -1, 1)
    )
    found = searched(measurer)

    assert [Change(first - 1, first), Change(second - 1, second)] == places_in(found)
    assert ["worse", "better"] == [change.difference.verdict.value for change in found.changes]


def test_a_change_is_verified_in_other_layouts() -> None:
    """What is only layout is no change, and is not asked for again and again."""
    (change,) = searched(measurer_of([1000, 1000, 2000, 2000])).changes
    measurer = measurer_of([1000, 1000, 1100, 1100], layouts=(0, 150))

    assert (Change(1, 2), True) == (change.place, change.difference.verified)
    assert () == searched(measurer).changes
    assert len(measurer.measured) < 12


def test_what_is_known_is_not_measured() -> None:
    """But for the two that a change lies between."""
    stored = frozenset(f"b{place}" for place in range(8))
    measurer = measurer_of([1000] * 4 + [2000] * 4, stored=stored)
    found = searched(measurer)

    assert [Change(3, 4)] == places_in(found)
    assert ["b3", "b4"] == measurer.measured
    assert 2 == found.measurements
    assert 5 == found.reused


@pytest.mark.parametrize(
    ("fault", "reason"),
    [(None, "b2 cannot import torch"), ("no such operator", "no such operator")],
)
def test_a_build_that_fails_is_passed_over_with_the_reason(fault: str | None, reason: str) -> None:
    """Whether it does not start, or fails the case."""
    found = searched(measurer_of([1000, 1000, fault, 2000, 2000]))

    assert [Change(1, 3, (2,))] == places_in(found)
    assert reason in found.broken[2]


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


def test_causes_are_found_where_costs_by_function_are_stored() -> None:
    """Records that were stored come without them."""
    whole = {count: attrs.evolve(RECORD, outcome=outcome_of(count)) for count in (1000, 1500)}
    candidates = Candidates(
        *([], KEY, measurer_of([])),
        complete=lambda light: whole[light.outcome.instructions.per_run],  # type: ignore[union-attr]
        sides={
            place: side(record.with_details(Details()))
            for place, record in enumerate(whole.values())
        },
    )

    assert ("+500 at::slow (new)",) == texts(candidates.difference(0, 1).causes)


@pytest.mark.parametrize("fault", ["gone", "out of memory"])
def test_a_change_that_cannot_be_verified_is_reported_as_such(fault: str) -> None:
    """What was read first stands."""
    measurer = measurer_of([1000, 1000, 2000], fault_of_pairs=fault)
    (change,) = searched(measurer).changes

    assert Change(1, 2) == change.place
    assert change.difference.verified is False
    assert "+1,000, +100.00%  not verified" in text_of(attrs.evolve(measurer, measured=[]))


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


# The case


def test_one_case_has_to_be_selected(tmp_path: Path) -> None:
    """Of several, the first ones are named."""
    path = tmp_path / "cases.py"
    path.write_text(
        "from core.api import TimerArgs\n"
        "BENCHMARKS = {f'case {n}': TimerArgs(f'{n}') for n in range(14)}\n"
    )
    assert ("case 3",) == only_case(str(path), Selection(("case 3",))).label
    with pytest.raises(UsageError, match="14 cases match") as caught:
        only_case(str(path), Selection(("*",)))

    lines = str(caught.value).splitlines()
    assert 12 == sum(line.startswith("  case ") for line in lines)
    assert any(line.startswith("  …") for line in lines)
