"""Details that are kept beside a server."""

from __future__ import annotations

import random
import sqlite3

import pytest
from hypothesis import HealthCheck, example, given, settings

from instruction_counts.domain.outcomes import Details, FunctionCost, FunctionCosts
from instruction_counts.storage.spool import Spool
from tests.fakes import make_record
from tests.storage.values import WHOLE, any_of

IDENTITY = make_record("a").identity
COSTS = FunctionCosts(7, (FunctionCost("l", "f", "g", 3), FunctionCost("l", "f", "h", 4, 5)))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_of(Details))
@example(WHOLE.cases[0].outcome.details)
def test_details_come_back(details: Details) -> None:
    """Whatever there is of them, and after others."""
    spool = Spool()
    spool.put(1, make_record("b").identity, Details(COSTS))
    spool.put(1, IDENTITY, details)

    assert details == spool.get(1, IDENTITY)
    assert spool.get(2, IDENTITY) is None


def test_the_last_ones_count() -> None:
    """A case can be measured again in a run."""
    spool = Spool()
    spool.put(1, IDENTITY, Details(COSTS))
    spool.put(1, IDENTITY, Details(None, (2.0,)))

    assert Details(None, (2.0,)) == spool.get(1, IDENTITY)


def test_a_full_disk_costs_nothing_that_was_put_before() -> None:
    """What does not fit is the caller's to keep."""
    spool = Spool()
    spool.put(1, IDENTITY, Details(COSTS))
    spool._database.execute("PRAGMA max_page_count = 4").fetchone()
    dice = random.Random(1)  # noqa: S311 - it is no secret
    large = Details(times_s=tuple(dice.random() for _ in range(9000)))
    with pytest.raises(sqlite3.Error, match="full"):
        spool.put(1, make_record("b").identity, large)

    assert Details(COSTS) == spool.get(1, IDENTITY)
    assert spool.get(1, make_record("b").identity) is None
