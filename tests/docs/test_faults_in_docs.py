"""The table of faults names tests that exist, and that `make test-faults` runs."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_fault_of_old_has_tests_with_the_marker() -> None:
    """Each row names at least one file."""
    page = (ROOT / "docs" / "reference" / "faults.md").read_text()
    rows = [line for line in page.partition("## Before and after")[2].splitlines() if "`" in line]
    named = [re.findall(r"`(tests/[\w/]+\.py)`", row) for row in rows]
    files = {name for names in named for name in names}

    assert 17 == len(rows)
    assert all(named)
    assert [] == [name for name in files if "pytest.mark.faults" not in (ROOT / name).read_text()]
