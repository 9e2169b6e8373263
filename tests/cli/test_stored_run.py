"""What is said of where results are: each line can be copied, and works."""

from pathlib import Path

import attrs
import pytest

from instruction_counts.analysis.verdicts.comparison import compare
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.run_command import exit_code_of
from instruction_counts.cli.stored_run import go_on, interrupted_comparison, saved
from instruction_counts.domain.records import Run
from instruction_counts.session.comparing import Compared
from instruction_counts.session.measuring import MeasuredRun
from instruction_counts.storage.store import Store
from tests.builders import side
from tests.fakes import failed, make_order, make_record, make_run

ONE, OTHER = make_run(make_record("a")), make_run(make_record("b"))

COMPARE = "Compare: instruction-counts compare"
EXPORT = "instruction-counts runs show 7 --output"
DB = ("--db", "a b.db")
GO_ON = "Go on with the same options, and --resume"


def run_of(*builds: str) -> Run:
    """A run of several builds."""
    return make_run(*(make_record("a", build=build) for build in builds), builds=builds)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([ONE], "Saved as run 1."),
        # A run in between that has other cases alone is of no use.
        ([ONE, OTHER, ONE], f"Saved as run 3. {COMPARE} 1 3 --db {{db}}"),
        # A comparison would ask which build of several is meant.
        ([ONE, run_of("base", "new")], "Saved as run 2."),
        ([run_of("base", "new"), ONE], "Saved as run 2."),
    ],
)
def test_a_run_can_be_compared_with_the_one_before(
    runs: list[Run], expected: str, tmp_path: Path
) -> None:
    """The command is shown, to be copied; it names the database as this one did."""
    with Store(tmp_path / "runs.db") as store:
        numbers = [store.import_run(run) for run in runs]
        assert expected.format(db=store.name) == saved(store, numbers[-1])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["r.json"], f"{GO_ON} r.json"),
        (["r.md", "r.csv", "a b.json.gz", "r.json"], f"{GO_ON} 'a b.json.gz'"),
        ([], f"{GO_ON} FILE.json, from: {EXPORT} FILE.json --db 'a b.db'"),
    ],
)
def test_a_run_goes_on_from_what_can_be_read_again(names: list[str], expected: str) -> None:
    """Tables for people cannot."""
    assert expected == go_on(7, [Path(name) for name in names], DB)
    assert "" == go_on(None, [Path("r.md")])  # what is nowhere


def test_the_exit_code_is_that_of_what_was_asked_for() -> None:
    """What failed before, in the file that was gone on with, is no failure of this run.

    Results on the screen alone are lost.
    """
    run = make_run(make_record("a"), make_record("b", outcome=failed()))
    orders = [tuple(make_order(label) for label in labels) for labels in ("a", "ab")]

    assert [ExitCode.OK, ExitCode.CASES_FAILED] == [
        exit_code_of(MeasuredRun(run, asked)) for asked in orders
    ]
    lost = attrs.evolve(run, is_stored=False)
    assert ExitCode.ERROR is exit_code_of(MeasuredRun(lost, orders[0]))


FOUND = "Interrupted: this is what was found so far; no file was written."
RESUMED = "instruction-counts run --resume FILE.json --db 'a b.db' with the same builds and cases"
KEPT = [
    "Show it again: instruction-counts compare 'old run' 7 --db 'a b.db'",
    f"Measure the rest: {EXPORT} FILE.json --db 'a b.db', then {RESUMED}",
]


@pytest.mark.parametrize(
    ("run_id", "has_rest", "expected"),
    [(7, True, [FOUND, *KEPT]), (7, False, [FOUND, KEPT[0]]), (None, True, [FOUND])],
)
def test_an_interrupted_comparison_says_what_is_kept(
    run_id: int | None, expected: list[str], *, has_rest: bool
) -> None:
    """How to see it again, and how to measure the rest; of what nothing stores, that it is gone."""
    compared = Compared(compare(side(), side()), True, run_id=run_id, has_rest=has_rest)
    found = interrupted_comparison(compared, ["compare", "old run", "7"], DB)

    assert expected == found.splitlines()


@pytest.mark.parametrize(
    ("measured", "expected"), [(("base", "new"), ("7",)), (("new",), ("old run", "7"))]
)
def test_a_comparison_that_was_measured_has_names(
    measured: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    """A run of both builds is both sides; what was stored before keeps its name."""
    base, new = side(), attrs.evolve(side(), run_id=7)
    found = compare(attrs.evolve(base, run_id=7) if len(measured) == 2 else base, new)
    compared = Compared(found, run_id=7, measured=measured)

    assert expected == compared.names_of(["old run", "new"])
