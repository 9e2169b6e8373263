"""From entries to ordinary definitions, on which run, compare, explain and gate work unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from core.api import GroupedBenchmark, GroupedSetup, GroupedStmts, Operator
from core.errors import DefinitionError
from core.types import Label
from instruction_counts.domain.errors import DataError
from instruction_counts.sources.operators import cpp_code, python_code
from instruction_counts.sources.operators.calls import Call, Overrides, calls
from instruction_counts.sources.operators.catalogue import Schema
from instruction_counts.sources.operators.entries import OperatorEntry

OUTPUT = "out"


def definitions(
    entries: Sequence[OperatorEntry],
    overrides: Overrides,
    schemas: Iterable[Schema],
    num_threads: tuple[int, ...] = (1,),
) -> dict[Label, GroupedBenchmark]:
    """The definitions of ``entries``, by their labels (see `label_of`).

    Raises:
        UsageError: an input is overridden that an entry has not.
        DataError: an entry gives code that no definition can hold.
    """
    made = (call for entry in entries for call in calls(entry, overrides))
    return definitions_of(made, schemas_by_name(schemas), num_threads)


def definitions_of(
    made: Iterable[Call],
    schemas: Mapping[str, Sequence[Schema]],
    num_threads: tuple[int, ...] = (1,),
) -> dict[Label, GroupedBenchmark]:
    """The definitions of calls, by their labels; ``schemas`` holds all overloads by name.

    Raises:
        DataError: a call gives code that no definition can hold.
    """
    return {label_of(call): _group(call, schemas, num_threads) for call in made}


def schemas_by_name(schemas: Iterable[Schema]) -> dict[str, list[Schema]]:
    """The overloads of each name."""
    found: dict[str, list[Schema]] = defaultdict(list)
    for schema in schemas:
        found[schema.name].append(schema)
    return found


def label_of(call: Call) -> Label:
    """``("reduction", "torch.sum", "typical")``, with the dtype where one was asked for."""
    parts = (call.entry.category, call.entry.name, call.variant, call.dtype)
    return tuple(part for part in parts if part)


def _group(
    call: Call, schemas: Mapping[str, Sequence[Schema]], num_threads: tuple[int, ...]
) -> GroupedBenchmark:
    entry = call.entry
    python = python_code.expression(call)
    cpp = cpp_code.expression(call, schemas)
    has_cpp = not isinstance(cpp, cpp_code.Underivable)
    output = None if entry.in_place else OUTPUT
    names = ", ".join(value.name for value in call.values)
    try:
        return GroupedStmts(
            f"{output} = {python}" if output else python,
            (f"auto {output} = {cpp};" if output else f"{cpp};") if has_cpp else None,
            GroupedSetup(
                python_code.setup(call), cpp_code.setup(call, str(cpp)) if has_cpp else ""
            ),
            signature=f"f({names}) -> {output}",
            torchscript=entry.torchscript,
            compiled=entry.compiled,
            autograd=call.differentiates,
            num_threads=num_threads,
            gradient="gradient" if call.differentiates else None,
            subject=_operator(call, cpp),
        )
    except DefinitionError as error:
        raise DataError(
            f"{entry.file}:{entry.line}: {entry.name}: {error}", "See docs/how-to/operators.md."
        ) from error


def _operator(call: Call, cpp: str | cpp_code.Underivable) -> Operator:
    return Operator(
        call.entry.name,
        call.entry.category,
        call.variant,
        call.shapes,
        call.main_dtype,
        call.seed,
        cpp.reason if isinstance(cpp, cpp_code.Underivable) else "",
    )
