"""Exporters: a run as JSON, CSV or Markdown; and the way back from JSON.

JSON schema history: 1, the first; 2, with ``started_at``, the calls between functions and the
output; 3, with ``machine``, and ``metadata`` and ``resources`` of each case. ``schema.json`` beside
this module describes the newest; files of the older versions are read, too.
"""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import GenericAlias
from typing import Any

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.preconf.json import make_converter

from instruction_counts.errors import DataError, UsageError
from instruction_counts.files import write_atomically
from instruction_counts.measurements import (
    CallCost,
    Costs,
    FunctionCost,
    FunctionCosts,
    Outcome,
    Times,
    read_costs,
    read_seconds,
)
from instruction_counts.report import operators, table
from instruction_counts.results.records import Record, Run

SCHEMA_VERSION = 3
_READABLE = (1, 2, 3)
_GZIP = 16
"""Added to the size of zlib's window, it asks for gzip's format."""
_COLUMNS = ("exclusive", "inclusive", "function", "file", "library")
_CALL_COLUMNS = ("caller", "callee", "calls", "instructions")


def to_json(run: Run) -> str:
    """The whole run; `from_json` gives it back."""
    return "".join(_json_parts(run))


def from_json(text: str, name: str) -> Run:
    """A run from the text of a JSON file called ``name``.

    Raises:
        DataError: the text is no JSON, of another schema version, or does not fit the schema.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise DataError(f"{name} is not JSON: {error}", "Was it written by --output?") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if type(version) is not int or version not in _READABLE:
        older = ", ".join(map(str, _READABLE[:-1]))
        raise DataError(
            f"{name}: schema_version is {version!r}, "
            f"and this program reads {older} and {SCHEMA_VERSION}",
            "Use the version of instruction-counts that wrote the file, or measure again.",
        )
    try:
        fields = {key: value for key, value in data.items() if key != "schema_version"}
        return _CONVERTER.structure(fields, Run)
    except cattrs.BaseValidationError as error:
        problems = "\n  ".join(map(_as_stored, cattrs.transform_error(error, path="$")))
        raise DataError(f"{name} does not fit the schema:\n  {problems}") from error


def read_json(path: Path) -> Run:
    """The run in a JSON file, compressed (``.gz``) or not.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    return from_json(text, str(path))


def is_file_name(text: str) -> bool:
    """Whether ``text`` can only be a file of `read_json`: no stored run can be called so."""
    return "/" in text or text.endswith((".json", ".json.gz"))


def to_compressed_json(run: Run) -> bytes:
    """The same in a tenth of the space: most of it is the names of functions."""
    return b"".join(_compressed_parts(run))


def record_to_json(record: Record) -> str:
    """One case as the JSON object that stands in ``cases``."""
    data = _CONVERTER.unstructure(record)
    outcome = data.pop("outcome")
    return json.dumps({**data, **outcome})


