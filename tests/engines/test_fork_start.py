"""What becomes of the fork engine where it cannot be made, or its servers cannot be kept."""

import contextlib
from pathlib import Path

import pytest

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork import ForkEngine
from instruction_counts.engines.fork_cases import Attempt
from instruction_counts.engines.fork_processes import Which
from instruction_counts.engines.fork_server import ForkServer
from instruction_counts.engines.warm.channel import KEEP_VARIABLE
from instruction_counts.engines.warm.client import HolderGoneError, WarmServer
from instruction_counts.system.cache import Cache
from instruction_counts.system.worker_process import WorkerError
from tests.fakes import BUILD, FACTS, make_case
from tests.real import grouped
from tests.small_disk import small_disk

OWN = Profile(keeps_servers=False)


class LibrariesAt(Compiler):
    """Its libraries for the counted process are one file, as far as copying them needs."""

    def __init__(self, place: Path = Path(__file__)) -> None:
        super().__init__(FACTS, Cache())
        self.place = place

    def native(self, name: str) -> Path:
        """The file, which may not be there."""
        del name
        return self.place


def folders_in_use() -> set[Path]:
    """The private folders that this process holds open, which others' are not."""
    descriptors = Path("/proc/self/fd").iterdir()
    opened = {path.readlink() for path in descriptors if path.is_symlink()}
    return {path for path in opened if path.name.startswith("instruction-counts.")}


def test_an_engine_that_cannot_be_made_leaves_no_folder() -> None:
    """Neither of its own nor for its servers."""
    before = folders_in_use()
    with pytest.raises(FileNotFoundError):
        ForkEngine(FACTS, LibrariesAt(Path("/nowhere/library")), OWN, lambda _: None)

    assert before == folders_in_use()


def test_a_command_whose_servers_cannot_be_kept_has_servers_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says why, and measures."""
    monkeypatch.setenv(KEEP_VARIABLE, "10m")
    told: list[str] = []
    with small_disk(tmp_path / "runtime", "64k,nr_inodes=1") as disk:  # no file can be made
        monkeypatch.setenv("INSTRUCTION_COUNTS_RUNTIME", str(disk))
        engine = ForkEngine(FACTS, LibrariesAt(), Profile(), told.append)
        engine.close()

    assert isinstance(engine._servers.counts, ForkServer)
    assert 1 == len(told)
    assert told[0].startswith("Servers cannot be kept for the next command: ")
    assert "No space left on device" in told[0]


def test_a_server_that_does_not_start_is_named_by_its_build(tmp_path: Path) -> None:
    """Two builds are timed in turns, and that of the other one may start."""
    engine = ForkEngine(FACTS, LibrariesAt(), OWN, lambda _: None)
    order = WorkOrder(make_case("add"), BUILD, 10.0)
    expected = 'the server of build "default" does not start: '
    with contextlib.closing(engine), pytest.raises(WorkerError, match=f"^{expected}"):  # noqa: SIM117
        with engine.blocks(order, (0,), tmp_path / "socket"):
            pass


@pytest.mark.parametrize(("error", "is_lost"), [(WorkerError, False), (HolderGoneError, True)])
def test_what_adds_to_a_measurement_is_not_left_out_because_servers_are_gone(
    error: type[WorkerError], *, is_lost: bool
) -> None:
    """The case is measured again; where it fails itself, its count or its times say so."""

    class Failing(WarmServer):
        def run(self, *_: object, **__: object) -> dict[str, object]:
            raise error(Failure(FailureKind.EXIT, "no warm server"))

    attempt = Attempt(WorkOrder(make_case("add"), BUILD, 10.0), (0,))
    expected = pytest.raises(HolderGoneError) if is_lost else contextlib.nullcontext({})
    with expected as nothing:
        assert nothing == attempt.try_to_run(Failing(None, Which("times"), {}), "executed")  # type: ignore[arg-type]


class Making(WarmServer):
    """Counts what is made for cases, natively."""

    made = 0

    def run(self, *_: object, **__: object) -> dict[str, object]:
        """Say that it was made of no files."""
        self.made += 1
        return {"read": []}


def test_a_model_is_scripted_once_for_all_cases_of_a_run() -> None:
    """And again for the next run of a session: what its source imports may have been edited."""
    order = WorkOrder(grouped(), BUILD, 10.0)
    engine = ForkEngine(FACTS, LibrariesAt(), OWN, lambda _: None)
    engine.files._times = server = Making(None, Which("times"), {})  # type: ignore[arg-type]

    with contextlib.closing(engine):
        for run in (1, 2):
            engine.check([])
            assert engine.files.of(order, (0,)) == engine.files.of(order, (0,))
            assert run == server.made
