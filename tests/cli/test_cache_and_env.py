"""``cache`` and ``env``, called as the console script calls them."""

import json
from pathlib import Path

import pytest

from instruction_counts.system.cache import VARIABLE, Cache
from tests.cli.program import Program


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of our own."""
    path = tmp_path / "cache"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def test_what_the_cache_holds_is_shown_and_cleared(root: Path, program: Program) -> None:
    """In the folder that the environment names: each kind with its entries and its size.

    There may be several caches, so it is said which was cleared; an empty one may be, too.
    """
    assert f"{root}\n" == program.output("cache", "show")
    cache = Cache(root)
    cache.entry("cases", "0123", lambda folder: (folder / "file").write_bytes(bytes(1 << 20)))
    cache.entry("headers", "0123", lambda folder: (folder / "file").write_bytes(bytes(3 << 20)))

    assert [["cases", "1", "entry", "1", "MiB"], ["headers", "1", "entry", "3", "MiB"]] == [
        line.split() for line in program.output("cache", "show").splitlines()[1:]
    ]
    for _ in range(2):
        answer = program("cache", "clear")
        assert 0 == answer.code
        assert f"Removed all entries of {root}" in answer.err.replace("\n", " ")
        assert [] == list(root.glob("*/[!.]*"))


def test_what_a_build_is_and_lacks_is_said(program: Program, tmp_path: Path) -> None:
    """With the allocator that counts use, as a run or a baseline has it; the remedy stands below.

    Each in its own line.
    """
    file = tmp_path / "env.json"
    lines = program.output("env", "--compiler", "nope", "--output", file).splitlines()
    (fingerprint,) = json.loads(file.read_text()).values()
    (place,) = (at for at, line in enumerate(lines) if 'no C++ compiler "nope" found' in line)

    assert "steady" == fingerprint["allocator"]
    assert fingerprint["torch"]
    assert lines[place + 1].startswith("  Name another with --compiler")
