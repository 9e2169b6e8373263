"""What times say beside their values, how failures read, and what a case is expected to compute."""

import array
import base64
import math
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.cli import console
from instruction_counts.core.facts import ExpectedTensor
from instruction_counts.core.types import Case
from instruction_counts.domain.outcomes import (
    Failure,
    FailureKind,
    Outcome,
    Output,
    Status,
    TensorValue,
    Times,
    median_interval,
)
from instruction_counts.domain.work import WorkOrder
from instruction_counts.session.measuring import Measured
from tests.builders import counted
from tests.cores import lanes_of
from tests.fakes import BUILD, OK, FakeEngine, failed, make_case

VALUE = st.floats(1e-9, 1e3)
VALUES = st.lists(VALUE, min_size=1, max_size=300) | st.builds(
    lambda value, count: [value] * count, VALUE, st.integers(1, 50)
)


@given(VALUES)
def test_times_are_summed_up_as_numpy_does(values: list[float]) -> None:
    """In any order, however many there are."""
    times = Times.of(values, 1)
    low, median, high, p90, p99 = np.percentile(values, [25, 50, 75, 90, 99]).tolist()

    assert pytest.approx([median, p90, p99]) == [times.median_s, times.p90_s, times.p99_s]
    assert pytest.approx(high - low, abs=1e-9) == times.iqr_s
    assert times.iqr_s >= 0
    assert pytest.approx([np.mean(values), min(values), max(values)]) == [
        *(times.mean_s, times.min_s, times.max_s)
    ]


def test_what_is_large_in_an_outcome_is_not_written_out() -> None:
    """Where somebody prints a case; its status and count are."""
    shown = repr(attrs.evolve(counted(1234), times=Times.of([1e-6] * 1000, 1)))

    assert "1234" in shown
    assert len(shown) < 2000


@given(VALUES)
def test_the_median_lies_in_its_interval(values: list[float]) -> None:
    """Whatever the values are."""
    low, high = median_interval(values) or (0.0, math.inf)

    assert low <= np.median(values) <= high


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        *((count, None) for count in range(1, 6)),
        *((6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (20, (6, 15)), (50, (18, 33)), (1000, (469, 532))),
    ],
)
def test_intervals_are_those_of_the_textbook(count: int, expected: tuple[int, int] | None) -> None:
    """The ranks that tables of the sign test give for 95%; few values tell nothing."""
    assert expected == median_interval([float(value) for value in range(1, count + 1)])


@pytest.mark.parametrize(
    ("failure", "summary"),
    [
        (Failure(FailureKind.EXIT, "first\nsecond"), "first"),
        (Failure(FailureKind.EXCEPTION, "E: \n\n  bad value:\n  x"), "E: bad value:"),
        (
            Failure(FailureKind.EXCEPTION, "E: it raised:\nF: bad value"),
            "E: it raised: F: bad value",
        ),
        (
            Failure(FailureKind.EXCEPTION, "E: \nbad value:\n  File\n  z = x\n      ~ <--- HERE\n"),
            "E: bad value   (z = x)",
        ),
        (Failure(FailureKind.EXCEPTION, "E: "), "E: "),
        (Failure(FailureKind.TIMEOUT, ""), "timeout"),
        (Failure(FailureKind.EXCEPTION, "E: bad", "", "stmt line 1"), "E: bad"),
    ],
)
def test_a_failure_has_a_summary_of_one_line(failure: Failure, summary: str) -> None:
    """With the user's line where it is known."""
    assert summary == failure.summary


# What a case is expected to compute


def outcome_of(values: list[float], shape: tuple[int, ...]) -> Outcome:
    """An outcome that computed a tensor ``y``."""
    sample = base64.b64encode(array.array("d", values).tobytes()).decode()
    tensor = TensorValue("y", shape, "float32", "ab", 0, sample)
    return attrs.evolve(OK, output=Output("cd", (tensor,)))


COMPUTED = outcome_of([1.0, 2.0], (2, 1))


def expecting(name: str = "y", **wanted: Any) -> Case:
    """A case that is expected to compute a tensor of that name."""
    return attrs.evolve(make_case("a"), expected=(ExpectedTensor(name, **wanted),))


@pytest.mark.parametrize(
    ("wanted", "outcome", "said"),
    [
        ({"shape": (2, 2)}, COMPUTED, "y has the shape [2, 1] instead of [2, 2]"),
        ({"dtype": "float64"}, COMPUTED, "y is float32 instead of float64"),
        ({"sum": 4, "tolerance": 0.5}, COMPUTED, "y adds up to 3 instead of 4"),
        # Every comparison with what is no number is false.
        ({"sum": 1, "tolerance": 0}, outcome_of([math.nan], (1,)), "y adds up to nan instead of 1"),
        # A part of the values says nothing.
        (
            {"sum": 3, "tolerance": 0},
            outcome_of([1.0, 2.0], (3000,)),
            "y has 3,000 values, too many to check their sum (or they are complex)",
        ),
        ({"name": "z"}, COMPUTED, "there is no tensor z, but y"),
    ],
)
def test_something_else_fails_with_its_reason(
    wanted: dict[str, Any], outcome: Outcome, said: str
) -> None:
    """And has no count, which would be one of other work."""
    found = outcome.as_expected(expecting(**wanted).expected)

    assert Status.FAILED == found.status
    assert found.instructions is None
    assert found.failure is not None
    assert f"unexpected output: {said}" == found.failure.message


AS_COMPUTED = {"shape": (2, 1), "dtype": "float32", "sum": 3.1, "tolerance": 0.2}


@pytest.mark.parametrize(
    ("wanted", "outcome"),
    [
        (AS_COMPUTED, COMPUTED),
        # What was not recorded is not checked, and a failure keeps its own reason.
        ({"shape": (7,)}, OK),
        ({"shape": (7,)}, failed()),
        ({"shape": (7,)}, attrs.evolve(failed(), output=COMPUTED.output)),
    ],
)
def test_what_was_expected_stays_as_it_is(wanted: dict[str, Any], outcome: Outcome) -> None:
    """To the instruction."""
    assert outcome == outcome.as_expected(expecting(**wanted).expected)


def test_a_run_records_the_failure() -> None:
    """In place of the count."""
    engine = FakeEngine({("a",): [COMPUTED]})
    measured = Measured("timer", lanes_of(engine, 0), [], console)
    run = measured.execute([WorkOrder(expecting(shape=[7]), BUILD)]).run

    assert [Status.FAILED] == [record.outcome.status for record in run.cases]
