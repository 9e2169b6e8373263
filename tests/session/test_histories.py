"""Stored runs over time: what changed at steps, which are neighbours, and which count."""

from pathlib import Path

import attrs
import pytest

from instruction_counts.domain.causes import CauseKind
from instruction_counts.domain.selection import Selection
from instruction_counts.session import histories
from instruction_counts.storage.store import Store
from tests.builders import executing, key, statement_of
from tests.fakes import FINGERPRINT, make_record, make_run
from tests.history.made import point, run_of, stored

OTHER_MACHINE = attrs.evolve(FINGERPRINT, machine="aarch64")


def test_a_step_names_the_python_code_before_native_functions(tmp_path: Path) -> None:
    """As a comparison of the two builds does: an interpreter may have no names."""
    asked = histories.HistoryRequest(Selection(only=("add",)))
    with Store(tmp_path / "runs.db") as store:
        for count, bytecodes in ((1000, 10), (1500, 30)):
            outcome = executing(count, statement_of(bytecodes))
            store.import_run(make_run(make_record("add", outcome=outcome)))
        ((first, second),) = histories.history_of(asked, store).causes.values()

    assert (CauseKind.PYTHON, "statement", 20) == (first.kind, first.name, first.change)
    assert (CauseKind.NATIVE, 500) == (second.kind, second.change)


def test_what_a_search_measured_is_in_no_history(tmp_path: Path) -> None:
    """It asks for builds in an order of its own."""
    asked = histories.HistoryRequest(Selection(only=("Group/add",)))
    with Store(tmp_path / "runs.db") as store:
        stored(store, [1000])
        store.import_run(attrs.evolve(run_of(1500, 2), in_order=False))
        (series,) = histories.history_of(asked, store).series

    assert [[1]] == [[point.run_id for point in part.points] for part in series.segments]


# What is published


def build(number: int, cases: str, **more: object) -> histories.PublishedBuild:
    """A build of cases of one letter each."""
    points = (point(1000, number, case=key(case), **more) for case in cases)
    return histories.PublishedBuild(number, "default", tuple(points))


@pytest.mark.parametrize(
    ("builds", "expected"),
    [
        ([build(1, "abc"), build(2, "abc"), build(3, "abc")], {2: 1, 3: 2}),
        ([build(1, "abc"), build(2, "a"), build(3, "abc")], {2: 1, 3: 1}),
        ([build(1, "abc"), build(2, "x"), build(3, "abc")], {3: 1}),
        ([build(1, "a"), build(2, "a", fingerprint=OTHER_MACHINE), build(3, "a")], {3: 1}),
        ([build(1, "a"), build(2, "a", engine="timer")], {}),
        ([build(1, "a"), build(2, "a", instructions=None)], {}),
    ],
    ids=["all", "few cases", "other cases", "other machine", "other engine", "no counts"],
)
def test_a_build_is_compared_with_the_last_one_like_it(
    builds: list[histories.PublishedBuild], expected: dict[int, int]
) -> None:
    """What was measured between two nightly builds for another purpose does not part them."""
    found = histories.neighbours(builds)

    assert expected == {new.run_id: base.run_id for new, base in found.items()}


def test_a_run_that_goes_on_is_left_out(tmp_path: Path) -> None:
    """It is published when it has come to its end."""
    with Store(tmp_path / "runs.db") as store:
        stored(store, [1000])
        number = store.begin(run := run_of(1100, 2))
        before = histories.publication_of(histories.HistoryRequest(), store)
        store.finish(number, run, interrupted=False)
        after = histories.publication_of(histories.HistoryRequest(), store)

    assert ([1], [1, 2]) == tuple(
        [each.run_id for each in found.builds] for found in (before, after)
    )


def test_a_build_that_is_measured_again_beside_another_one_is_no_news(tmp_path: Path) -> None:
    """Such as a release that each nightly build is compared with."""
    with Store(tmp_path / "runs.db") as store:
        for day in (2, 3):
            runs = {"release": run_of(1000, 1), "nightly": run_of(1000 + day, day)}
            cases = [attrs.evolve(run.cases[0], build=name) for name, run in runs.items()]
            builds = {name: run.builds["default"] for name, run in runs.items()}
            store.import_run(attrs.evolve(runs["nightly"], builds=builds, cases=tuple(cases)))
        found = histories.publication_of(histories.HistoryRequest(), store)

    assert ["run 2, release"] == [build.title for build in found.builds if build.is_repeated]
    assert [("run 1, nightly", "run 1, release"), ("run 2, nightly", "run 2, release")] == [
        (new.title, base.title) for new, base in found.bases.items()
    ]
