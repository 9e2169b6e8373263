"""From entries to ordinary definitions, on which run, compare, explain and gate work unchanged."""

from __future__ import annotations

from collections.abc import Iterable

from instruction_counts.core.api import GroupedBenchmark, GroupedSetup, GroupedStmts, Operator
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.types import Label
from instruction_counts.domain.errors import DataError
from instruction_counts.sources.operators import cpp_code, python_code
from instruction_counts.sources.operators.calls import Call, Overrides, calls
from instruction_counts.sources.operators.catalogue import Schemas
from instruction_counts.sources.operators.entries import OperatorEntry

OUTPUT = "out"


def definitions(
    entries: Iterable[OperatorEntry], overrides: Overrides, schemas: Schemas
) -> dict[Label, GroupedBenchmark]:
    """The definitions of ``entries``, by their labels.

    Raises:
        UsageError: an input is overridden that an entry has not.
        DataError: an entry gives code that no definition can hold.
    """
    made = (call for entry in entries for call in calls(entry, overrides))
    return definitions_of(made, schemas)


def definitions_of(
    made: Iterable[Call], schemas: Schemas, num_threads: tuple[int, ...] = (1,)
) -> dict[Label, GroupedBenchmark]:
    """The definitions of calls, by labels such as ``("reduction", "torch.sum", "typical")``.

    The dtype is the last part of a label where one was asked for.

    Raises:
        DataError: a call gives code that no definition can hold.
    """
    groups = {}
    for call in made:
        parts = (call.entry.category, call.entry.name, call.variant, call.dtype)
        groups[tuple(filter(None, parts))] = _group(call, schemas, num_threads)
    return groups


def _group(call: Call, schemas: Schemas, num_threads: tuple[int, ...]) -> GroupedBenchmark:
    entry = call.entry
    output = None if entry.in_place else OUTPUT
    python, cpp = python_code.expression(call), cpp_code.expression(call, schemas)
    cpp_stmt, cpp_setup, no_cpp = None, "", ""
    if isinstance(cpp, str):
        cpp_stmt = f"auto {output} = {cpp};" if output else f"{cpp};"
        cpp_setup = cpp_code.setup(call, cpp)
    else:
        no_cpp = cpp.reason
    names = ", ".join(value.name for value in call.values)
    try:
        return GroupedStmts(
            f"{output} = {python}" if output else python,
            cpp_stmt,
            GroupedSetup(python_code.setup(call), cpp_setup),
            signature=f"f({names}) -> {output}",
            torchscript=entry.torchscript,
            compiled=entry.compiled,
            autograd=call.differentiates,
            num_threads=num_threads,
            gradient="gradient" if call.differentiates else None,
            subject=Operator(
                *(
                    entry.name,
                    entry.category,
                    call.variant,
                    call.shapes,
                    call.main_dtype,
                    call.seed,
                ),
                no_cpp=no_cpp,
            ),
        )
    except DefinitionError as error:
        raise DataError(
            f"{entry.file}:{entry.line}: {entry.name}: {error}", "See docs/how-to/operators.md."
        ) from error
