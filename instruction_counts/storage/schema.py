"""What a result file has to be: ``schema.json`` says it, and jsonschema checks it."""

from __future__ import annotations

import functools
import itertools
import json
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import quoted
from instruction_counts.domain.errors import Problem
from instruction_counts.reading.nodes import one_of, path_to

_MOST_PROBLEMS = 100
"""A large file that is wrong everywhere would take minutes."""

_TYPES: Mapping[str, tuple[str, set[type]]] = {
    "null": ("null", {type(None)}),
    "boolean": ("true or false", {bool}),
    "integer": ("a whole number", {int}),
    "number": ("a number", {int, float}),
    "string": ("a string", {str}),
    "array": ("a list", {list}),
    "object": ("an object", {dict}),
}
_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "minItems": "of a length of at least",
    "maxItems": "of a length of at most",
}


def problems(document: object, name: str) -> list[Problem]:
    """What in the ``document`` of a file called ``name`` does not fit the schema."""
    found = itertools.islice(_validator().iter_errors(document), _MOST_PROBLEMS)
    return [problem for error in found for problem in _problems(error, name)]


def problem_at(
    name: str, steps: Sequence[str | int], value: object, expected: str, found: str = ""
) -> Problem:
    """That another ``value`` is expected where ``steps`` lead to."""
    shown = quoted(value) if isinstance(value, str) else reprlib.repr(value)
    return Problem(name, 0, 0, path_to(steps), found or shown, expected)


def _problems(error: Any, name: str) -> Iterator[Problem]:
    steps, value, schema = tuple(error.absolute_path), error.instance, error.schema
    known = schema.get("properties", {})
    if error.validator == "required":
        for field in error.validator_value:
            if field not in value:
                yield problem_at(name, (*steps, field), None, _expected(known[field]), "nothing")
    elif error.validator == "additionalProperties":
        for field in value.keys() - known.keys():
            expected = one_of(known, field)
            yield problem_at(name, (*steps, field), None, expected, f'a field "{field}"')
    else:
        yield problem_at(name, steps, value, _expected(schema, error.validator, value))


def _expected(schema: Mapping[str, Any], keyword: str = "type", value: object = None) -> str:
    """What a schema says in words, as far as ``keyword`` matters."""
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return one_of(schema["enum"], value)
    what = " or ".join(_TYPES[name][0] for name in _types(schema))
    if keyword in _BOUNDS:
        return f"{what}, {_BOUNDS[keyword]} {schema[keyword]:g}"
    if keyword in {"pattern", "maxLength"}:
        return f"{what}: {schema['description'].removesuffix('.')}"
    if "prefixItems" in schema:
        cells = ", ".join(_expected(cell) for cell in schema["prefixItems"])
        return f"{what} of {len(schema['prefixItems'])}: {cells}"
    return what


def _types(schema: Mapping[str, Any]) -> Sequence[str]:
    names = schema["type"]
    return [names] if isinstance(names, str) else names


@functools.cache
def _validator() -> Any:
    import jsonschema  # noqa: PLC0415 - it takes long to import, and is seldom needed

    plain = jsonschema.Draft202012Validator
    check_items = plain.VALIDATORS["items"]

    def items(validator: Any, schema: Any, values: Any, around: Any) -> Iterator[Any]:
        if not (isinstance(values, list) and _all_fit(schema, values)):
            yield from check_items(validator, schema, values, around)

    # By JSON Schema 1.0 is an integer, too; here it is a sign of another writer.
    strict = plain.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    extend: Any = jsonschema.validators.extend
    kind = extend(plain, {"items": items}, type_checker=strict)
    text = Path(__file__).with_name("schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    return kind(_inlined(schema, schema["$defs"]))


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """The schema with its definitions in their places: looking each up takes half of the time."""
    if isinstance(schema, list):
        return [_inlined(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    whole = {**definitions.get(schema.get("$ref", "").rpartition("/")[2], {}), **schema}
    return {
        key: _inlined(value, definitions)
        for key, value in whole.items()
        if key not in {"$ref", "$defs"}
    }


_PLAIN = {"type", "description", "minimum", "maximum"}
_ROW = {"type", "description", "prefixItems", "items", "minItems"}


def _all_fit(schema: Any, values: Sequence[Any]) -> bool:
    """Whether all of ``values`` fit a simple schema; False where jsonschema has to find out.

    A file has hundreds of rows for each case: jsonschema alone would take a minute for a large one.
    """
    if not (isinstance(schema, dict) and values and schema.keys() <= _PLAIN | _ROW):
        return not values
    kinds = set(map(type, values))
    if not kinds <= {kind for name in _types(schema) for kind in _TYPES[name][1]}:
        return False
    if schema.keys() <= _PLAIN:
        least, most = schema.get("minimum"), schema.get("maximum")
        has_bounds = least is not None or most is not None
        return not has_bounds or (
            type(None) not in kinds
            and (least is None or min(values) >= least)
            and (most is None or max(values) <= most)
        )
    cells = schema.get("prefixItems", ())
    is_table = schema.get("items") is False and schema.get("minItems") == len(cells)
    return (
        is_table
        and set(map(len, values)) == {len(cells)}
        and all(map(_all_fit, cells, zip(*values, strict=True)))
    )
