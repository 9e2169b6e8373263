"""The Python interface: values in, values out."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from instruction_counts import api
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.domain.records import Run
from instruction_counts.storage.json_files import to_json
from instruction_counts.storage.store import Store
from tests.builders import counted
from tests.fakes import OK, FakeEngine, make_case, make_record, make_run
from tests.session.fakes import fake_engines
from tests.small_disk import fill, small_disk

ROOT = Path(__file__).resolve().parents[2]


def run_of(count: int) -> Run:
    """A run of one case."""
    return make_run(make_record("Group", "add", outcome=counted(count)))


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
    """A path names a file, a text a file or a stored run."""
    file = tmp_path / "base.json"
    file.write_text(to_json(run_of(1000)))
    with Store.open(tmp_path / "runs.db") as store:
        store.tag(store.import_run(run_of(1000)), "new")
    comparison = api.compare(file, "new", db=tmp_path / "runs.db")

    assert [Verdict.SAME] == [found.verdict for found in comparison.differences]


@pytest.mark.parametrize(("new", "expected"), [(None, 1000), (run_of(1500), 500)])
def test_one_side_or_two_are_explained(new: Run | None, expected: int) -> None:
    """The difference is from nothing to all that the case spends, or between the two."""
    assert expected == api.explain(run_of(1000), "Group/add", new=new).difference.delta


# What is refused


BUILDS = [api.Build("new", "/nowhere/a"), api.Build("new", "/nowhere/b")]
TWO = make_run(make_record("add", build="base"), builds=("base", "new"))
ADD = {"add": api.TimerArgs("x")}


@pytest.mark.parametrize(
    ("function", "given", "how", "message"),
    [
        (api.measure, [ADD], {"languages": "rust"}, 'no language "rust"'),
        (api.measure, [ADD], {"runtimes": "lazy"}, 'no runtime "lazy"'),
        (api.measure, [ADD], {"autograds": "sideways"}, 'no autograd mode "sideways"'),
        (api.measure, [ADD], {"builds": BUILDS}, "two builds have the same name"),
        (api.compare, BUILDS, {}, "two builds have the same name"),
        (api.compare, [TWO, TWO], {}, "several builds"),
        (api.compare, [run_of(1), run_of(1)], {"min_effect": "much"}, "min_effect='much'"),
        (api.compare, [run_of(1), run_of(1)], {"languages": "c++"}, "no selected case"),
        (api.explain, [BUILDS[0], "add"], {}, 'build "new" is not measured here'),
        (api.bisect, ["add", BUILDS[:1]], {}, "needs at least two builds"),
    ],
)
def test_what_is_not_understood_is_named(
    function: Any, given: list[Any], how: dict[str, Any], message: str
) -> None:
    """Before anything is measured."""
    with pytest.raises(api.UsageError, match=message):
        function(*given, **how)


def test_a_build_of_several_is_named() -> None:
    """Where a run has one, it need not be."""
    assert {TWO.cases[0].key} == {*api.side(TWO, "base").records}
    with pytest.raises(api.UsageError, match='no build "other"'):
        api.side(TWO, "other")


# For real


@pytest.mark.slow
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
@pytest.mark.skipif(not shutil.which("valgrind"), reason="Valgrind is missing")
@pytest.mark.usefixtures("kept_engines")
def test_the_example_counts_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    """Its output is a count, and the functions that spend most of it."""
    runpy.run_path(str(ROOT / "examples" / "api.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()

    assert 4 == len(lines)
    assert lines[0].startswith("sum: ")
    assert lines[0].endswith(" instructions per iteration")
