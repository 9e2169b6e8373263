"""The Python cases of the standard suite, of the compiled and of the foreign set, executed.

The test starts this file as a script: torch is imported in that process alone, and a crash of one
case cannot take pytest with it.
"""

import json
import runpy
import sys
import tempfile
import textwrap
import traceback
from pathlib import Path
from typing import Any

import pytest

from benchmarks import foreign
from definitions import compiled, standard
from instruction_counts.core.expand import materialize
from instruction_counts.core.runtimes import ARTEFACT_PATH
from instruction_counts.core.types import Case, Language
from tests.process import ROOT, called

CASES = [
    case
    for definitions in (standard.BENCHMARKS, compiled.BENCHMARKS, foreign.BENCHMARKS)
    for case in materialize(definitions)
    if case.autolabels.language is Language.PYTHON
]


@pytest.mark.slow
@pytest.mark.thorough
def test_every_python_case_runs() -> None:
    """Each case is set up and run twice, scripted ones with their saved and loaded model.

    What torch compiles is traced, and executed without a C++ compiler.
    """
    child = called([sys.executable, __file__], variables={"PYTHONPATH": str(ROOT)})

    assert 0 == child.returncode, child.stderr
    assert json.loads(child.stdout) == {case.title: "ran" for case in CASES}


def run_all() -> dict[str, str]:
    """What became of each case: "ran", or its traceback."""
    import torch  # noqa: PLC0415 - for the subprocess alone

    whole = torch.compile
    torch.compile = lambda function, **options: whole(  # type: ignore[assignment]
        function, **{**options, "backend": "eager"}
    )
    outcomes = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            outcomes[case.title] = "ran"
            try:
                run(case, Path(folder))
            except Exception:  # noqa: BLE001 - whatever a case raises is its outcome
                outcomes[case.title] = traceback.format_exc()
    return outcomes


def run(case: Case, folder: Path) -> None:
    """Run one case like a timer does: the setup and then the statement in one function."""
    import torch  # noqa: PLC0415 - for the subprocess alone

    setup = case.timer_args.setup
    if case.model_source is not None:
        # TorchScript reads code from files.
        code, model = folder / f"{case.definition_hash}.py", folder / f"{case.definition_hash}.pt"
        code.write_text(case.model_source)
        runpy.run_path(str(code))["jit_model"].save(str(model))
        setup = setup.replace(ARTEFACT_PATH, str(model))
    body = f"{setup}\nfor _ in range(2):\n{textwrap.indent(case.timer_args.stmt, '    ')}"
    torch.set_num_threads(case.num_threads)
    namespace: dict[str, Any] = {"torch": torch}
    exec(f"def run_case():\n{textwrap.indent(body, '    ')}", namespace)  # noqa: S102
    namespace["run_case"]()


if __name__ == "__main__":
    print(json.dumps(run_all()))  # noqa: T201 - the test reads it
