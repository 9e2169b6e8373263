"""Whether two sides executed the same program."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.analysis.verdicts.changes import Program, program
from instruction_counts.domain.executed import ExecutedDigests
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.records import Record
from tests.fakes import make_record

DIGESTS = ExecutedDigests("op", "by", "co", "3.11")


def record(digests: ExecutedDigests | None = DIGESTS) -> Record:
    """A case that executed something."""
    return make_record("add", outcome=Outcome(Status.OK, executed_digests=digests))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Program.SAME),
        ({"bytecodes": "x", "code": "x"}, Program.PYTHON_DIFFERS),
        ({"bytecodes": "x", "code": "x", "operators": "x"}, Program.PYTHON_DIFFERS),
        ({"operators": "x"}, Program.OPERATORS_DIFFER),
        ({"code": "x"}, Program.EDITED),
        ({"python": "3.13", "bytecodes": "x"}, Program.UNKNOWN),
        ({"python": "3.13", "operators": "x"}, Program.OPERATORS_DIFFER),
    ],
)
def test_digests_tell_what_differs(changes: dict[str, str], expected: Program) -> None:
    """Python first: operators follow from it."""
    assert program(record(), record(attrs.evolve(DIGESTS, **changes))) is expected


def test_a_side_that_reported_nothing_leaves_it_unknown() -> None:
    """It was measured by an engine that cannot tell, or failed."""
    assert program(record(), record(None)) is Program.UNKNOWN


def test_a_side_that_is_not_there_leaves_it_unknown() -> None:
    """A new case."""
    assert program(None, record()) is Program.UNKNOWN
