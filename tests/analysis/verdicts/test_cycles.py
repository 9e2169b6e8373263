"""What estimated cycles say of a case on two sides."""

import pytest

from instruction_counts.analysis.verdicts.cycles import CyclesVerdict, cycles_change
from instruction_counts.domain.cycles import EstimatedCycles
from instruction_counts.domain.records import Record
from tests.builders import counted
from tests.fakes import make_record


def estimated(*layouts: int, machine: str = "a") -> Record:
    """A record of a case with these cycles; without any, it has none."""
    cycles = EstimatedCycles(machine, layouts) if layouts else None
    return make_record("add", outcome=counted(1000, cycles=cycles))


@pytest.mark.parametrize(
    ("base", "new", "verdict"),
    [
        ((1000, 1002, 1001), (1040, 1041, 1042), CyclesVerdict.MORE),
        ((1040, 1041, 1042), (1000, 1002, 1001), CyclesVerdict.FEWER),
        ((1000, 1000, 1000), (1000, 1000, 1000), CyclesVerdict.NO_DIFFERENCE),
        ((1000, 1002, 1001), (1010, 1011, 1012), CyclesVerdict.NO_DIFFERENCE),
        ((1000, 1030, 1001), (1060, 1041, 1062), CyclesVerdict.CANNOT_TELL),
        ((1000, 1050, 1001), (1000, 1002, 1001), CyclesVerdict.CANNOT_TELL),
        ((0, 0, 0), (0, 0, 0), CyclesVerdict.CANNOT_TELL),
    ],
    ids=["more", "fewer", "equal", "below the least", "too close", "unsteady", "none"],
)
def test_a_difference_is_larger_than_what_layouts_move(
    base: tuple[int, ...], new: tuple[int, ...], verdict: CyclesVerdict
) -> None:
    """And than 2%: the addresses of code differ between builds, and no layout moves those."""
    change = cycles_change(estimated(*base), estimated(*new))

    assert change is not None
    assert verdict is change.verdict


@pytest.mark.parametrize("other", [None, estimated(), estimated(1000, machine="b")])
def test_cycles_of_one_side_or_of_other_caches_say_nothing(other: Record | None) -> None:
    """Two machines would make a difference of their own."""
    assert cycles_change(estimated(1000), other) is None


def test_cycles_of_no_layout_are_refused() -> None:
    """A damaged file would have such."""
    with pytest.raises(ValueError, match="at least one layout"):
        EstimatedCycles("a", ())
