"""A budget of time: what the store says of the cases, and runs that measured nothing."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from core.types import Language
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.session.time_budget import planned, require_measured
from instruction_counts.storage.store import Store
from tests.fakes import BUILD, make_case, make_record, make_run
from tests.history.made import stored

LEFT_OUT = Outcome.out_of_time(60)


def test_the_store_says_what_moved(tmp_path: Path) -> None:
    """And the last check, which is handed on in a file."""
    made = [make_case("Group", name, language=Language.CPP, stmt=name) for name in "abc"]
    with Store.open(tmp_path / "runs.db") as store:
        stored(store, [1000, 1500, 1000], label="a", stmt="a")
        stored(store, [1000, 1000], label="b", stmt="b")
        key = attrs.evolve(make_record().key, label=made[2].label, language=Language.CPP)
        plan = planned(60, made, [BUILD.name], store, frozenset({key}))

    assert plan is not None
    known = plan.budget.priorities
    hashes = [case.definition_hash for case in made]
    assert [2, 0, 1] == [known.moves.get(definition_hash, 0) for definition_hash in hashes]
    assert {"at::slow"} == known.changed
    assert set(hashes[:2]) == known.known


def test_only_the_last_runs_count(tmp_path: Path) -> None:
    """What moved long ago says little."""
    made = [make_case("Group", "a", language=Language.CPP)]
    with Store.open(tmp_path / "runs.db") as store:
        stored(store, [1000, 1500, *[1500] * 20], label="a")
        plan = planned(60, made, [BUILD.name], store)

    assert plan is not None
    assert not plan.budget.priorities.moves


def test_without_a_budget_there_is_no_plan() -> None:
    """Nothing is read for it."""
    assert planned(None, [make_case("a")], [BUILD.name], None) is None


def test_a_run_that_measured_nothing_is_no_run_that_passed() -> None:
    """It is an error, with the budget."""
    with pytest.raises(UsageError, match="no case was measured within the time budget of 60 s"):
        require_measured(make_run(make_record("a", outcome=LEFT_OUT)))

    require_measured(make_run(make_record("a", outcome=LEFT_OUT), make_record("b")))


def test_a_refused_case_is_not_one_that_was_measured() -> None:
    """Also where it is the only one that was not left out."""
    refused = make_record("wide", outcome=Outcome(Status.SKIPPED))

    with pytest.raises(UsageError, match="no case was measured within the time budget of 60 s"):
        require_measured(make_run(refused, make_record("a", outcome=LEFT_OUT)))


def test_a_run_that_is_refused_without_a_budget_is_not_about_time() -> None:
    """What is said of it is said elsewhere."""
    require_measured(make_run(make_record("wide", outcome=Outcome(Status.SKIPPED))))
