"""The file of operators: that it is whole, and what its entries do with an installed torch.

The slow test starts this file as a script: torch is imported in that process alone, and a crash of
one operator cannot take pytest with it.
"""

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from instruction_counts.core.types import Language
from instruction_counts.domain.build import default_build
from instruction_counts.sources.operators import code
from instruction_counts.sources.operators.calls import Call, Overrides, calls
from instruction_counts.sources.operators.catalogue import load_schemas
from instruction_counts.sources.operators.entries import VARIANTS, read_operators
from instruction_counts.system.cache import Cache
from tests.process import ROOT, called

ENTRIES = read_operators()
FEWEST = 380
FEWEST_PROPOSED = 180


def test_the_operators_are_as_many_as_promised_and_whole() -> None:
    """Each has a typical variant, and a note where it has no C++ or no TorchScript."""
    assert len(ENTRIES) >= FEWEST
    assert [] == [entry.name for entry in ENTRIES if "typical" not in entry.variants]
    lacking = [entry for entry in ENTRIES if entry.cpp is False or not entry.torchscript]
    assert [] == [entry.name for entry in lacking if not entry.note]


def test_every_operator_has_cpp_or_says_that_it_has_none(tmp_path: Path) -> None:
    """In every variant; what the entry does not give has a schema that it can be derived from."""
    schemas = load_schemas(default_build(), Cache(tmp_path))
    underivable = {
        call.entry.name for call in all_calls() if not code.cpp_expression(call, schemas)[0]
    }

    assert underivable == {entry.name for entry in ENTRIES if entry.cpp is False}


@pytest.mark.slow
@pytest.mark.thorough
def test_every_operator_runs_forward_and_backward() -> None:
    """Each variant but the large one is run twice, since statements are run many times."""
    variables = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    child = called([sys.executable, __file__], variables=variables)

    assert 0 == child.returncode, child.stderr
    failed = {name: what for name, what in json.loads(child.stdout).items() if what != "ran"}
    assert failed == {}


def all_calls() -> list[Call]:
    """Every operator in every variant."""
    return [call for entry in ENTRIES for call in calls(entry, Overrides(variants=VARIANTS))]


def run_all() -> dict[str, str]:
    """What became of each operator and variant: "ran", or what is wrong with it."""
    outcomes = {}
    for call in all_calls():
        if call.variant == "large":
            continue
        try:
            outcome = run(call)
        except Exception:  # noqa: BLE001 - whatever an operator raises is its outcome
            outcome = traceback.format_exc()
        outcomes[f"{call.entry.name}, {call.variant}"] = outcome
    return outcomes


def run(call: Call) -> str:
    """Set up, then run the statement and its backward pass twice."""
    torch = __import__("torch")
    names: dict[str, Any] = {"torch": torch}
    expression = code.expression(call)
    exec(code.setup(call, Language.PYTHON, expression), names)  # noqa: S102 - the statements are the project's own
    for _ in range(2):
        out = eval(expression, names)  # noqa: S307
        if call.differentiates:
            out.backward(names["gradient"])
    for value in call.values:
        if value.requires_grad and names[value.name].grad is None:
            return f"no gradient for {value.name}"
    is_plain = isinstance(out, torch.Tensor) and out.layout == torch.strided
    if is_plain and "empty" not in call.entry.name and not torch.isfinite(out).all():
        return "the output is not finite"
    return "ran"


def test_every_operator_of_the_opperf_proposal_has_an_entry() -> None:
    """The counterparts, in torch, of what MXNet's proposal of an operator benchmark names."""
    proposed = (ROOT / "tests" / "fixtures" / "opperf_operators.txt").read_text().split()

    assert len(proposed) >= FEWEST_PROPOSED
    assert set(proposed) <= {entry.name for entry in ENTRIES}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_all()))
