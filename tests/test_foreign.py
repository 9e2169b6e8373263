"""The foreign set: its size, that it is foreign to the standard suite, and that its cases run.

The last test starts this file as a script: torch is imported in that process alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path
from typing import Any

import pytest

from benchmarks import foreign
from core.expand import materialize
from core.types import Case, Language
from definitions import standard

ROOT = Path(__file__).resolve().parents[1]
CASES = materialize(foreign.BENCHMARKS)
SUITE = materialize(standard.BENCHMARKS)
RUNS = 3


def normalised(case: Case) -> str:
    """The statement, whatever its whitespace."""
    return " ".join(case.timer_args.stmt.split())


def test_there_are_at_least_80_cases() -> None:
    """What a few cases do not show, many do."""
    assert len(CASES) >= 80


def test_every_case_is_in_python() -> None:
    """Users of torch write little else."""
    assert {Language.PYTHON} == {case.autolabels.language for case in CASES}


def test_every_label_is_unique() -> None:
    """Or results would be mixed up."""
    assert len({case.label for case in CASES}) == len(CASES)


def test_every_label_is_a_group_and_a_name() -> None:
    """Groups can be selected, and have no groups of their own."""
    assert {2} == {len(case.label) for case in CASES}


def test_no_statement_occurs_twice() -> None:
    """A case that repeats another one shows nothing new."""
    assert len({normalised(case) for case in CASES}) == len(CASES)


def test_the_suite_has_none_of_the_statements() -> None:
    """The program may have been tuned to those of the suite."""
    assert set() == {normalised(case) for case in CASES} & {normalised(case) for case in SUITE}


def test_the_suite_has_none_of_the_labels() -> None:
    """Selections and comparisons of the two cannot be mixed up."""
    assert set() == {case.label for case in CASES} & {case.label for case in SUITE}


@pytest.mark.slow
@pytest.mark.thorough
def test_every_case_makes_values_of_the_same_types_in_each_run() -> None:
    """A statement that changes what it starts from could not be repeated."""
    child = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )

    assert json.loads(child.stdout) == {case.title: "ran" for case in CASES}


def run_all() -> dict[str, str]:
    """What became of each case: "ran", the types that differ, or its traceback."""
    outcomes = {}
    for case in CASES:
        try:
            runs = types_made(case)
        except Exception:  # noqa: BLE001 - whatever a case raises is its outcome
            outcomes[case.title] = traceback.format_exc()
        else:
            outcomes[case.title] = "ran" if runs.count(runs[0]) == RUNS else "\n".join(runs)
    return outcomes


def types_made(case: Case) -> list[str]:
    """The types of all local variables after each run, in one function like a timer's."""
    body = f"{case.timer_args.setup}\nfor _ in range({RUNS}):\n"
    body += textwrap.indent(f"{case.timer_args.stmt}\nruns.append(types(locals()))", "    ")
    runs: list[str] = []
    namespace: dict[str, Any] = {"runs": runs, "types": types}
    exec("import torch", namespace)  # noqa: S102
    exec(f"def run_case():\n{textwrap.indent(body, '    ')}", namespace)  # noqa: S102
    namespace["run_case"]()
    return runs


def types(variables: dict[str, Any]) -> str:
    """The type of each variable."""
    return repr({name: type(value) for name, value in variables.items()})


if __name__ == "__main__":
    print(json.dumps(run_all()))  # noqa: T201 - the test reads it
