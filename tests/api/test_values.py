"""What the Python interface returns: it is saved, and shown as rows, as text and in a notebook."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts import api, cli
from instruction_counts.api.values import as_kind
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts
from instruction_counts.storage.store import Store
from tests.builders import counted
from tests.fakes import OK, FakeEngine, failed, make_case, make_record, make_run
from tests.session.fakes import fake_engines

TWO = as_kind(api.Run, make_run(make_record("Group", "<add>"), make_record("b", outcome=failed())))


def run_of(count: int) -> api.Run:
    """A run of one case."""
    return as_kind(api.Run, make_run(make_record("Group", "add", outcome=counted(count))))


def test_a_run_that_is_saved_can_be_loaded(tmp_path: Path) -> None:
    """It is the same one. A file that is none is refused, with the remedy."""
    for name in ("run.json", "run.json.gz"):
        TWO.save(tmp_path / name)
        assert api.Run.load(tmp_path / name) == TWO
    with pytest.raises(api.DataError):
        api.Run.load(tmp_path / "nothing.json")
    with pytest.raises(api.UsageError, match=r"End the name in .*\.json"):
        TWO.save(tmp_path / "run.doc")


def test_rows_are_plain_and_have_the_same_keys() -> None:
    """Counts are ints, times are seconds, a failure is a row."""
    first, second = TWO.table()

    assert list(first) == list(second)
    assert {"Group/<add>", "python", "eager", 1, "default", "ok", 8899, 2.2e-06} <= {
        *first.values()
    }
    assert ("failed", None, "ValueError: bad   (stmt line 1: x + y)") == (
        second["status"],
        second["instructions"],
        second["failure"],
    )


def test_a_comparison_and_its_explanation_have_rows() -> None:
    """Of cases, and of functions; all counts are ints."""
    costs = FunctionCosts(3, (FunctionCost("lib.so", "f.cpp", "f", 1000, None),))
    base = make_run(make_record("a", outcome=attrs.evolve(OK, functions=costs)))
    (row,) = api.compare(run_of(1000), run_of(1500)).table()
    (function,) = api.explain(base, "a").table()

    assert (1000, 1500, 500, 0.5, "worse") == tuple(
        row[name] for name in ("base", "new", "change", "relative", "verdict")
    )
    assert ("f", 0, 333, 333) == tuple(
        function[name] for name in ("function", "base", "new", "change")
    )


def test_each_is_short_as_text() -> None:
    """A record holds every function that was counted."""
    comparison = api.compare(run_of(1000), run_of(1500))

    assert "<Run of 2 cases on default>" == repr(TWO)
    assert "<Comparison of default with default: 1 worse>" == repr(comparison)
    assert "<add · Python · Eager · Forward: 8,899 instructions, 2.2 us>" == repr(
        api.Result(make_record("add"))
    )
    assert repr(api.explain(run_of(1000), "Group/add")).startswith("<Explained Group / add")


def test_a_notebook_shows_the_tables_of_a_page_without_scripts() -> None:
    """A label may hold anything and obeys nothing; of many rows, the first."""
    many = as_kind(api.Run, make_run(*(make_record(str(number)) for number in range(70))))
    base, new = run_of(1000), run_of(1500)
    for value, parts in (
        (TWO, ("&lt;add&gt;", ">8,899<", "2 cases:")),
        (many, ("and 10 more", "70 cases")),
        (as_kind(api.Run, make_run()), ("No case was measured.",)),
        (api.compare(base, new), ("WORSE", "Group/add", ">+500<")),
        (api.explain(base, "Group/add"), ("by function", "at::native::add")),
        (api.Result(base.cases[0]), (">at::native::add", ">1,000<")),
    ):
        text = value._repr_html_()
        assert [part for part in parts if part not in text] == []
        assert "<script" not in text


def test_rows_become_a_data_frame_where_there_is_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the error says what to install."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(api.UsageError, match="pip install pandas"):
        TWO.dataframe()

    pandas: Any = types.ModuleType("pandas")
    pandas.DataFrame = len
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    assert 2 == TWO.dataframe()


def test_what_was_not_measured_says_so() -> None:
    """In place of None."""
    timed = api.Result(make_record("a", outcome=attrs.evolve(OK, instructions=None)))
    counted_only = api.Result(make_record("a", outcome=attrs.evolve(OK, times=None)))

    assert 2.2e-06 == timed.time_s
    for result, name in ((timed, "instructions"), (timed, "exact"), (counted_only, "time_s")):
        with pytest.raises(api.StatementError, match=r"was not (counted|timed)"):
            getattr(result, name)


def test_a_run_is_accepted_and_checked(tmp_path: Path) -> None:
    """Limits are values, or a file; the command line reads the same baseline."""
    file, limits = tmp_path / "baseline.json", tmp_path / "limits.yaml"
    limits.write_text("default: {hard: 60%}\n")
    accepted = api.accept(run_of(1000), file)

    assert 1 == len(accepted.after.cases)
    assert 0 == cli.main(["baseline", "show", str(file)])
    assert not api.check(file, run_of(1000)).gate.fails
    assert api.check(file, run_of(1500)).gate.fails
    assert not api.check(file, run_of(1500), limits=limits).gate.fails


def test_the_history_of_stored_runs_has_steps(tmp_path: Path) -> None:
    """In order of time."""
    with Store.open(tmp_path / "runs.db") as store:
        for count in (1000, 1000, 1500, 1500):
            store.import_run(run_of(count))
    found = api.history("Group/*", db=tmp_path / "runs.db")

    assert [None, None, 500, None] == [row["step"] for row in found.table()]
    assert "<History of 1 case>" == repr(found)


def test_the_builds_between_which_a_case_changed_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are needed are measured."""
    counts = {"v1": 1000, "v2": 1000, "v3": 1500}
    engines = {name: FakeEngine({("a",): [counted(count)]}) for name, count in counts.items()}
    builds = dict.fromkeys(counts, sys.executable)
    monkeypatch.chdir(tmp_path)
    with fake_engines(engines):
        found = api.bisect(
            "a",
            builds,
            definitions=[make_case("a")],
            settings=api.MeasurementSettings("fake", jobs=1),
            db=tmp_path / "runs.db",
            layouts=0,
        )

    assert [("v2", "v3", "worse", 500)] == [
        (row["before"], row["after"], row["verdict"], row["change"]) for row in found.table()
    ]
