"""What every test can rely on: this checkout comes first on the path, and a cache of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither use nor fill the cache of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INSTRUCTION_COUNTS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
