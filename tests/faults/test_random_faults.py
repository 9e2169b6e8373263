"""Whatever strikes a run of 40 cases, nothing that was finished is lost, and nothing is left.

``FAULT_SEEDS=50 make test-faults`` tries the seeds 1 to 50; ``FAULT_SEEDS=7,12`` tries these two.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import attrs
import pytest

from core.types import Language
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store
from tests.faults.disturbed import CASES, Disturbed, Place, all_end, disturb
from tests.small_disk import small_disk

pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.faults]


def seeds() -> list[int]:
    """Those that are asked for: ``make test-faults`` does, other commands leave chance out."""
    asked = os.environ.get("FAULT_SEEDS", "0")
    return (
        [int(part) for part in asked.split(",") if part]
        if "," in asked
        else list(range(1, int(asked) + 1))
    )


@attrs.frozen
class Outcome:
    """What became of a disturbed run, and of the one that went on from it."""

    disturbed: Disturbed
    resumed_code: int
    resumed_printed: str
    in_file: dict[str, Record]
    in_database: dict[str, Record]
    running: list[int]
    folders: list[str]


def ok(records: tuple[Record, ...]) -> dict[str, Record]:
    """The cases that were measured, by their label."""
    return {record.label[0]: record for record in records if record.outcome.status is Status.OK}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The exact counts of all Python cases."""
    folder = tmp_path_factory.mktemp("undisturbed")
    place = Place(folder, folder)
    place.write(0)
    subprocess.run(place.arguments("a.json"), cwd=folder, env=place.environment, check=True)
    return counts(ok(read_json(folder / "a.json").cases))


def counts(records: dict[str, Record]) -> dict[str, int]:
    """The counts of Python cases that are exact."""
    return {
        label: record.outcome.instructions.per_run
        for label, record in records.items()
        if record.language is Language.PYTHON
        and record.outcome.instructions is not None
        and record.outcome.instructions.exact
    }


@pytest.fixture(scope="module", params=seeds())
def outcome(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outcome]:
    """A run that was disturbed, and then went on to its end in peace."""
    folder = tmp_path_factory.mktemp(f"seed{request.param}")
    with small_disk(folder / "disk", "16m") as disk:
        place = Place(folder, disk)
        place.write(request.param)
        disturbed = disturb(place, request.param)
        running = all_end(disturbed.processes)
        resume = ["--resume", str(disk / "a.json")] if (disk / "a.json").exists() else []
        resumed = subprocess.run(
            place.arguments("b.json", *resume),
            cwd=folder,
            env=place.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        in_file = ok(read_json(disk / "b.json").cases)
        with Store.open(str(place.database)) as store:
            stored = [store.load(run.id, details=False).cases for run in store.summaries()]
        in_database = {label: case for cases in stored for label, case in ok(cases).items()}
        folders = [path.name for path in place.temporary.iterdir()]
        yield Outcome(
            disturbed,
            resumed.returncode,
            resumed.stdout + resumed.stderr,
            in_file,
            in_database,
            running,
            folders,
        )


def test_what_was_finished_is_in_the_file(outcome: Outcome) -> None:
    """Of the run itself, and of the one that went on from it."""
    assert outcome.disturbed.finished <= set(outcome.in_file)


def test_what_was_finished_is_in_the_store(outcome: Outcome) -> None:
    """In one of the two runs."""
    assert outcome.disturbed.finished <= set(outcome.in_database)


def test_a_disturbed_run_can_go_on_to_its_end(outcome: Outcome) -> None:
    """With all cases."""
    assert 0 == outcome.resumed_code, outcome.resumed_printed
    assert CASES == len(outcome.in_file)


def test_counts_are_those_of_a_run_in_peace(outcome: Outcome, undisturbed: dict[str, int]) -> None:
    """To the instruction, wherever both are exact."""
    found = {
        label: count for label, count in counts(outcome.in_file).items() if label in undisturbed
    }

    assert found == {label: undisturbed[label] for label in found}
    assert len(found) > CASES // 2


def test_no_process_is_left(outcome: Outcome) -> None:
    """Not even of those that were stopped."""
    assert [] == outcome.running


def test_no_temporary_folder_is_left(outcome: Outcome) -> None:
    """The next run removes those of one that was killed."""
    assert [] == outcome.folders


def test_there_is_no_traceback(outcome: Outcome) -> None:
    """Whatever it was."""
    assert "Traceback" not in outcome.disturbed.printed
