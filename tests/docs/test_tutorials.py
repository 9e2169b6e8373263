"""The tutorials work as they are typed: their commands run in order, in a folder like a clone."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process import ROOT, called
from tests.real import NEEDS_VALGRIND_AND_COMPILER

TUTORIALS = ("first-measurement", "first-comparison")

BLOCK = re.compile(
    r"^(?P<mark><!-- [^\n]* -->\n+)?```(?P<language>sh|console|python)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def steps() -> Iterator[tuple[str, str]]:
    """Language and text of each block that a reader types, in the order of the pages."""
    for name in TUTORIALS:
        page = (ROOT / "docs" / "tutorial" / f"{name}.md").read_text(encoding="utf-8")
        for found in BLOCK.finditer(page):
            text = found["text"]
            if found["language"] == "console":
                text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("$ "))
            if "not typed" not in (found["mark"] or ""):
                yield found["language"], text


def typed(text: str) -> list[str]:
    """The commands of a block, for a clone that `make` has set up."""
    lines = text.replace("\\\n", " ").splitlines()
    return [re.sub(r'^make run ARGS="(.*)"', r"python main.py \1", line) for line in lines]


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Path]:
    """What the commands find in a clone; its copy of an environment is large, and goes."""
    for name in ("main.py", "definitions", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "runtime").mkdir(mode=0o700)
    yield tmp_path
    shutil.rmtree(tmp_path / "patched", ignore_errors=True)


@pytest.mark.slow
@pytest.mark.thorough
@NEEDS_VALGRIND_AND_COMPILER
@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="torch is in no virtual environment")
def test_the_tutorials_work_as_typed(clone: Path) -> None:
    """One after the other, as each uses what those before it have stored, and their servers."""
    variables = {
        "INSTRUCTION_COUNTS_RUNTIME": str(clone / "runtime"),
        "INSTRUCTION_COUNTS_KEEP_SERVERS": "10m",
        "INSTRUCTION_COUNTS_DB": str(clone / "runs.db"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    for language, text in steps():
        if language == "python":
            (clone / "my_cases.py").write_text(text, encoding="utf-8")
            continue
        for command in typed(text):
            done = called(["bash", "-c", command], clone, variables)
            # The comparisons are made to find something.
            expected = 3 if command.startswith("python main.py compare") else 0

            assert expected == done.returncode, (command, done.stdout, done.stderr)
            # Nothing may be edited through a link to the environment of the tests.
            assert not (clone / "patched").is_symlink()
    stopped = called(["bash", "-c", "python main.py servers stop"], clone, variables)
    left = called(["bash", "-c", "python main.py servers list"], clone, variables)

    assert re.search(r"^Stopped [1-9]\d*\.$", stopped.stderr, re.MULTILINE)
    assert "No servers are ready" in left.stderr
