"""Series: what can be compared stays together, and what cannot is told apart."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from instruction_counts.domain.noise import Noise
from instruction_counts.history.series import Series, all_series, surroundings
from tests.fakes import FINGERPRINT
from tests.history.made import point


def with_fingerprint(**fields: Any) -> dict[str, Any]:
    """A point's fingerprint, with other fields."""
    return {"fingerprint": attrs.evolve(FINGERPRINT, **fields)}


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"engine": "timer"}, "engine fork → timer"),
        ({"definition_hash": "d2"}, "the case's code differs"),
        (with_fingerprint(allocator="steady"), "allocator system → steady"),
        (with_fingerprint(machine="aarch64"), "architecture x86_64 → aarch64"),
        (with_fingerprint(profile_version=2), "hermetic profile 1 → 2"),
    ],
)
def test_what_cannot_be_compared_is_a_segment_of_its_own(
    other: dict[str, Any], reason: str
) -> None:
    """With the reason; the jump between the two is no step."""
    points = [point(1000), point(1000), point(5000, **other), point(5000, **other)]
    (series,) = all_series(points)

    assert [((), 2, ()), ((reason,), 2, ())] == [
        (segment.apart, len(segment.points), segment.steps) for segment in series.segments
    ]


def test_builds_that_take_turns_are_followed_each_for_itself() -> None:
    """Two machines that report into one store."""
    arm = with_fingerprint(machine="aarch64")
    points = [point(1000), point(2000, **arm), point(1000), point(2000, **arm)]
    (series,) = all_series(points)

    assert [[1000, 1000], [2000, 2000]] == counts_of(series)


def counts_of(series: Series) -> list[list[int]]:
    """The counts of each segment."""
    return [
        [point.instructions.per_run for point in segment.points if point.instructions]
        for segment in series.segments
    ]


OTHER = with_fingerprint(cpu="Another", libc="glibc-2.39")


def test_machines_of_one_architecture_that_take_turns_are_followed_each_for_itself() -> None:
    """Else each change of the machine would be a step, or an outlier."""
    points = [point(count, **(OTHER if count == 9500 else {})) for count in [9000, 9500] * 4]
    (series,) = all_series(points)

    assert [[9000] * 4, [9500] * 4] == counts_of(series)
    assert [((), frozenset())] * 2 == [
        (segment.steps, segment.outliers) for segment in series.segments
    ]


def test_what_tells_machines_that_take_turns_apart_is_reported() -> None:
    """As what keeps counts from being compared is."""
    (series,) = all_series([point(1000), point(1100, **OTHER), point(1000)])
    (_, second) = series.segments

    assert (
        "CPU A Processor → Another, in turns",
        "C library glibc-2.36 → glibc-2.39, in turns",
    ) == second.apart


def test_a_machine_that_was_upgraded_stays_one_series() -> None:
    """The step is reported, and what else changed with it."""
    (series,) = all_series([point(1000), point(1000), point(1100, **OTHER), point(1100, **OTHER)])

    assert [1] == [len(segment.steps) for segment in series.segments]


def test_python_versions_that_take_turns_stay_one_series() -> None:
    """Builds of one machine: which of them belong together, nobody knows."""
    other = with_fingerprint(python="3.13.0")
    (series,) = all_series([point(1000), point(1000, **other), point(1000)])

    assert [[1000] * 3] == counts_of(series)


def test_segments_come_in_the_order_of_their_first_counts() -> None:
    """Whatever tells them apart."""
    timer = {"engine": "timer"}
    points = [point(1, **OTHER), point(3, **timer), point(2), point(1, **OTHER), point(3, **timer)]
    (series,) = all_series(points)

    assert [[1, 1], [3, 3], [2]] == counts_of(series)


@pytest.mark.parametrize("field", ["torch", "torch_git", "python", "cpu", "compiler"])
def test_other_builds_stay_comparable(field: str) -> None:
    """That is what a history is for."""
    (series,) = all_series([point(1000), point(1000, **with_fingerprint(**{field: "other"}))])

    assert 1 == len(series.segments)


def test_what_was_not_counted_is_kept_apart() -> None:
    """It is no gap in a level."""
    (series,) = all_series([point(1000), point(None, 2), point(1000, 3)])

    assert [2] == [point.run_id for point in series.uncounted]
    assert 2 == len(series.segments[0].points)


def test_a_case_that_was_never_counted_has_no_segment() -> None:
    """Only points without counts."""
    (series,) = all_series([point(None)])

    assert () == series.segments
    assert 1 == len(series.uncounted)


def test_the_noise_that_was_measured_for_a_case_is_used() -> None:
    """That which is stored with its count."""
    points = [point(1000) for _ in range(4)] + [point(1030) for _ in range(4)]
    noise = Noise(layout_spread=0.05, layouts=3)
    known = [attrs.evolve(point, noise=noise) for point in points]

    assert [1, 0] == [len(all_series(seen)[0].segments[0].steps) for seen in (points, known)]


def test_each_case_is_a_series() -> None:
    """In the order in which they first appear."""
    other = attrs.evolve(point(1).case, label=("sub",))
    series = all_series([point(1000), point(1, case=other), point(1000)])

    assert [(("add",), 2), (("sub",), 1)] == [
        (found.key.label, len(found.segments[0].points)) for found in series
    ]


def test_what_else_differs_at_a_step_is_known() -> None:
    """The build itself is expected to differ."""
    other = with_fingerprint(torch="3", torch_git="1", python="3.13.0", cpu="Another")

    assert ["Python", "CPU"] == [
        surrounding.name for surrounding in surroundings(point(1), point(2, **other))
    ]


def test_outliers_belong_to_no_level() -> None:
    """Their positions are kept."""
    (series,) = all_series([point(count) for count in (1000, 1000, 7000, 1000, 1000)])

    assert {2} == set(series.segments[0].outliers)
    assert 1000 == series.segments[0].level_at(2).count
