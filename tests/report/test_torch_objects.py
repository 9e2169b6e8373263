"""Records as torch's own result objects."""

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
@pytest.mark.parametrize(("base", "new"), [(10, 5), (2, 100)])
def test_a_difference_is_that_of_as_many_runs_as_the_object_tells(
    base: int, new: int, *, inclusive: bool
) -> None:
    """However many runs either was counted over: quick statements are counted over more."""
    before, after, dearer = (
        callgrind_stats(counted(*how)) for how in ((base, 700), (new, 700), (new, 703))
    )

    assert [] == list(after.delta(before, inclusive=inclusive))
    more = dearer.delta(before, inclusive=inclusive).sum() / after.number_per_run
    assert (6 if inclusive else 3) == more


@pytest.mark.parametrize("runs", sorted({NUMBER, *(unit for _, _, unit in SCHEDULE)}))
def test_every_number_of_runs_that_is_counted_over_is_taken(runs: int) -> None:
    """Without a remainder."""
    stats = callgrind_stats(counted(runs))

    assert 700 * stats.number_per_run == stats.counts()


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (counted(3), "was counted over 3 runs, and 100 is not a multiple of that"),
        (make_record("add", outcome=attrs.evolve(OK, functions=None)), "add was not counted"),
    ],
)
def test_what_torch_cannot_hold_is_refused(record: Record, why: str) -> None:
    """It says which case, and rounds nothing."""
    with pytest.raises(ValueError, match=why):
        callgrind_stats(record)
