"""What times, estimated cycles and outputs say of a case on two sides."""

import array
import base64
import hashlib
import math
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.beside import (
    CyclesVerdict,
    TimeVerdict,
    compare_outputs,
    cycles_change,
    time_change,
)
from instruction_counts.domain.outcomes import EstimatedCycles, Output, TensorValue, Times
from instruction_counts.domain.paired import Disturbances
from instruction_counts.domain.records import Record
from tests.builders import counted
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


UNTOLD = TimeVerdict.CANNOT_TELL
UP, DOWN, EQUAL = (1.02, 1.021, 1.019, 1.02, 1.02), (0.98, 0.981, 0.979, 0.98, 0.98), (1.0,) * 5
BUSY = {"pairs": 54, "disturbances": Disturbances(40, 2, 3), "rounds_left_out": 5}


@pytest.mark.parametrize(
    ("ratios", "fields", "verdict", "reason"),
    [
        # A difference has to be likely, and of one percent at least; so has its absence.
        ((1.06, 1.061, 1.059, 1.06, 1.06), {}, TimeVerdict.SLOWER, "+6.00% ± 0.26%"),
        ((0.94, 0.941, 0.939, 0.94, 0.94), {}, TimeVerdict.FASTER, "-6.00% ± 0.29%"),
        ((1.004, 1.005, 1.003, 1.004, 1.004), {}, TimeVerdict.NO_DIFFERENCE, "+0.40% ± 0.27%"),
        ((1.0, 1.06, 0.98, 1.03, 1.01), {}, UNTOLD, "+1.56% ± 12.20%"),
        ((1.008, 1.01, 1.006, 1.009, 1.007), {}, UNTOLD, "+0.80% ± 0.61%"),
        # What fresh servers do not find, too, is none: where the memory of one lies moves as much.
        (UP, {"again": (UP, UP, UP)}, TimeVerdict.SLOWER, "+2.00%, +1.73% to +2.27%"),
        *(
            (UP, {"again": again}, UNTOLD, f"{interval}: fresh servers {what}")
            for again, interval, what in (
                ((UP, UP), "+2.00%, +1.73% to +2.27%", "have not confirmed it"),
                ((), "+2.00% ± 0.27%", "have not confirmed it"),
                ((EQUAL,), "+1.00%, +0.00% to +2.27%", "find something else"),
                ((UP, DOWN), "+0.65%, -2.27% to +2.27%", "find something else"),
                (((1.5,),), "+2.00%, +1.73% to +2.27%", "find something else"),
            )
        ),
        # Too few rounds are left for an interval.
        ((1.5,), BUSY, UNTOLD, "45 of 54 pairs of blocks were disturbed, and 1 round is left"),
    ],
)
def test_the_interval_of_the_ratio_decides(
    ratios: tuple[float, ...], fields: dict[str, Any], verdict: TimeVerdict, reason: str
) -> None:
    """Of further servers it holds those of all of them."""
    change = time_change(*in_turns(ratios, **fields))

    assert change is not None
    assert (verdict, reason) == (change.verdict, change.reason)


def test_times_in_turns_belong_to_the_two_builds_that_took_them() -> None:
    """Beside another run, or the other way round, times are those of one side each.

    They have no verdict: two processes can differ by more than the blocks of each.
    """
    base, new = in_turns((1.5,) * 5)
    (other, _) = in_turns((1.4,) * 5)

    changes = [time_change(*sides) for sides in ((base, new), (other, new), (new, base))]
    assert [TimeVerdict.SLOWER, None, None] == [change.verdict for change in changes if change]


def timed(values_s: Sequence[float]) -> Record:
    """A record with these times, or with none."""
    times = Times.of(values_s, 1) if values_s else None
    return make_record(outcome=attrs.evolve(OK, times=times))


def in_turns(ratios: tuple[float, ...], **fields: Any) -> tuple[Record, Record]:
    """Both records of a case that was timed in rounds of these ratios."""
    outcome = attrs.evolve(OK, paired=attrs.evolve(paired_times(ratios), **fields))
    return make_record(build="base", outcome=outcome), make_record(build="new", outcome=outcome)


def estimated(*layouts: int, machine: str = "a") -> Record:
    """A record of a case with these cycles; without any, it has none."""
    cycles = EstimatedCycles(machine, layouts) if layouts else None
    return make_record("add", outcome=counted(1000, cycles=cycles))


