"""Terminals that do not know all characters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from instruction_counts.cli import plain_text
from instruction_counts.domain.outcomes import Instructions, Window
from instruction_counts.storage.json_files import to_json
from tests.fakes import OK, make_record, make_run

pytestmark = pytest.mark.faults

MAIN = [sys.executable, str(Path(__file__).resolve().parents[2] / "main.py")]
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", b"plain"),
        ("2.1 µs ± 7%", b"2.1 us +- 7%"),
        ("add → sub …", b"add -> sub ..."),
        ("┌─█│", b"+-#|"),
        ("n² · ünknown ✗", rb"n^2 | \xfcnknown \u2717"),
        ("half \udc80", rb"half \udc80"),
    ],
)
def test_what_a_terminal_does_not_know_has_a_plain_form(text: str, expected: bytes) -> None:
    """What stands for something is replaced by it, all else by its number."""
    plain_text.register()

    assert expected == text.encode("ascii", plain_text.ERRORS)


@pytest.mark.parametrize("environment", [C_LOCALE, {"PYTHONIOENCODING": "ascii"}])
def test_a_regression_is_reported_in_ascii(environment: dict[str, str], tmp_path: Path) -> None:
    """With its exit code."""
    if environment == C_LOCALE and not sys.prefix.isascii():
        pytest.skip("Python does not start there: the path of its packages is not in ASCII")
    counted = attrs.evolve(OK, functions=None)
    worse = attrs.evolve(
        counted, instructions=Instructions(9999, exact=True, windows=(Window(100, 999_900),))
    )
    files = [tmp_path / "bäse.json", tmp_path / "new.json"]
    for file, outcome in zip(files, (counted, worse), strict=True):
        run = make_run(make_record("Töp", "add → sub", outcome=outcome))
        file.write_text(to_json(run), encoding="utf-8")
    done = subprocess.run(
        [*MAIN, "compare", *map(str, files)],
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
        timeout=600,
    )

    assert 3 == done.returncode, done.stderr
    assert rb"T\xf6p" in done.stdout
    assert (done.stdout + done.stderr).isascii()
