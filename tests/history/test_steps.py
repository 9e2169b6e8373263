"""Steps in series of counts: planted ones are found exactly, whatever noise and outliers do."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.domain.effects import Effect
from instruction_counts.history.steps import Step, levels, steps_between

FLOOR = 10


def steps_of(counts: list[int]) -> tuple[Step, ...]:
    """The steps in a series whose counts all have the same noise floor."""
    return steps_between(levels(counts, [FLOOR] * len(counts)))


@st.composite
def planted(draw: st.DrawFn) -> tuple[list[int], set[tuple[int, int]], list[int]]:
    """Counts, where their steps are, and the levels: noise within the floor, and two outliers."""
    size = draw(st.integers(12, 60))
    first = draw(st.integers(3, size - 6))
    second = draw(st.integers(first + 3, size - 3))
    heights = [10_000]
    for _ in range(2):
        change = draw(st.integers(50, 3000)) * draw(st.sampled_from([1, -1]))
        heights.append(heights[-1] + change)
    noise = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311 - nothing is kept secret
    counts = [
        heights[(place >= first) + (place >= second)] + noise.randint(-FLOOR // 2, FLOOR // 2)
        for place in range(size)
    ]
    # Apart from each other and from the steps: two outliers side by side are a level.
    edges = {first - 1, first, second - 1, second, 0, size - 1}
    free = [place for place in range(1, size - 1) if not edges & {place - 1, place, place + 1}]
    for place in free[:1] + free[4:5]:
        counts[place] += noise.choice([-1, 1]) * noise.randint(20 * FLOOR, 900 * FLOOR)
    return counts, {(first - 1, first), (second - 1, second)}, heights


@settings(max_examples=300)
@given(planted())
def test_planted_steps_are_found_exactly(
    example: tuple[list[int], set[tuple[int, int]], list[int]],
) -> None:
    """Where they are, none besides, and how large within the noise."""
    counts, places, heights = example
    found = steps_of(counts)

    assert places == {(step.before, step.after) for step in found}
    for step, base, new in zip(found, heights, heights[1:], strict=False):
        assert abs(step.change - (new - base)) <= 2 * FLOOR


@given(st.lists(st.integers(0, 10**12), max_size=40), st.integers(0, 10**6))
def test_any_series_is_cut_into_levels_without_gaps(counts: list[int], floor: int) -> None:
    """Neighbours differ by more than the floor."""
    found = levels(counts, [floor] * len(counts))

    assert list(range(len(counts))) == [
        place for level in found for place in range(level.start, level.end)
    ]
    assert all(abs(step.change) > floor for step in steps_between(found))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([], []),
        ([5], []),
        ([0, 0, 0], []),
        ([1000] * 6 + [10**9] + [1000] * 6, []),
        ([1000] * 6 + [2000] * 2 + [1000] * 6, [(5, 6, True), (7, 8, True)]),
        ([1000] * 8 + [1100], [(7, 8, False)]),
        ([1000] * 5 + [9000] + [1100] * 5, [(4, 6, True)]),
    ],
    ids=["none", "one", "zero", "outlier", "two agree", "at the end", "outlier at a step"],
)
def test_steps_lie_between_counts_that_agree(
    counts: list[int], expected: list[tuple[int, int, bool]]
) -> None:
    """One count is none; of the newest, the next will tell."""
    assert expected == [(step.before, step.after, step.confirmed) for step in steps_of(counts)]


@pytest.mark.parametrize(
    ("more", "floors", "expected"),
    [
        # The noise floor decides, and not the series.
        (8, (4, 4), 1),
        (8, (10, 10), 0),
        # Counts without noise still are rounded: two instructions are no step, four are.
        (2, (0, 0), 0),
        (4, (0, 0), 1),
        # A noisy count weighs less: its own floor says how far it may lie off.
        (60, (4, 100), 0),
    ],
)
def test_a_step_is_beyond_the_noise_floors_of_its_counts(
    more: int, floors: tuple[int, int], expected: int
) -> None:
    """Of five counts on either side."""
    counts = [1000] * 5 + [1000 + more] * 5
    noise = [floor for floor in floors for _ in range(5)]

    assert expected == len(steps_between(levels(counts, noise)))


def test_steps_below_the_minimum_effect_are_none() -> None:
    """A share of the level, and instructions."""
    counts = [10_000] * 5 + [10_050] * 5

    assert [1, 0] == [
        len(steps_between(levels(counts, [5] * 10, Effect(share)))) for share in (0.005, 0.006)
    ]


def test_a_slow_drift_is_a_step_once_it_exceeds_the_floor() -> None:
    """Though no two neighbours differ by more than that."""
    found = steps_of([1000 + 4 * place for place in range(20)])

    assert found
    assert all(step.change > FLOOR for step in found)


def test_a_count_that_differs_by_no_effect_is_no_outlier() -> None:
    """Though it lies beyond the noise floor."""
    counts = [10_000, 10_004, 10_000, 10_006, 10_000]

    assert [(0, 1, 2, 4)] == [level.members for level in levels(counts, [2] * 5)]
