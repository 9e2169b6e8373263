"""What is doubtful about a baseline and its limits."""

from __future__ import annotations

import pytest

from instruction_counts.domain.effects import NEVER, Effect
from instruction_counts.domain.noise import Noise
from instruction_counts.gate.baseline import Baseline, BaselineCase, Head
from instruction_counts.gate.limits import Limits, Rule
from instruction_counts.gate.lint import Doubt, lint
from tests.builders import counted, cpp, key, side

BASE = 100_000


def baseline(*, layouts: int = 4, spread: float = 0.001) -> Baseline:
    """A baseline of one case whose noise floor is 100 instructions."""
    case = BaselineCase.of(
        cpp("Group", "add", outcome=counted(BASE)), [Noise(0.0, spread, layouts)]
    )
    return Baseline(Head.of(side()), {case.key: case})


def doubts(hard: Effect | None, *rules: Rule) -> list[Doubt]:
    """What is doubtful where the default is this one."""
    return [remark.doubt for remark in lint(baseline(), Limits(Rule(hard=hard), rules))]


@pytest.mark.parametrize(
    ("hard", "expected"),
    [
        (Effect(0.005), []),
        (Effect(absolute=100), []),
        (Effect(absolute=1000), []),
        (Effect(absolute=99), [Doubt.NARROW]),
        (Effect(), [Doubt.NARROW]),
        (Effect(absolute=1001), [Doubt.WIDE]),
        (Effect(0.05), [Doubt.WIDE]),
        (NEVER, []),
        (None, [Doubt.NO_LIMIT]),
    ],
)
def test_limits_are_held_against_the_noise(hard: Effect | None, expected: list[Doubt]) -> None:
    """Below it nothing is ever reported; far beyond it, what could be seen passes."""
    assert expected == doubts(hard)


def test_a_pattern_that_matches_nothing_is_doubtful() -> None:
    """It is a typing mistake, or a case that is no more."""
    assert [Doubt.NO_MATCH] == doubts(Effect(0.005), Rule("Grupp/*", hard=Effect(0.004)))


def test_a_pattern_that_later_ones_cover_is_doubtful() -> None:
    """Nobody sees from the file that it has no effect."""
    rules = (Rule("Group/add", hard=Effect(0.004)), Rule("*", hard=Effect(0.005)))

    assert [Doubt.SHADOWED] == doubts(Effect(0.005), *rules)


def test_cases_without_knowledge_of_layouts_are_doubtful() -> None:
    """Their noise is what is usual, and not theirs."""
    (remark,) = lint(baseline(layouts=0))

    assert Doubt.NO_LAYOUTS == remark.doubt
    assert (key("Group", "add"),) == remark.about


def test_exact_cases_may_have_limits_of_ten_times_the_smallest_change() -> None:
    """A noise of nothing does not make every limit too wide."""
    still = baseline(spread=0.0)
    limits = Limits(Rule(hard=Effect(absolute=500)))

    assert () == lint(still, limits)


def test_without_limits_only_the_baseline_is_looked_at() -> None:
    """There is nothing to be said of limits."""
    assert () == lint(baseline())
