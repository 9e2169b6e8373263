"""The names that get slots of their own."""

from __future__ import annotations

import pytest

from core.expand import materialize
from core.types import Language, RuntimeMode
from definitions.standard import BENCHMARKS
from instruction_counts.engines.engine import case_message
from worker.executed import observe
from worker.main import PythonLoop
from worker.method_cache import ROUNDS, Lookups
from worker.names import NAMES


@pytest.mark.slow
def test_what_the_standard_suite_looks_up_has_slots_of_its_own() -> None:
    """Nearly all; versions of Python and torch differ by some names."""
    looked_up: set[str] = set()
    for case in materialize(BENCHMARKS):
        labels = case.autolabels
        if labels.language is Language.PYTHON and labels.runtime is RuntimeMode.EAGER:
            lookups = Lookups()
            loop = PythonLoop(case_message(case), (lambda: None, lambda: None))
            observe(loop.run, [lookups] * ROUNDS)
            looked_up |= {name for _, _, name, _ in lookups.rows()}

    assert len(looked_up - {*NAMES}) < 0.1 * len(looked_up)
