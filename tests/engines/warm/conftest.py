"""Each test has servers of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from instruction_counts.engines.warm.channel import KEEP_VARIABLE
from instruction_counts.engines.warm.client import holders, told


@pytest.fixture(autouse=True)
def runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder of this test; servers are kept there, also in CI, and end with it."""
    folder = tmp_path / "runtime"
    monkeypatch.setenv("INSTRUCTION_COUNTS_RUNTIME", str(folder))
    monkeypatch.setenv(KEEP_VARIABLE, "10m")
    yield folder
    for place, _ in holders():
        told(place, "retire")