def to_csv(run: Run) -> str:
    """One line for each case."""
    stream = io.StringIO()
    rows = [_csv_row(record) for record in run.cases]
    writer = csv.DictWriter(stream, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _csv_row(record: Record) -> dict[str, object]:
    outcome = record.outcome
    counted, times, failure = outcome.instructions, outcome.times, outcome.failure
    used = outcome.resources
    return {
        "label": "/".join(record.label),
        "language": record.language.value,
        "runtime": record.runtime.value,
        "autograd": record.autograd.value,
        "num_threads": record.num_threads,
        "build": record.build,
        "definition_hash": record.definition_hash,
        "status": outcome.status.value,
        "instructions": counted and counted.per_run,
        "exact": counted and counted.exact,
        "spread": counted and counted.spread,
        "allocations": counted and counted.allocations,
        "allocated_bytes": counted and counted.allocated_bytes,
        "median_s": times and times.median_s,
        "iqr_s": times and times.iqr_s,
        "error": failure and failure.summary,
        "tensor_bytes": used and used.allocated_bytes,
        "peak_bytes": used and used.peak_bytes,
        "flops": used and used.flops,
        "moved_bytes": used and used.moved_bytes,
        "metadata": json.dumps(record.metadata) if record.metadata else "",
    }


class Exporter:
    """Writes a growing run to a file, whole and atomically, in the format that its name asks for.

    ``option`` is what the user wrote before the name, for messages.

    Raises:
        UsageError: the name has no known suffix, or its folder does not exist.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.monotonic,
        option: str = "--output",
    ) -> None:
        self._named = f"{option} {path}".strip()
        endings = (end for end in _FORMATS if path.name.endswith(end) and path.name != end)
        name = next(endings, None)
        if name is None:
            known = ", ".join(_FORMATS)
            raise UsageError(f"{self._named}: unknown format", f"End the name in {known}.")
        if not path.parent.is_dir():
            raise UsageError(f"{self._named}: there is no folder {path.parent}", "Make it first.")
        self._path, self._clock = path, clock
        self._serialise = _FORMATS[name]
        self._next = clock()

    def update(self, run: Run, *, final: bool = False) -> None:
        """Write ``run``, which holds what it held before and perhaps more.

        A large file is not rewritten for each case: writing takes 5% of the time at most, and the
        last state is always written.
        """
        begin = self._clock()
        if final or begin >= self._next:
            self._write(self._serialise(run))
            end = self._clock()
            self._next = end + 20 * (end - begin)

    def _write(self, content: str | bytes | Iterable[str | bytes]) -> None:
        try:
            write_atomically(self._path, content)
        except OSError as error:
            raise UsageError(
                f"{self._named} cannot be written: {error.strerror}",
                "Name a file in a folder that you may write to.",
            ) from error


def _json_parts(run: Run) -> Iterator[str]:
    # A case at a time: with their costs per function, those of a large run need not fit in memory.
    head = _CONVERTER.unstructure(attrs.evolve(run, cases=()))
    del head["cases"]
    opening = json.dumps({"schema_version": SCHEMA_VERSION, **head}, indent=2).removesuffix("\n}")
    yield f'{opening},\n  "cases": [\n    '
    for place, record in enumerate(run.cases):
        yield (",\n    " if place else "") + record_to_json(record)
    yield "\n  ]\n}\n"


def _compressed_parts(run: Run) -> Iterator[bytes]:
    compressor = zlib.compressobj(wbits=zlib.MAX_WBITS | _GZIP)
    for part in _json_parts(run):
        yield compressor.compress(part.encode())
    yield compressor.flush()


def _as_stored(problem: str) -> str:
    # A file has the fields of an outcome beside those of its record, and calls a failure error.
    text, at, place = problem.rpartition(" @ ")
    for name, stored in ((".outcome", ""), (".failure", ".error"), ("._", ".")):
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
        converter.register_structure_hook(kind, _scalar)
    converter.register_structure_hook_factory(
        lambda kind: getattr(kind, "__origin__", None) is tuple,
        functools.partial(_list_hook, converter),
    )
    renamed: dict[str, Any] = {
        "failure": override(rename="error"),
        "_functions": override(
            rename="functions",
            unstruct_hook=_costs_to_json,
            struct_hook=lambda data, _: None if data is None else functions_from_json(data),
        ),
    }
    of_times = override(
        rename="values_s",
        unstruct_hook=lambda values: list(read_seconds(values)),
        struct_hook=lambda data, _: converter.structure(data, tuple[float, ...]),
    )
    converter.register_unstructure_hook(
        Times, make_dict_unstructure_fn(Times, converter, _values_s=of_times)
    )
    converter.register_structure_hook(
        Times,
        make_dict_structure_fn(
            Times, converter, _values_s=of_times, _cattrs_forbid_extra_keys=True
        ),
    )
    converter.register_unstructure_hook(
        Outcome, make_dict_unstructure_fn(Outcome, converter, **renamed)
    )
    converter.register_structure_hook(
        Outcome,
        make_dict_structure_fn(Outcome, converter, **renamed, _cattrs_forbid_extra_keys=True),
    )
    structure_record = make_dict_structure_fn(Record, converter, _cattrs_forbid_extra_keys=True)
    converter.register_structure_hook(
        Record, lambda data, kind: structure_record(_unflattened(data), kind)
    )
    return converter


def _scalar(value: Any, kind: type) -> Any:
    # cattrs would make 1 of "1", and True of "no".
    if type(value) is not kind and (kind, type(value)) != (float, int):
        raise ValueError(f"expected {kind.__name__}, found {value!r}")
    return kind(value)


def _list_hook(converter: cattrs.Converter, kind: Any) -> Callable[[Any, Any], tuple[Any, ...]]:
    as_list = GenericAlias(list, kind.__args__[:1])
    hook = converter.get_structure_hook(as_list)

    def structure(value: Any, _: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise TypeError(f"expected a list, found {value!r}")
        return tuple(hook(value, as_list))

    return structure


def functions_to_json(functions: FunctionCosts) -> dict[str, Any]:
    """Costs and calls as rows, with the names of the columns once."""
    return {
        "runs": functions.runs,
        "columns": list(_COLUMNS),
        "costs": [[getattr(cost, name) for name in _COLUMNS] for cost in functions.costs],
        "call_columns": list(_CALL_COLUMNS),
        "calls": [[getattr(call, name) for name in _CALL_COLUMNS] for call in functions.calls],
    }


def _costs_to_json(costs: Costs) -> dict[str, Any] | None:
    functions = read_costs(costs)
    return None if functions is None else functions_to_json(functions)


def functions_from_json(data: dict[str, Any]) -> FunctionCosts:
    """What `functions_to_json` gave."""
    costs = (FunctionCost(**dict(zip(_COLUMNS, row, strict=True))) for row in data["costs"])
    calls = (CallCost(*row) for row in data.get("calls", ()))
    return FunctionCosts(data["runs"], tuple(costs), tuple(calls))


def to_markdown(run: Run) -> str:
    """Tables for people: all cases, and the metrics of operators where there are any."""
    parts = (table.markdown(run), operators.markdown(run))
    return "\n".join(f"{part.rstrip()}\n" for part in parts if part)


_CONVERTER = _make_converter()
_FORMATS: dict[str, Callable[[Run], str | bytes | Iterable[str | bytes]]] = {
    ".json": _json_parts,
    ".json.gz": _compressed_parts,
    ".csv": to_csv,
    ".md": to_markdown,
}
