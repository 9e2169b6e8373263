"""Series: what can be compared stays together, and what cannot is told apart."""

from typing import Any

import attrs
import pytest

from instruction_counts.domain.effects import Noise
from instruction_counts.history.series import Series, all_series
from tests.fakes import FINGERPRINT
from tests.history.made import point


def with_fingerprint(**fields: Any) -> dict[str, Any]:
    """A point's fingerprint, with other fields."""
    return {"fingerprint": attrs.evolve(FINGERPRINT, **fields)}


def series_of(*points: tuple[int | None, dict[str, Any]]) -> Series:
    """The series of these counts, each with what is special about it."""
    (series,) = all_series(point(count, **more) for count, more in points)
    return series


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"engine": "timer"}, "engine fork → timer"),
        ({"definition_hash": "d2"}, "the case's code differs"),
    ],
)
def test_what_cannot_be_compared_is_a_segment_of_its_own(
    other: dict[str, Any], reason: str
) -> None:
    """With the reason; the jump between the two is no step."""
    series = series_of((1000, {}), (1000, {}), (5000, other), (5000, other))

    assert [((), 2, ()), ((reason,), 2, ())] == [
        (segment.apart, len(segment.points), segment.steps) for segment in series.segments
    ]


def of(run: int, build: str) -> dict[str, Any]:
    """A point's run and build."""
    return {"run_id": run, "build": build}


ARM, MACHINE = with_fingerprint(machine="aarch64"), with_fingerprint(cpu="B", libc="glibc-2.39")
TIMER = {"engine": "timer"}


@pytest.mark.parametrize(
    ("points", "segments"),
    [
        ([(1, {}), (2, ARM), (1, {}), (2, ARM)], [[1, 1], [2, 2]]),
        ([(1, {}), (9, MACHINE), (1, {}), (9, MACHINE)], [[1, 1], [9, 9]]),
        ([(1, {}), (1, {}), (9, MACHINE), (9, MACHINE)], [[1, 1, 9, 9]]),
        ([(1, MACHINE), (3, TIMER), (2, {}), (1, MACHINE), (3, TIMER)], [[1, 1], [3, 3], [2]]),
        # Two builds of each run: the same ones again, a release with each nightly, and neighbours.
        ([(1, of(1, "a")), (2, of(1, "b")), (1, of(2, "a")), (3, of(2, "b"))], [[1, 1], [2, 3]]),
        ([(1, of(1, "a")), (2, of(1, "b")), (1, of(2, "a")), (3, of(2, "c"))], [[1, 1], [2, 3]]),
        ([(1, of(1, "a")), (2, of(1, "b")), (2, of(2, "b")), (3, of(2, "c"))], [[1, 2, 2, 3]]),
        # One build of each: the same one again.
        ([(1, of(1, "a")), (2, of(2, "b")), (1, of(3, "a"))], [[1, 2, 1]]),
        ([(1, {}), (None, {}), (1, {})], [[1, 1]]),
        ([(None, {})], []),
        *(
            ([(1, {}), (1, with_fingerprint(**{field: "other"})), (1, {})], [[1, 1, 1]])
            for field in ("torch", "torch_git", "python", "compiler")
        ),
    ],
)
def test_what_takes_turns_is_followed_each_for_itself(
    points: list[tuple[int | None, dict[str, Any]]], segments: list[list[int]]
) -> None:
    """Machines that report into one store; one that was upgraded, and builds, stay one series."""
    series = series_of(*points)

    assert segments == [
        [point.instructions.per_run for point in segment.points if point.instructions]
        for segment in series.segments
    ]
    assert len(points) == len(series.uncounted) + sum(map(len, segments))


@pytest.mark.parametrize(
    ("points", "apart"),
    [
        (
            [(1000, {}), (1100, MACHINE), (1000, {})],
            ("CPU A Processor → B, in turns", "C library glibc-2.36 → glibc-2.39, in turns"),
        ),
        (
            [(1000, of(run, build)) for run in (1, 2) for build in ("base", "new")],
            ("build base → new, in turns",),
        ),
    ],
    ids=["machines", "builds"],
)
def test_what_tells_apart_what_takes_turns_is_reported(
    points: list[tuple[int | None, dict[str, Any]]], apart: tuple[str, ...]
) -> None:
    """As what keeps counts from being compared is."""
    (_, second) = series_of(*points).segments

    assert apart == second.apart


def test_the_noise_that_was_measured_for_a_case_is_used() -> None:
    """That which is stored with its count."""
    points = [point(1000) for _ in range(4)] + [point(1030) for _ in range(4)]
    noise = Noise(layout_spread=0.05, layouts=3)
    known = [attrs.evolve(point, noise=noise) for point in points]

    assert [1, 0] == [len(all_series(seen)[0].segments[0].steps) for seen in (points, known)]
