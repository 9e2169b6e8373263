"""What times say of a case: one after the other, and in turns."""

from collections.abc import Sequence

import attrs
import pytest

from instruction_counts.analysis.verdicts.times import TimeVerdict, time_change
from instruction_counts.domain.outcomes import Times
from instruction_counts.domain.paired import Disturbances
from instruction_counts.domain.records import Record
from tests.fakes import OK, make_record, paired_times


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ([1e-6] * 10, [2e-6] * 10, (2.0, 2.0, 2.0, True)),
        ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [1.2, 1.3, 1.4, 1.5, 1.6, 1.7], (1.16, 0.8, 1.7, False)),
    ],
)
def test_times_that_do_not_overlap_are_significant(
    base: list[float], new: list[float], expected: tuple[float, ...]
) -> None:
    """The ratio is new to base, with its bounds; there is none where a side was not timed."""
    sides = timed(base), timed(new)
    change = time_change(*sides)

    assert {None} == {time_change(sides[0], timed(())), time_change(timed(()), sides[1])}
    assert change is not None
    assert expected == pytest.approx(
        (change.ratio, change.low, change.high, change.significant), rel=1e-9
    )
    assert change.verdict is None  # two processes can differ by more than the blocks of each


@pytest.mark.parametrize(
    ("ratios", "verdict", "reason"),
    [
        ((1.02, 1.021, 1.019, 1.02, 1.02), TimeVerdict.SLOWER, "+2.00% ± 0.27%"),
        ((0.98, 0.981, 0.979, 0.98, 0.98), TimeVerdict.FASTER, "-2.00% ± 0.28%"),
        ((1.004, 1.005, 1.003, 1.004, 1.004), TimeVerdict.NO_DIFFERENCE, "+0.40% ± 0.27%"),
        ((1.0, 1.06, 0.98, 1.03, 1.01), TimeVerdict.CANNOT_TELL, "+1.56% ± 12.20%"),
        ((1.008, 1.01, 1.006, 1.009, 1.007), TimeVerdict.CANNOT_TELL, "+0.80% ± 0.61%"),
    ],
    ids=["slower", "faster", "no difference", "too wide", "at the edge"],
)
def test_the_interval_of_the_ratio_decides(
    ratios: tuple[float, ...], verdict: TimeVerdict, reason: str
) -> None:
    """A difference has to be likely, and of one percent at least; so has its absence."""
    change = time_change(*in_turns(ratios))

    assert change is not None
    assert (verdict, reason) == (change.verdict, change.reason)


def test_it_cannot_be_told_where_the_machine_was_busy() -> None:
    """Too few rounds are left for an interval, and that is the reason."""
    paired = attrs.evolve(
        paired_times((1.5,)), pairs=54, disturbances=Disturbances(40, 2, 3), rounds_left_out=5
    )
    change = time_change(*(with_paired(name, paired) for name in ("base", "new")))

    assert change is not None
    assert TimeVerdict.CANNOT_TELL is change.verdict
    assert "45 of 54 pairs of blocks were disturbed, and 1 round is left" == change.reason


def test_times_in_turns_belong_to_the_two_builds_that_took_them() -> None:
    """Beside another run, or the other way round, times are those of one side each."""
    base, new = in_turns((1.5,) * 5)
    (other, _) = in_turns((1.4,) * 5)

    changes = [time_change(*sides) for sides in ((base, new), (other, new), (new, base))]
    assert [TimeVerdict.SLOWER, None, None] == [change and change.verdict for change in changes]


def timed(values_s: Sequence[float]) -> Record:
    """A record with these times, or with none."""
    times = Times.of(values_s, 1) if values_s else None
    return make_record(outcome=attrs.evolve(OK, times=times))


def in_turns(ratios: tuple[float, ...]) -> tuple[Record, Record]:
    """Both records of a case that was timed in rounds of these ratios."""
    paired = paired_times(ratios)
    return with_paired("base", paired), with_paired("new", paired)


def with_paired(name: str, paired: object) -> Record:
    """The record of one of the builds."""
    return make_record(build=name, outcome=attrs.evolve(OK, paired=paired))