@pytest.mark.parametrize(
    ("base", "new", "verdict"),
    [
        ((1000, 1002, 1001), (1040, 1041, 1042), CyclesVerdict.MORE),
        ((1040, 1041, 1042), (1000, 1002, 1001), CyclesVerdict.FEWER),
        ((1000, 1002, 1001), (1010, 1011, 1012), CyclesVerdict.NO_DIFFERENCE),
        ((1000, 1030, 1001), (1060, 1041, 1062), CyclesVerdict.CANNOT_TELL),
        ((1000, 1050, 1001), (1000, 1002, 1001), CyclesVerdict.CANNOT_TELL),
        ((0, 0, 0), (0, 0, 0), CyclesVerdict.CANNOT_TELL),
    ],
    ids=["more", "fewer", "below the least", "too close", "unsteady", "none"],
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


NAN, INF = math.nan, math.inf
ANY = st.floats(allow_nan=True, allow_infinity=True, width=32)


def tensor(*values: float, dtype: str = "float32", name: str = "z", **fields: Any) -> TensorValue:
    """A vector of ``values``."""
    data = array.array("d", values).tobytes()
    made = TensorValue(
        name=name,
        shape=(len(values),),
        dtype=dtype,
        digest=hashlib.sha256(data).hexdigest()[:16],
        nans=sum(map(math.isnan, values)),
        sample=base64.b64encode(data).decode(),
    )
    return attrs.evolve(made, **fields)


def texts(base: Output, new: Output) -> tuple[bool, str]:
    """Whether they differ, and how that is put."""
    found = compare_outputs(base, new)
    assert found is not None
    return found.differs, found.text


def output(*tensors: TensorValue, **fields: Any) -> Output:
    """An output of ``tensors``."""
    return Output("inputs", tensors, **fields)


@pytest.mark.parametrize(
    ("dtype", "rounding", "more"),
    [
        ("float32", 1e-6, 1e-3),
        ("float64", 1e-8, 1e-5),
        ("bfloat16", 1e-2, 1e-1),
        ("complex64", 1e-6, 1e-3),
        # Whole numbers do not round at all.
        ("int64", 0.0, 1.0),
    ],
)
def test_rounding_is_no_difference(dtype: str, rounding: float, more: float) -> None:
    """By what torch's own tests allow for the type, beside what is no number; more is one."""
    base = output(tensor(1.0, NAN, dtype=dtype))

    for by, expected in ((rounding, False), (more, True)):
        assert expected == texts(base, output(tensor(1.0 + by, NAN, dtype=dtype)))[0]


INTEGERS = [tensor(1.0, dtype="int64", digest=digest) for digest in "ab"]


@pytest.mark.parametrize(
    ("base", "new", "what"),
    [
        # The largest difference, in absolute terms and relative to base.
        (tensor(1.0, 100.0), tensor(1.5, 110.0), "z: differs by up to 10 (relative 0.5)"),
        # To what is not finite, it is infinite.
        *(
            (tensor(base, 1.0), tensor(new, 2.0, nans=0), "z: differs by up to inf (relative inf)")
            for base, new in ((INF, 5.0), (5.0, INF), (INF, -INF), (5.0, NAN))
        ),
        # The digest covers whole numbers outside the sample, too.
        (*INTEGERS, "z: differs by up to 0 (relative 0)"),
        # Of another form values are not looked at.
        (tensor(1.0), tensor(1.0, 2.0), "z: shape (1,) → (2,)"),
        (tensor(1.0), tensor(1.0, dtype="float64"), "z: dtype float32 → float64"),
        (tensor(1.0), tensor(NAN), "z: number of NaNs 0 → 1"),
        (tensor(1.0), tensor(1.0, name="y"), "z: only in base; y: only in new"),
    ],
)
def test_what_differs_is_named(base: TensorValue, new: TensorValue, what: str) -> None:
    """By how much, or in which form."""
    assert (True, what) == texts(output(base), output(new))


@given(st.lists(ANY, max_size=4), st.sampled_from([INF, -INF]), ANY)
def test_an_infinite_value_is_the_same_as_itself_alone(
    rest: list[float], infinite: float, other: float
) -> None:
    """In either direction, and whatever is beside it, numbers that are none included."""
    first, second = (output(tensor(*rest, value, nans=0)) for value in (infinite, other))

    assert (False, "") == texts(first, first)
    assert {infinite != other} == {texts(first, second)[0], texts(second, first)[0]}


@pytest.mark.parametrize(
    ("base", "why"),
    [
        (output(repeatable=False), "the output is not the same in every run"),
        (Output("others", ()), "the setup made different inputs"),
        # C++ cases of stored runs have none.
        (None, None),
    ],
)
def test_what_is_unknown_is_no_difference(base: Output | None, why: str | None) -> None:
    """It says why, on either side."""
    for sides in ((base, output()), (output(), base)):
        found = compare_outputs(*sides)
        assert why == (None if found is None else found.text)
        assert found is None or not found.differs
