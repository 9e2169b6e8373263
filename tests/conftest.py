"""What every test can rely on: this checkout comes first on the path, and folders of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes tells of the machine and its load, and not of what is tested.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In parallel, files with slow tests come first: the workers then end together."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither use nor fill the cache and the data of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        # What one worker of pytest-xdist compiled, the others need not compile again.
        folder = tmp_path_factory.getbasetemp()
        shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
        patch.setenv("INSTRUCTION_COUNTS_CACHE", str(shared / "shared-cache"))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.delenv("INSTRUCTION_COUNTS_DB", raising=False)
        yield
