"""What a case is expected to compute."""

import array
import base64
import math
from typing import Any

import attrs
import pytest

from instruction_counts.cli import console
from instruction_counts.core.facts import ExpectedTensor
from instruction_counts.core.types import Case
from instruction_counts.domain.outcomes import Outcome, Output, Status, TensorValue
from instruction_counts.domain.work import WorkOrder
from instruction_counts.session.measuring import Measured
from tests.cores import lanes_of
from tests.fakes import BUILD, OK, FakeEngine, failed, make_case


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
