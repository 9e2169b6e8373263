"""The Python interface: values in, values out, which are saved and shown in several ways."""

import json
import runpy
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts import api, cli
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.api.values import as_kind
from instruction_counts.gate.baseline import read_baseline
from instruction_counts.storage.store import Store
from tests.builders import costs_of, counted, to_json
from tests.fakes import OK, FakeEngine, failed, make_case, make_record, make_run
from tests.process import ROOT
from tests.real import NEEDS_VALGRIND
from tests.session.fakes import SETTINGS, fake_engines, known_lanes
from tests.small_disk import fill, small_disk


def run_of(count: int) -> api.Run:
    """A run of one case."""
    return as_kind(api.Run, make_run(make_record("Group", "add", outcome=counted(count))))


@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ({}, Verdict.WORSE),
        ({"min_effect": "60%"}, Verdict.SAME),
        ({"languages": "python", "runtimes": ("eager",), "autograds": "forward"}, Verdict.WORSE),
    ],
)
def test_two_runs_are_compared(
    how: dict[str, Any], verdict: Verdict, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a file or a database, spelled as on the command line; nothing is printed."""
    comparison = api.compare(run_of(1000), run_of(1500), **how)

    assert [verdict] == [found.verdict for found in comparison.differences]
    assert "" == "".join(capsys.readouterr())


def test_files_and_stored_runs_are_sides(tmp_path: Path) -> None:
    """A path names a file, a text a file or a stored run; records come with their details."""
    file = tmp_path / "base.json"
    file.write_text(to_json(run_of(1000)))
    with Store(tmp_path / "runs.db") as store:
        store.tag(store.import_run(run_of(1000)), "new")
    for base, new in ((file, "new"), ("new", file)):
        comparison = api.compare(base, new, db=tmp_path / "runs.db")
        (found,) = comparison.differences
        records = [side.records[found.key] for side in (comparison.base, comparison.new)]

        assert Verdict.SAME is found.verdict
        assert [*run_of(1000).cases] * 4 == [found.base, found.new, *records]


@pytest.mark.parametrize(("new", "expected"), [(None, 1000), (run_of(1500), 500)])
def test_one_side_or_two_are_explained(new: api.Run | None, expected: int) -> None:
    """The difference is from nothing to all that the case spends, or between the two."""
    assert expected == api.explain(run_of(1000), "Group/add", new=new).difference.delta


# What is refused


BUILDS = [api.Build("new", "/nowhere/a"), api.Build("new", "/nowhere/b")]
TWO = make_run(make_record("add", build="base"), builds=("base", "new"))
ADD = {"add": api.TimerArgs("x")}


@pytest.mark.parametrize(
    ("function", "given", "how", "message"),
    [
        (api.measure, [ADD], {"runtimes": "lazy"}, 'no runtime "lazy"'),
        (api.measure, [ADD], {"builds": BUILDS}, 'two builds are called "new"'),
        (api.compare, BUILDS, {}, 'two builds are called "new"'),
        (api.compare, [TWO, TWO], {}, "several builds"),
        (api.side, [TWO, "other"], {}, 'no build "other"'),
        (api.compare, [run_of(1), run_of(1)], {"min_effect": "much"}, "min_effect='much'"),
        (api.compare, [run_of(1), run_of(1)], {"languages": "c++"}, "no selected case"),
        (api.explain, [BUILDS[0], "add"], {}, 'build "new" is not measured here'),
        (api.bisect, ["add", BUILDS[:1]], {}, "needs at least two builds"),
        (api.measure, [None], {}, "^definitions: .None"),
        (api.measure, [""], {}, r"^definitions: "),
        (api.measure, [[ADD["add"]]], {}, r"^definitions: .*\n  Expected: labels"),
        (api.measure, [ADD], {"only": 3}, "^a selection: "),
        (api.compare, [run_of(1), None], {}, "^a side: "),
        (api.side, ["1"], {}, "^side: .*1.*\n  Expected: a run;"),
        (api.compare, [run_of(1), run_of(1)], {"min_effect": 0.5}, r"^min_effect=0\.5"),
        (api.compare, [run_of(1), run_of(1)], {"layouts": -1}, "^layouts: "),
    ],
)
def test_what_is_not_understood_is_named(
    function: Any, given: list[Any], how: dict[str, Any], message: str
) -> None:
    """Before anything is measured."""
    with pytest.raises(api.UsageError, match=message):
        function(*given, **how)


# Values that are returned


SHOWN = as_kind(
    api.Run, make_run(make_record("Group", "<add>"), make_record("b", outcome=failed()))
)


def test_a_run_that_is_saved_can_be_loaded(tmp_path: Path) -> None:
    """It is the same one. A file that is none is refused, with the remedy."""
    for name in ("run.json", "run.json.gz"):
        SHOWN.save(tmp_path / name)
        assert api.Run.load(tmp_path / name) == SHOWN
    with pytest.raises(api.DataError):
        api.Run.load(tmp_path / "nothing.json")
    with pytest.raises(api.UsageError, match=r"End the name in .*\.json"):
        SHOWN.save(tmp_path / "run.doc")


def test_rows_are_plain_and_have_the_same_keys() -> None:
    """Counts are ints, times are seconds, a failure is a row."""
    first, second = SHOWN.table()

    assert "<Run of 2 cases on default>" == repr(SHOWN)
    assert list(first) == list(second)
    assert {"Group/<add>", "python", "eager", 1, "default", "ok", 8899, 2.2e-06} <= {
        *(value for value in first.values() if not isinstance(value, tuple))
    }
    assert ("failed", None, "ValueError: bad   (stmt line 1: x + y)") == (
        second["status"],
        second["instructions"],
        second["error"],
    )


COSTS = costs_of({"f": 999}, runs=3, library="lib.so")
COUNTED = make_record("a", outcome=attrs.evolve(OK, functions=COSTS))


@pytest.mark.parametrize(
    ("value", "short", "expected"),
    [
        (
            api.compare(run_of(1000), run_of(1500)),
            "<Comparison of default with default: 1 worse>",
            {"base": 1000, "new": 1500, "change": 500, "relative": 0.5, "verdict": "worse"},
        ),
        (
            api.explain(make_run(COUNTED), "a"),
            "<Explained a · Python · Eager · Forward of default: 333>",
            {"function": "f", "new": 333, "change": 333},
        ),
        (
            api.Result(COUNTED),
            "<a · Python · Eager · Forward: 8,899 instructions, 2.2 us>",
            {"function": "f", "library": "lib.so", "instructions": 333},
        ),
    ],
    ids=["comparison", "explanation", "result"],
)
def test_each_value_is_short_as_text_and_has_rows(
    value: Any, short: str, expected: dict[str, Any]
) -> None:
    """Of cases, or of functions, as CSV has them."""
    (row,) = json.loads(json.dumps(value.table()))

    assert short == repr(value)
    assert expected.items() <= row.items()


def test_a_notebook_shows_the_tables_of_a_page_without_scripts() -> None:
    """A label may hold anything and obeys nothing; of many rows, the first."""
    many = as_kind(api.Run, make_run(*(make_record(str(number)) for number in range(70))))
    base, new = run_of(1000), run_of(1500)
    for value, parts in (
        (SHOWN, ("&lt;add&gt;", ">8,899<", "2 cases:")),
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
        SHOWN.dataframe()

    pandas: Any = types.ModuleType("pandas")
    pandas.DataFrame = len
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    assert 2 == SHOWN.dataframe()


def test_what_was_not_measured_says_so() -> None:
    """In place of None."""
    timed = api.Result(make_record("a", outcome=attrs.evolve(OK, instructions=None)))
    counted_only = api.Result(make_record("a", outcome=attrs.evolve(OK, times=None)))

    assert 2.2e-06 == timed.time_s
    for result, name in ((timed, "instructions"), (timed, "exact"), (counted_only, "time_s")):
        with pytest.raises(api.StatementError, match=r"was not (counted|timed)"):
            getattr(result, name)


def test_a_run_is_accepted_and_checked(tmp_path: Path) -> None:
    """Limits are values, or a file; the command line reads the same baseline.

    Where the file cannot be written, the error names it.
    """
    file, limits = tmp_path / "baseline.json", tmp_path / "limits.yaml"
    limits.write_text("default: {hard: 60%}\n")
    accepted = api.accept(run_of(1000), file)

    assert 1 == len(accepted.after.cases)
    assert 0 == cli.main(["baseline", "show", str(file)])
    assert not api.check(file, run_of(1000)).gate.fails
    found = api.check(file, run_of(1500))
    assert found.gate.fails
    assert repr(found).startswith("<Check that fails: <Comparison of ")
    assert [500] == [row["change"] for row in found.table()]
    assert not api.check(file, run_of(1500), limits=limits).gate.fails
    changed = make_run(attrs.evolve(make_record("Group", "add"), definition_hash="other"))
    with pytest.raises(api.UsageError, match="nothing was compared"):
        api.check(file, changed)
    with pytest.raises(api.UsageError, match=r"missing/baseline\.json"):
        api.accept(run_of(1000), tmp_path / "missing" / "baseline.json")


def test_runs_that_are_accepted_at_once_are_all_in_the_baseline(tmp_path: Path) -> None:
    """Each waits for the one before it, and no file is left beside."""
    records = (make_record("Group", f"{n}", outcome=counted(1000)) for n in range(16))
    runs = [as_kind(api.Run, make_run(record)) for record in records]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda run: api.accept(run, tmp_path / "baseline.json"), runs))

    assert 16 == len(read_baseline(tmp_path / "baseline.json").cases)
    assert ["baseline.json"] == [path.name for path in tmp_path.iterdir()]


def test_the_history_of_stored_runs_has_steps(tmp_path: Path) -> None:
    """In order of time."""
    with Store(tmp_path / "runs.db") as store:
        for count in (1000, 1000, 1500, 1500):
            store.import_run(run_of(count))
    found = api.history("Group/*", db=tmp_path / "runs.db")

    assert [(1, 1000, 1000), (2, 1000, 1000), (3, 1500, 1500), (4, 1500, 1500)] == [
        (row["run"], row["count"], row["level"]) for row in found.table()
    ]
    assert "<History of 1 case>" == repr(found)


def test_the_builds_between_which_a_case_changed_are_found(here: Path) -> None:
    """Those that are needed are measured; these are known without a process of theirs."""
    counts = {"v1": 1000, "v2": 1000, "v3": 1500}
    engines = {name: FakeEngine({("a",): [counted(count)]}) for name, count in counts.items()}
    with fake_engines(engines), known_lanes() as lanes:
        found = api.bisect(
            "a",
            dict.fromkeys(counts, sys.executable),
            definitions=[make_case("a")],
            settings=attrs.evolve(SETTINGS, lanes=lanes),
            db=here / "runs.db",
            layouts=0,
        )

    assert [("v2", "v3", "worse", 500)] == [
        (row["before"], row["after"], row["verdict"], row["change"]) for row in found.table()
    ]


# For real


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.faults
def test_what_cannot_be_stored_says_so(tmp_path: Path) -> None:
    """It has all its records, and nobody need observe it to know."""
    cases, settings = [make_case("a"), make_case("b")], api.MeasurementSettings("fake", jobs=1)
    build = api.Build("fake", sys.executable)
    with small_disk(tmp_path / "small", "2m") as disk:
        database = disk / "runs.db"
        with fake_engines({"fake": FakeEngine()}):
            sound = api.measure(cases, settings=settings, builds=build, db=database)
        with fake_engines({"fake": FakeEngine(during=lambda _: fill(disk))}):
            lost = api.measure(cases, settings=settings, builds=build, db=database)
            (disk / "filler").unlink()
            comparison = api.compare(
                sound, build, definitions=cases, settings=settings, db=database
            )

    assert sound.is_stored
    assert not lost.is_stored
    assert [OK.functions] * 2 == [record.outcome.functions for record in lost.cases]
    assert not comparison.is_sound
    assert {Verdict.SAME: 2} == comparison.tally


@pytest.mark.slow
@pytest.mark.thorough
@NEEDS_VALGRIND
def test_the_example_counts_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    """Its output is a count, and the functions that spend most of it."""
    runpy.run_path(str(ROOT / "examples" / "api.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()

    assert 4 == len(lines)
    assert lines[0].startswith("sum: ")
    assert lines[0].endswith(" instructions per iteration")
