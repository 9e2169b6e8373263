"""What becomes of the fork engine where it cannot be made, or its servers cannot be kept."""

import tempfile
from pathlib import Path

import pytest

from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork import ForkEngine
from instruction_counts.engines.fork_server import ForkServer
from instruction_counts.engines.warm.channel import KEEP_VARIABLE
from instruction_counts.system.cache import Cache
from tests.fakes import FACTS
from tests.small_disk import small_disk


class LibrariesAt(Compiler):
    """Its libraries for the counted process are one file, as far as copying them needs."""

    def __init__(self, place: Path) -> None:
        super().__init__(FACTS, Cache(), {})
        self.place = place

    def native(self, name: str) -> Path:
        """The file, which may not be there."""
        del name
        return self.place


def test_an_engine_that_cannot_be_made_leaves_no_folder() -> None:
    """Neither of its own nor for its servers."""
    before = set(Path(tempfile.gettempdir()).glob("instruction-counts.*"))
    profile = Profile(keeps_servers=False)
    with pytest.raises(FileNotFoundError):
        ForkEngine(FACTS, LibrariesAt(Path("/nowhere/library")), profile, lambda _: None)
    after = set(Path(tempfile.gettempdir()).glob("instruction-counts.*"))

    assert set() == after - before


def test_a_command_whose_servers_cannot_be_kept_has_servers_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says why, and measures."""
    monkeypatch.setenv(KEEP_VARIABLE, "10m")
    told: list[str] = []
    with small_disk(tmp_path / "runtime", "64k,nr_inodes=1") as disk:  # no file can be made
        monkeypatch.setenv("INSTRUCTION_COUNTS_RUNTIME", str(disk))
        engine = ForkEngine(FACTS, LibrariesAt(Path(__file__)), Profile(), told.append)
        engine.close()

    assert isinstance(engine._counts, ForkServer)
    assert 1 == len(told)
    assert told[0].startswith("Servers cannot be kept for the next command: ")
    assert "No space left on device" in told[0]
