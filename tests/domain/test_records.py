"""Records: the identity of a measured case; failures; what is known of their builds."""

import attrs
import pytest

from instruction_counts.core.types import Language
from instruction_counts.domain.build import completed
from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.domain.records import Record
from tests.fakes import FINGERPRINT, OK, make_case


def test_a_record_has_the_identity_of_its_case() -> None:
    """It is found again in another run, and holds the code that was executed."""
    case = make_case("a", "b", language=Language.CPP, num_threads=2, stmt="x - y")
    record = Record.of(case, "new", OK)

    assert ("new", case.key) == record.identity
    assert ("x - y", "x = y = 1", "") == (record.stmt, record.setup, record.global_setup)


@pytest.mark.parametrize(
    ("failure", "summary"),
    [
        (Failure(FailureKind.EXIT, "first\nsecond"), "first"),
        (Failure(FailureKind.EXCEPTION, "E: \n\n  bad value:\n  x"), "E: bad value:"),
        (
            Failure(FailureKind.EXCEPTION, "E: it raised:\nF: bad value"),
            "E: it raised: F: bad value",
        ),
        (Failure(FailureKind.EXCEPTION, "E: "), "E: "),
        (Failure(FailureKind.TIMEOUT, ""), "timeout"),
        (Failure(FailureKind.EXCEPTION, "E: bad", "", "stmt line 1"), "E: bad"),
    ],
)
def test_a_failure_has_a_summary_of_one_line(failure: Failure, summary: str) -> None:
    """With the user's line where it is known."""
    assert summary == failure.summary


def test_what_is_known_only_later_is_taken_from_the_first_that_knows_it() -> None:
    """Each fact for itself; all else stays."""
    now = attrs.evolve(FINGERPRINT, counted_capability="AVX2")
    before = attrs.evolve(FINGERPRINT, counted_capability="DEFAULT", caches="held", torch="1.0.0")

    assert attrs.evolve(now, caches="held") == completed(now, before)
