"""A budget of time: what the store says of the cases, and runs that measured nothing."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from instruction_counts.core.types import Language
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.records import Record
from instruction_counts.session.time_budget import planned, require_measured
from instruction_counts.storage.store import Store
from tests.fakes import make_case, make_record, make_run
from tests.history.made import stored

SKIPPED = Outcome.out_of_time(60)


def test_the_store_says_what_moved(tmp_path: Path) -> None:
    """In the last runs: what moved long ago says little. The last check is handed on in a file."""
    made = [make_case("Group", name, language=Language.CPP, stmt=name) for name in "abcd"]
    with Store.open(tmp_path / "runs.db") as store:
        stored(store, [1000, *[1500] * 19], label="d", stmt="d")
        stored(store, [1000, 1000, 1500, 1500, 1000, 1000], label="a", stmt="a")
        stored(store, [1000, 1000], label="b", stmt="b")
        key = attrs.evolve(make_record().key, label=made[2].label, language=Language.CPP)
        budget = planned(60, made, store, frozenset({key}))

    assert budget is not None
    hashes = [case.definition_hash for case in made]
    assert [2, 0, 1, 0] == [budget.moves.get(code, 0) for code in hashes]
    assert {hashes[0], hashes[1], hashes[3]} == budget.known


def test_without_a_limit_there_is_no_budget() -> None:
    """Nothing is read for it."""
    assert planned(None, [make_case("a")], None) is None


@pytest.mark.parametrize(
    "other", [make_record("a", outcome=SKIPPED), make_record("a", outcome=Outcome(Status.SKIPPED))]
)
def test_a_run_that_measured_nothing_did_not_pass(other: Record) -> None:
    """It is an error, with the budget; a case that was refused was not measured either."""
    with pytest.raises(UsageError, match="no case was measured within the time budget of 60 s"):
        require_measured(make_run(other, make_record("b", outcome=SKIPPED)))


@pytest.mark.parametrize("other", [SKIPPED, Outcome(Status.SKIPPED)])
def test_a_run_that_measured_something_or_had_no_budget_is_accepted(other: Outcome) -> None:
    """One case is enough; a run in which all were refused is reported elsewhere."""
    measured = [make_record("b")] if other is SKIPPED else []
    require_measured(make_run(make_record("a", outcome=other), *measured))
