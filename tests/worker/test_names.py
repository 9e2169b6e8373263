"""The names that get slots of their own.

The test starts this file as a script: look-ups are those of a whole process, and in the one that
runs tests other threads look up names, too.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from definitions.standard import BENCHMARKS
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Language, RuntimeMode
from instruction_counts.engines.engine import case_message
from worker.executed import observe
from worker.main import PythonLoop
from worker.method_cache import ROUNDS, Lookups
from worker.names import NAMES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.thorough
def test_what_the_standard_suite_looks_up_has_slots_of_its_own() -> None:
    """Nearly all; versions of Python and torch differ by some names."""
    child = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found = {*json.loads(child.stdout)}

    assert len(found - {*NAMES}) < 0.1 * len(found)


def looked_up() -> set[str]:
    """The names that the eager Python cases of the suite look up."""
    found: set[str] = set()
    for case in materialize(BENCHMARKS):
        labels = case.autolabels
        if labels.language is Language.PYTHON and labels.runtime is RuntimeMode.EAGER:
            lookups = Lookups()
            loop = PythonLoop(case_message(case), (lambda: None, lambda: None))
            observe(loop.run, [lookups] * ROUNDS)
            found |= {name for _, _, name, _ in lookups.rows()}
    return found


if __name__ == "__main__":
    print(json.dumps(sorted(looked_up())))  # noqa: T201 - the test reads it
