"""Values as a measurement leaves them, each made in one call: costs, outcomes, records, sides."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.effects import MIN_EFFECT
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import (
    CallCost,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Outcome,
    Status,
    Times,
    Window,
)
from instruction_counts.domain.records import Record, Run
from instruction_counts.storage.json_files import json_parts
from tests.fakes import FINGERPRINT, failed, make_record, make_run

CPU = "libtorch_cpu.so"
LAYERS = {
    "kernels": "at::native::add",
    "tensor": "at::empty",
    "dispatcher": "c10::Dispatcher::call",
}
"""A function of some layers."""
FORWARD = PythonFunction("torch/nn/modules/linear.py", 130, "Linear.forward", "aa", 20)
LONGER_FORWARD = Cause(
    *(CauseKind.PYTHON, FORWARD.name, FORWARD.bytecodes, 30),
    where=FORWARD.file,
    line=FORWARD.line,
    interpreted=Fraction(300),
)
"""Ten bytecodes more, and what they cost the interpreter."""


def costs_of(
    exclusive: Mapping[str, int],
    calls: Sequence[tuple[str, str, int, int]] = (),
    *,
    runs: int = 1,
    library: str = CPU,
) -> FunctionCosts:
    """Costs of functions in one library, and calls: caller, callee, how often, instructions."""
    names = list(exclusive)
    return FunctionCosts(
        runs,
        tuple(FunctionCost(library, "???", name, cost) for name, cost in exclusive.items()),
        tuple(CallCost(names.index(a), names.index(b), n, cost) for a, b, n, cost in calls),
    )


def counted(
    count: int,
    spent_in: Mapping[str, int] | None = None,
    *,
    exact: bool = True,
    spread: int = 0,
    varying: tuple[str, ...] = (),
    times_s: Sequence[float] = (),
    **fields: Any,
) -> Outcome:
    """An outcome of that count, spent in these functions; a name of `LAYERS` is one of that layer.

    ``fields`` are others of the outcome; ``metrics`` may be a plain dictionary.
    """
    spent = {"kernels": count} if spent_in is None else spent_in
    fields = {
        "functions": costs_of({LAYERS.get(name, name): cost for name, cost in spent.items()}),
        "times": Times.of(times_s, 100) if times_s else None,
        **fields,
        "metrics": Amounts(fields.get("metrics", {})),
    }
    windows = (Window(1, count),)
    instructions = Instructions(count, exact, windows, spread=spread, varying=varying)
    return Outcome(Status.OK, instructions, **fields)


def executing(count: int, executed: Executed, **metrics: int) -> Outcome:
    """An outcome of that count, in which that is executed."""
    amounts = {"bytecodes": executed.bytecodes, "operator_calls": executed.operator_calls}
    known = {"executed": executed, "executed_digests": executed.digests}
    return counted(count, metrics={**amounts, **metrics}, **known)


def statement_of(bytecodes: int) -> Executed:
    """What a statement of so many bytecodes executes, which calls one operator."""
    statement = PythonFunction("<case>", 0, "statement", "", bytecodes)
    return Executed((statement,), (OperatorCalls("aten::add", False, 1),), "3.11")


def outcome_of(count: int | Outcome | None) -> Outcome:
    """The outcome of a count; of None, a failure."""
    if count is None:
        return failed()
    return count if isinstance(count, Outcome) else counted(count)


def cpp(*label: str, outcome: int | Outcome | None, **fields: Any) -> Record:
    """The record of a C++ case that ended so, or was counted so; ``fields`` replace others."""
    made = make_record(*label, outcome=outcome_of(outcome), language=Language.CPP)
    return attrs.evolve(made, **fields)


def run_of(outcomes: Mapping[str, int | Outcome | None], **fields: Any) -> Run:
    """A run of C++ cases in ``Group``, by label; ``fields`` replace those of the run."""
    records = (cpp("Group", label, outcome=outcome) for label, outcome in outcomes.items())
    return attrs.evolve(make_run(*records), **fields)


def to_json(run: Run) -> str:
    """The text of a result file."""
    return "".join(json_parts(run))


def file_of(run: Run, path: Path) -> str:
    """The JSON file of a run; its path."""
    path.write_text(to_json(run), encoding="utf-8")
    return str(path)


def side(*records: Record, engine: str = "fork", title: str = "run 2", **facts: Any) -> Side:
    """A side of these records; ``facts`` replace those of its fingerprint."""
    fingerprint = attrs.evolve(FINGERPRINT, **facts)
    return Side(title, engine, fingerprint, {record.key: record for record in records})


def key(*label: str) -> CaseKey:
    """The key of a C++ case."""
    return CaseKey(label, Language.CPP, RuntimeMode.EAGER, AutogradMode.FORWARD, 1)


def difference(
    base: int | Outcome,
    new: int | Outcome,
    *,
    noise: int = 0,
    verdict: Verdict = Verdict.WORSE,
    label: str = "add",
    **fields: Any,
) -> Difference:
    """A C++ case that changed, with that verdict."""
    before, after = (cpp(label, outcome=outcome) for outcome in (base, new))
    reason = Reason.EXACT_DIFFERENCE
    return Difference(key(label), before, after, verdict, reason, noise, **fields)


def comparison(*differences: Difference) -> Comparison:
    """A comparison of these cases."""
    return Comparison(side(title="base"), side(title="new"), (), MIN_EFFECT, differences)
