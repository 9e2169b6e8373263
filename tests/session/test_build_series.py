"""Builds that a command of the user makes, and what the store knows of one."""

import sys
from pathlib import Path

import attrs
import pytest

from instruction_counts.api.arguments import definitions_of
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.execution.events import Silent
from instruction_counts.session.build_series import StoreBuildMeasurer, made_build
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.storage.store import Store
from tests.fakes import BUILD, FACTS, FINGERPRINT, FakeEngine, make_case, make_record, make_run
from tests.session.fakes import SETTINGS, Remarks, fake_engines, known_lanes


def test_a_build_command_makes_the_build_of_a_commit(tmp_path: Path) -> None:
    """What it prints last is where the build is; the commit is one word to the shell."""
    (tmp_path / "a  b").touch()
    command = f"echo log; echo {tmp_path}/{{commit}}; echo"

    assert str(tmp_path / "a  b") == made_build(command, "a  b", {}, print).python


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true {commit}", "the build command prints nothing"),
        ("echo /nowhere/{commit}", 'build "c1": no interpreter at /nowhere/c1'),
        ("""bash -c 'echo "/nowhere/$COMMIT"'""", 'build "c1": no interpreter at /nowhere/c1'),
    ],
)
def test_a_commit_that_cannot_be_built_is_broken(command: str, message: str) -> None:
    """The search goes on without it; a command in a command gets the commit, too."""
    with pytest.raises(BuildError) as caught:
        made_build(command, "c1", {}, print)

    assert message == caught.value.message


@pytest.mark.parametrize("template", ["echo {commit}", "echo '{commit}'", 'echo "{commit}"'])
@pytest.mark.parametrize("quote", ["'", '"', "", "$(", "`"])
def test_a_commit_cannot_end_the_quotes_of_a_command(
    template: str, quote: str, tmp_path: Path
) -> None:
    """Nor run anything: it is in the environment, and no text of the command."""
    mark = tmp_path / "mark"
    with pytest.raises(BuildError, match="no interpreter"):
        made_build(template, f"{quote};touch {mark};{quote}", {}, print)

    assert not mark.exists()


def test_a_build_command_that_reuses_one_place_is_refused() -> None:
    """Two builds are measured side by side, so that each needs a place of its own."""
    made: dict[str, str] = {}
    made_build(f"echo {sys.executable}", "c1", made, print)
    with pytest.raises(UsageError, match="made c1 and c2 in one place"):
        made_build(f"echo {sys.executable}", "c2", made, print)


def test_a_case_that_was_counted_is_not_measured_again_unless_its_build_changed(
    tmp_path: Path,
) -> None:
    """A run during which files of the build changed may have counted other code."""
    settings = MeasurementSettings(engine="timer")
    counted_on = attrs.evolve(settings.fingerprint(FACTS), counted_capability="AVX2")
    sound = attrs.evolve(make_run(make_record("add")), builds={BUILD.name: counted_on})
    elsewhere = attrs.evolve(sound, package_folders={BUILD.name: "/elsewhere"})
    marked = attrs.evolve(sound, changed_files={BUILD.name: ChangedFiles.of(["/torch/a.py"])})
    other = attrs.evolve(sound, builds={BUILD.name: attrs.evolve(FINGERPRINT, torch_git="x")})
    with Store(tmp_path / "runs.db") as store, known_lanes() as lanes:
        for run in (sound, marked, other, elsewhere):
            store.import_run(run)
        request = ComparisonRequest("", settings=attrs.evolve(settings, lanes=lanes))
        said = Remarks()
        measurer = StoreBuildMeasurer(request, store, said)
        known = measurer.known(BUILD, make_case("add"))
        store.delete(1)

        assert 1 == known.run_id
        assert measurer.known(BUILD, make_case("add")) is None
        assert "run 4 is not taken: it was measured with /elsewhere" in said.notes[-1]


def test_a_run_says_whether_its_builds_are_the_next_ones(tmp_path: Path) -> None:
    """Or those that a search asked for, which no history has."""
    case = make_case("a")
    with (
        Store(tmp_path / "runs.db") as store,
        fake_engines({BUILD.name: FakeEngine()}),
        known_lanes() as lanes,
    ):
        settings = attrs.evolve(SETTINGS, lanes=lanes)
        request = ComparisonRequest(definitions_of([case]), settings=settings)
        measurer = StoreBuildMeasurer(request, store, Silent())
        measurer.measure([BUILD])
        measurer.measured([BUILD])

        assert [False, True] == [count.in_order for count in store.counts([case.key])]
