"""Runs to the values that JSON knows, and back: each as ``schema.json`` describes it."""

from __future__ import annotations

from typing import Any

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.preconf.json import make_converter

from core.facts import SUBJECTS, ExpectedTensor, Subject, expected_values, subject_values
from core.labels import mode_of
from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.errors import ValidationError
from instruction_counts.domain.executed import Executed
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import Details, FunctionCosts, Outcome
from instruction_counts.domain.records import Record, Run
from instruction_counts.storage import cross_checks, schema
from instruction_counts.storage.executed_rows import executed_from_json, executed_to_json
from instruction_counts.storage.function_rows import functions_from_json, functions_to_json


def head_to_values(run: Run) -> dict[str, Any]:
    """All of ``run`` but its cases, of which there may be too many to hold them at once."""
    head: dict[str, Any] = _CONVERTER.unstructure(attrs.evolve(run, cases=()))
    del head["cases"]
    return head


def record_to_values(record: Record) -> dict[str, Any]:
    """One case, with its outcome beside all else."""
    data: dict[str, Any] = _CONVERTER.unstructure(record)
    outcome = data.pop("outcome")
    return {**data, **outcome}


def run_from_values(values: object, name: str) -> Run:
    """What `head_to_values` gave, with the ``cases`` of `record_to_values`, of a file of that name.

    Raises:
        ValidationError: ``values`` do not fit the schema, or are impossible; it names the place of
            each problem.
    """
    found = schema.problems(values, name)
    if not found:
        assert isinstance(values, dict), "it fits the schema"
        found = cross_checks.problems(values, name)
    if found:
        raise ValidationError(
            found,
            "Was it edited? Restore it, or measure again; only JSON files that --output or "
            "`runs export` wrote can be read.",
        )
    return _CONVERTER.structure(values, Run)


def subject_from_values(values: Any) -> Subject | None:
    """What `core.facts.subject_values` gave."""
    if values is None:
        return None
    kind: Any = SUBJECTS[values["kind"]]
    subject: Subject = _CONVERTER.structure(values, kind)
    return subject


def expected_from_values(values: Any) -> tuple[ExpectedTensor, ...]:
    """What `core.facts.expected_values` gave."""
    return _CONVERTER.structure(values, tuple[ExpectedTensor, ...])


def details_to_values(details: Details) -> dict[str, Any]:
    """What is large in an outcome, each part as in a file."""
    values: dict[str, Any] = _CONVERTER.unstructure(details)
    return values


def details_from_values(values: Any) -> Details:
    """What `details_to_values` gave."""
    return _CONVERTER.structure(values, Details)


_OF_OUTCOME = {field.alias for field in attrs.fields(Outcome)} - {"failure"} | {"error"}


def _unflattened(case: dict[str, Any]) -> dict[str, Any]:
    # A file has the fields of an outcome beside those of its record, and calls a failure error.
    outcome = {key: value for key, value in case.items() if key in _OF_OUTCOME}
    rest = {key: value for key, value in case.items() if key not in _OF_OUTCOME}
    return {**rest, "outcome": outcome}


def _with_digests(outcome: Outcome) -> Outcome:
    executed = outcome.executed
    return outcome if executed is None else attrs.evolve(outcome, executed_digests=executed.digests)


def _make_converter() -> cattrs.Converter:
    # The schema was asked first: nothing is checked again.
    converter = make_converter(detailed_validation=False)
    for mode in (Language, RuntimeMode, AutogradMode):
        converter.register_structure_hook(mode, lambda option, kind: mode_of(kind, option))
        converter.register_unstructure_hook(mode, lambda mode: mode.option)
    converter.register_structure_hook(Amounts, lambda numbers, _: Amounts(numbers))
    converter.register_unstructure_hook(Amounts, dict)
    converter.register_structure_hook(FunctionCosts, lambda data, _: functions_from_json(data))
    converter.register_unstructure_hook(FunctionCosts, functions_to_json)
    converter.register_structure_hook(Executed, lambda data, _: executed_from_json(data))
    converter.register_unstructure_hook(Executed, executed_to_json)
    omitted = override(omit=True)
    _register(converter, Outcome, failure=override(rename="error"), executed_digests=omitted)
    read_outcome = converter.get_structure_hook(Outcome)
    converter.register_structure_hook(
        Outcome, lambda data, kind: _with_digests(read_outcome(data, kind))
    )
    _register(converter, Run, is_stored=omitted)
    _register(
        converter,
        Record,
        stored_in=override(omit=True),
        metadata=override(unstruct_hook=lambda metadata: metadata),
        subject=override(
            unstruct_hook=subject_values, struct_hook=lambda values, _: subject_from_values(values)
        ),
        expected=override(unstruct_hook=expected_values),
    )
    read_record = converter.get_structure_hook(Record)
    converter.register_structure_hook(
        Record, lambda case, kind: read_record(_unflattened(case), kind)
    )
    return converter


def _register(converter: cattrs.Converter, kind: type[attrs.AttrsInstance], **fields: Any) -> None:
    write = make_dict_unstructure_fn(kind, converter, **fields)
    read = make_dict_structure_fn(kind, converter, _cattrs_detailed_validation=False, **fields)
    converter.register_unstructure_hook(kind, write)
    converter.register_structure_hook(kind, read)


_CONVERTER = _make_converter()
