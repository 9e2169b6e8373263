"""Runs to the values that JSON knows, and back: each as ``schema.json`` describes it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import GenericAlias
from typing import Any

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.preconf.json import make_converter

from core.modes import mode_of
from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import (
    Failure,
    FunctionCosts,
    Instructions,
    Machine,
    Outcome,
    Output,
    TensorValue,
    Times,
    Window,
)
from instruction_counts.domain.records import Record, Run
from instruction_counts.storage import rules
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


def run_from_values(values: object) -> Run:
    """What `head_to_values` gave, with the ``cases`` of `record_to_values`.

    Raises:
        DataError: ``values`` do not fit the schema; it names the place of each problem.
    """
    try:
        return _CONVERTER.structure(values, Run)
    except cattrs.BaseValidationError as error:
        problems = cattrs.transform_error(error, path="$", format_exception=rules.reason)
        raise DataError("\n  ".join(map(_as_stored, problems))) from error


def _as_stored(problem: str) -> str:
    # A file has the fields of an outcome beside those of its record, and calls a failure error.
    text, at, place = problem.rpartition(" @ ")
    for name, stored in ((".outcome", ""), (".failure", ".error")):
        place = place.replace(name, stored)
    return text + at + place


def _unflattened(case: object) -> dict[str, Any]:
    if not isinstance(case, dict):
        raise TypeError(f"{case!r} is no case")
    names = {field.alias for field in attrs.fields(Outcome)} - {"failure"} | {"error"}
    outcome = {key: value for key, value in case.items() if key in names}
    rest = {key: value for key, value in case.items() if key not in names}
    return {**rest, "outcome": outcome}


def _make_converter() -> cattrs.Converter:
    converter = make_converter(forbid_extra_keys=True)
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, rules.scalar)
    converter.register_structure_hook_factory(
        lambda kind: getattr(kind, "__origin__", None) is tuple,
        functools.partial(_list_hook, converter),
    )
    for mode in (Language, RuntimeMode, AutogradMode):
        converter.register_structure_hook(mode, lambda option, kind: mode_of(kind, option))
        converter.register_unstructure_hook(mode, lambda mode: mode.option)
    converter.register_unstructure_hook(Amounts, dict)
    converter.register_structure_hook(Amounts, rules.amounts)
    for stored, fields in _fields(converter).items():
        _register(converter, stored, fields)
    return converter


def _fields(converter: cattrs.Converter) -> dict[type[attrs.AttrsInstance], dict[str, Any]]:
    """How the fields of each type are stored, where that is not as their types say.

    A type comes after those that it holds.
    """
    count, positive = (override(struct_hook=rules.whole(least)) for least in (0, 1))
    some = override(struct_hook=rules.filled(converter.structure))
    of_costs = override(
        unstruct_hook=_costs_to_json,
        struct_hook=lambda data, _: None if data is None else functions_from_json(data),
    )
    return {
        Fingerprint: {},
        Machine: {"copy_bytes_per_s": count, "matmul_flops_per_s": count},
        Window: {"runs": positive, "instructions": count},
        Instructions: {"windows": some},
        Times: {
            "median_s": override(struct_hook=rules.number(0, beyond=True)),
            "iqr_s": override(struct_hook=rules.number(0)),
            "median_bounds_s": override(struct_hook=rules.bounds),
            "values_s": some,
            "runs": positive,
        },
        TensorValue: {
            "shape": override(struct_hook=rules.counts),
            "nans": count,
            "sample": override(struct_hook=rules.doubles),
        },
        Output: {},
        Failure: {},
        Noise: {
            "server_spread": override(struct_hook=rules.number(0)),
            "layout_spread": override(struct_hook=rules.number(0)),
            "layouts": count,
        },
        Outcome: {
            "functions": of_costs,
            "failure": override(rename="error"),
            "duration_s": override(struct_hook=rules.number(0)),
            "attempts": positive,
        },
        Record: {
            "stored_in": override(omit=True),
            "label": some,
            "num_threads": positive,
            "definition_hash": override(
                struct_hook=rules.matching("[0-9a-f]{16}", "16 hexadecimal digits")
            ),
            "metadata": override(
                struct_hook=rules.json_object, unstruct_hook=lambda metadata: metadata
            ),
        },
        Run: {"engine": override(struct_hook=rules.matching(r"\S.*", "the name of an engine"))},
    }


def _register(
    converter: cattrs.Converter, kind: type[attrs.AttrsInstance], fields: dict[str, Any]
) -> None:
    with_default = [
        one
        for one in attrs.fields(kind)
        if one.default is not attrs.NOTHING and not getattr(fields.get(one.name), "omit", False)
    ]
    stored = [getattr(fields.get(one.name), "rename", None) or one.alias for one in with_default]
    write = make_dict_unstructure_fn(kind, converter, **fields)
    read = make_dict_structure_fn(kind, converter, **fields, _cattrs_forbid_extra_keys=True)
    hook = rules.complete(kind, stored, read)
    converter.register_unstructure_hook(kind, write)
    if kind is Record:
        converter.register_structure_hook(kind, lambda data, _: hook(_unflattened(data), kind))
    else:
        converter.register_structure_hook(kind, hook)


def _list_hook(converter: cattrs.Converter, kind: Any) -> Callable[[Any, Any], tuple[Any, ...]]:
    as_list = GenericAlias(list, kind.__args__[:1])
    hook = converter.get_structure_hook(as_list)

    def structure(value: Any, _: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError(f"expected a list, found {value!r}")
        return tuple(hook(value, as_list))

    return structure


def _costs_to_json(functions: FunctionCosts | None) -> dict[str, Any] | None:
    return None if functions is None else functions_to_json(functions)


_CONVERTER = _make_converter()
