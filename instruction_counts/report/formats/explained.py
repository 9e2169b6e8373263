"""Explanations as JSON, with everything that is known. Amounts are those of one iteration.

Format history: 1, the first.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import attrs

from instruction_counts.analysis.attribution.causes import inlinings, top_causes
from instruction_counts.analysis.attribution.executed_changes import executed_on_both
from instruction_counts.analysis.attribution.function_changes import (
    CallerChange,
    FunctionChange,
    Share,
)
from instruction_counts.analysis.verdicts.sides import Side, disagreements
from instruction_counts.domain.executed import Executed
from instruction_counts.domain.records import Record
from instruction_counts.gate.checks import changed_files
from instruction_counts.report.breakdown import Breakdown
from instruction_counts.report.causes import texts
from instruction_counts.report.explain import Report

FORMAT_VERSION = 1


def explanation(report: Report) -> str:
    """All functions and calls, those that did not change, too."""
    found = report.explanation
    difference = found.difference
    document = {
        "explain_version": FORMAT_VERSION,
        **found.key.as_values,
        "base": _explained_side(found.base, found.records[0]),
        "new": _explained_side(found.new, found.records[1]),
        "change": found.change,
        "same_definition": found.same_definition,
        "disagreements": [
            {"name": disagreement.name, "base": disagreement.base, "new": disagreement.new}
            for disagreement in disagreements(found.base, found.new)
        ],
        "causes": list(texts(top_causes(difference))),
        "executed": _executed_on_both(*found.executed),
        "sources": report.sources and [attrs.asdict(source) for source in report.sources],
        "layers": [_share(share) for share in difference.by_layer()],
        "libraries": [_share(share) for share in difference.by_library()],
        "functions": [_function(function) for function in difference.functions],
        "calls": [_call(call) for call in difference.calls],
        "moves": [
            {
                "caller": move.caller.name,
                "functions": [key.name for key in move.functions],
                "inlined": move.inlined,
                "change": _number(move.delta),
            }
            for move in inlinings(difference)
        ],
    }
    return _text(document)


def breakdown(report: Breakdown) -> str:
    """All that a case executes and spends on one side."""
    spent = report.spent
    document = {
        "explain_version": FORMAT_VERSION,
        **report.key.as_values,
        "side": _explained_side(report.side, report.side.records[report.key]),
        "executed": _executed(report.executed),
        **{
            name: [{"name": share.title, "instructions": _number(share.new)} for share in shares]
            for name, shares in (("layers", spent.by_layer()), ("libraries", spent.by_library()))
        },
        "functions": [
            {
                "function": function.key.name,
                "library": function.key.library,
                "layer": function.key.layer.value,
                "instructions": _number(function.new),
                "calls": _number(function.new_calls),
            }
            for function in spent.functions
        ],
        "calls": [
            {
                **_names(call),
                "instructions": _number(call.new),
                "calls": _number(call.new_calls),
            }
            for call in spent.calls
        ],
    }
    return _text(document)


def _executed(executed: Executed | None) -> dict[str, Any] | None:
    if executed is None:
        return None
    functions = executed.functions
    return {
        **_executed_totals(executed),
        "functions": None
        if functions is None
        else [attrs.asdict(function) for function in functions],
        "operators": [attrs.asdict(operator) for operator in executed.operators],
    }


def _executed_on_both(base: Executed | None, new: Executed | None) -> dict[str, Any]:
    """Totals of a side as far as known; rows where both are, of functions if Python is the same."""
    sides = {
        name: None if side is None else _executed_totals(side)
        for name, side in (("base", base), ("new", new))
    }
    if base is None or new is None:
        return {**sides, "functions": None, "operators": None}
    found = executed_on_both(base, new)
    are_comparable = base.bytecodes is not None and base.python == new.python
    functions = [{**attrs.asdict(change), "change": change.delta} for change in found.functions]
    return {
        **sides,
        "functions": functions if are_comparable else None,
        "operators": [
            {**attrs.asdict(change), "change": change.delta} for change in found.operators
        ],
    }


def _executed_totals(executed: Executed) -> dict[str, Any]:
    return {
        "python": executed.python,
        "bytecodes": executed.bytecodes,
        "operator_calls": executed.operator_calls,
    }


def _explained_side(side: Side, record: Record) -> dict[str, Any]:
    count = record.outcome.instructions
    return {
        "title": side.title,
        "engine": side.engine,
        "torch": side.fingerprint.torch,
        "changed_files": changed_files(side),
        "instructions": count and count.per_run,
        "exact": count and count.exact,
        "spread": count and count.spread,
        "metrics": dict(record.outcome.metrics),
    }


def _share(share: Share) -> dict[str, Any]:
    numbers = {
        "base": _number(share.base),
        "new": _number(share.new),
        "change": _number(share.delta),
    }
    return {"name": share.title, **numbers}


def _function(function_change: FunctionChange) -> dict[str, Any]:
    return {
        "function": function_change.key.name,
        "library": function_change.key.library,
        "layer": function_change.key.layer.value,
        "was": function_change.was,
        "kind": function_change.kind.value,
        "base": _number(function_change.base),
        "new": _number(function_change.new),
        "change": _number(function_change.delta),
        "base_calls": _number(function_change.base_calls),
        "new_calls": _number(function_change.new_calls),
    }


def _call(caller_change: CallerChange) -> dict[str, Any]:
    return {
        **_names(caller_change),
        "base": _number(caller_change.base),
        "new": _number(caller_change.new),
        "base_calls": _number(caller_change.base_calls),
        "new_calls": _number(caller_change.new_calls),
    }


def _names(caller_change: CallerChange) -> dict[str, Any]:
    return {
        "caller": caller_change.caller.name,
        "caller_library": caller_change.caller.library,
        "callee": caller_change.callee.name,
        "callee_library": caller_change.callee.library,
    }


def _number(amount: Fraction | None) -> int | float | None:
    if amount is None:
        return None
    return amount.numerator if amount.denominator == 1 else float(amount)


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
