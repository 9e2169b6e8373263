"""What the store knows of a build that is to be measured."""

from __future__ import annotations

from pathlib import Path

import attrs

from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.selection import Selection
from instruction_counts.execution.events import Silent
from instruction_counts.session.build_measurer import StoreBuildMeasurer
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.storage.store import Store
from tests.fakes import BUILD, FACTS, make_case, make_record, make_run

SETTINGS = MeasurementSettings(engine="timer")


def test_a_case_that_was_counted_is_not_measured_again_unless_its_build_changed(
    tmp_path: Path,
) -> None:
    """A run during which files of the build changed may have counted other code."""
    fingerprint = SETTINGS.fingerprint(FACTS)
    sound = attrs.evolve(make_run(make_record("add")), builds={BUILD.name: fingerprint})
    marked = attrs.evolve(sound, changed_files={BUILD.name: ChangedFiles.of(["/torch/a.py"])})
    with Store.open(tmp_path / "runs.db") as store:
        for run in (sound, marked):
            store.import_run(run)
        measurer = StoreBuildMeasurer(
            *("", Selection(), SETTINGS, store, 0, Silent(), make_case("add")),
            probe=lambda _: FACTS,
        )
        known = measurer.known(BUILD)
        store.delete(1)

        assert known is not None
        assert 1 == known.run_id
        assert measurer.known(BUILD) is None
