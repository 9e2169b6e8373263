"""Runs made from the types of their fields, so that none can be forgotten."""

import contextlib
import enum
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import attrs

from instruction_counts.core.facts import SUBJECTS
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.records import Record, Run
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store

_NOT_KEPT = {
    "Record.stored",  # where the details are now: every store reads them from a place of its own
    "Run.is_stored",  # whether the database has what the program has
}

_T = TypeVar("_T", bound=attrs.AttrsInstance)


_OF_TYPES = {str: "AAAAAAAAAAA=", int: 2, float: 0.5, Amounts: Amounts({"m": 2}), Any: ["x", None]}
"""The text is eight bytes in base64, and a position of 2 is the last of three values."""


def whole(kind: type[_T], **known: Any) -> _T:
    """A value that has something else than its default in every field, all the way down."""
    hints = get_type_hints(kind)
    for field in attrs.fields(kind):
        is_kept = f"{kind.__name__}.{field.name}" not in _NOT_KEPT
        assert is_kept == bool(field.eq), f"nobody would see that {field.name} is lost"
        if is_kept and field.alias not in known:
            known[field.alias] = value = _value(hints[field.name], field.default)
            assert value != field.default, f"{field.name} needs another value"
    return kind(**known)


def loaded(store: Store, run_id: int) -> Run:
    """A stored run with the details of its outcomes."""
    run = store.load(run_id)
    return attrs.evolve(run, cases=tuple(record.completed for record in run.cases))


def _value(hint: Any, default: Any = None) -> Any:
    origin, kinds = get_origin(hint), [part for part in get_args(hint) if part is not NoneType]
    if NoneType in get_args(hint):
        (hint,) = kinds
        return _value(hint, default)
    if origin is tuple:
        return (_value(kinds[0]),) * 3 if ... in kinds else tuple(map(_value, kinds))
    if origin in {dict, Mapping}:
        return {_value(kinds[0]): _value(kinds[1])}
    if attrs.has(hint):
        return whole(hint)
    if isinstance(hint, enum.EnumMeta):
        return list(hint)[-1]
    return {bool: default is not True, **_OF_TYPES}[hint]


WHOLE = whole(
    Run,
    cases=tuple(whole(Record, label=(name,), subject=whole(SUBJECTS[name])) for name in SUBJECTS),
)


def from_json(text: str, name: str) -> Run:
    """The run in a file of that name."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(name).write_text(text, encoding="utf-8")
        return read_json(Path(name))
