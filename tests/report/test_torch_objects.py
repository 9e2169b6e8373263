"""Records as torch's own result objects."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts
from instruction_counts.domain.records import Record
from instruction_counts.engines.counting import SCHEDULE
from instruction_counts.engines.timer import NUMBER
from instruction_counts.report.torch_objects import callgrind_stats
from tests.fakes import OK, make_record


def counted(runs: int, per_run: int = 700) -> Record:
    """A record of a case that costs ``per_run`` instructions, counted over ``runs`` runs."""
    costs = FunctionCost("libtorch.so", "add.cpp", "at::add", runs * per_run, 2 * runs * per_run)
    return make_record(outcome=attrs.evolve(OK, functions=FunctionCosts(runs, (costs,))))


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize(("base", "new"), [(10, 5), (1, 10), (2, 100), (5, 5)])
def test_records_of_equal_cost_do_not_differ(base: int, new: int, *, inclusive: bool) -> None:
    """However many runs either was counted over: quick statements are counted over more."""
    before, after = (callgrind_stats(counted(runs)) for runs in (base, new))

    assert [] == list(after.delta(before, inclusive=inclusive))


def test_a_difference_is_that_of_as_many_runs_as_the_object_tells() -> None:
    """Divided by them, it is what a run costs more."""
    before, after = (callgrind_stats(counted(*how)) for how in ((10, 700), (5, 703)))

    assert 3 == after.delta(before).sum() / after.number_per_run


@pytest.mark.parametrize("runs", sorted({NUMBER, *(unit for _, _, unit in SCHEDULE)}))
def test_every_number_of_runs_that_is_counted_over_is_taken(runs: int) -> None:
    """Without a remainder."""
    stats = callgrind_stats(counted(runs))

    assert 700 * stats.number_per_run == stats.counts()


def test_a_number_of_runs_that_nobody_counts_over_is_refused() -> None:
    """Rather than rounded."""
    with pytest.raises(ValueError, match="was counted over 3 runs, of which 100 is no multiple"):
        callgrind_stats(counted(3))


def test_a_record_without_costs_has_no_counts_for_torch() -> None:
    """It says which one."""
    with pytest.raises(ValueError, match="add was not counted"):
        callgrind_stats(make_record("add", outcome=attrs.evolve(OK, functions=None)))
