"""Which operators are asked for, and the definitions and cases that they give."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import attrs

from instruction_counts.core.api import GroupedBenchmark, GroupedSetup, GroupedStmts, Operator
from instruction_counts.core.errors import DefinitionError, one_of, quoted
from instruction_counts.core.expand import materialize
from instruction_counts.core.labels import DEVICES
from instruction_counts.core.types import Case, Label, Language
from instruction_counts.domain.build import default_build
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.sources.inputs import parse_input
from instruction_counts.sources.operators import code
from instruction_counts.sources.operators.calls import Call, Overrides, calls, together
from instruction_counts.sources.operators.catalogue import Schemas, load_schemas
from instruction_counts.sources.operators.entries import (
    DTYPES,
    VARIANTS,
    OperatorEntry,
    Shape,
    read_operators,
)
from instruction_counts.system.cache import Cache

ALL = "all"
OUTPUT = "out"
_CATEGORY = "category:"
_NAMED = 3


@attrs.frozen
class OperatorSource:
    """Operators by pattern, with what is asked for in place of what their entries say.

    The schemas that the C++ is derived from are those of the torch beside this program, whatever
    builds are measured: the same definitions for all of them.
    """

    patterns: tuple[str, ...]
    """``torch.add``, ``add``, ``torch.fft.*``, ``category:reduction`` or ``*``."""
    overrides: Overrides = attrs.field(factory=Overrides)
    file: Path | None = None
    note: Callable[[str], None] = attrs.field(default=lambda _: None, eq=False, repr=False)
    """Receives which of these operators have none of the shapes that are asked for, or no C++."""

    def cases(self) -> tuple[Case, ...]:
        """The cases of these operators.

        Raises:
            DataError: the file holds mistakes.
            UsageError: a pattern selects nothing.
        """
        entries = selected(read_operators(self.file), self.patterns)
        schemas = load_schemas(default_build(), Cache())
        made = {entry.name: list(calls(entry, self.overrides)) for entry in entries}
        if without := [name for name, several in made.items() if not several]:
            self.note(f"skipped, without the requested shapes: {_names(without)}")
        if python_only := [*without_cpp(entries, schemas)]:
            self.note(f"skipped in C++: {_names(python_only)}; `operators list` says why")
        every = (call for several in made.values() for call in several)
        return materialize(definitions_of(every, schemas))


def operators(
    *patterns: str,
    shapes: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    inputs: Mapping[str, Sequence[Sequence[int]]] | None = None,
    seed: int = 0,
    devices: Sequence[str] = (),
    file: Path | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> OperatorSource:
    """Operators as definitions, for whatever takes these: ``measure(operators("torch.add"))``.

    Args:
        patterns: ``torch.add``, ``add``, ``torch.fft.*``, ``category:reduction`` or ``*``.
        shapes: which of the entries' shapes: ``small``, ``typical`` (what is usual), ``large``,
            ``skewed``, ``all``.
        dtypes: of the inputs for which an entry states none; each gives a case of its own.
        inputs: shapes by the name of an input, in place of ``shapes``; several of one input give
            several cases, and those of several inputs are paired up.
        seed: of the inputs' values.
        devices: ``cpu``, ``cuda``; each gives a case of its own.
        file: a file of operators; by default the one that comes with this program.
        note: receives which of these operators have none of the shapes that are asked for, or no
            C++.

    Raises:
        UsageError: a shape, a dtype or a device is not known, or shapes are given in both ways.
    """
    for kind, given, known in (
        ("shape", shapes, (*VARIANTS, ALL)),
        ("dtype", dtypes, DTYPES),
        ("device", devices, DEVICES),
    ):
        for name in given:
            if name not in known:
                raise UsageError(f"there is no {kind} {quoted(name)}", one_of(known, name))
    if shapes and inputs:
        raise UsageError(
            f"--input sets the shapes, so --shape {', '.join(shapes)} has no effect",
            "Drop one of the two.",
        )
    several = {name: tuple(map(tuple, sizes)) for name, sizes in (inputs or {}).items()}
    variants = VARIANTS if ALL in shapes else tuple(shapes) or ("typical",)
    overrides = Overrides(variants, tuple(dtypes), together(several), seed, tuple(devices))
    return OperatorSource(patterns, overrides, file, note)


def shapes_of(texts: Iterable[str]) -> dict[str, list[Shape]]:
    """The shapes of inputs that options state, by the names of the inputs.

    Raises:
        UsageError: one has another form than ``NAME=SIZES``.
    """
    inputs: dict[str, list[Shape]] = {}
    for text in texts:
        given = parse_input(text)
        if given.name is None or (given.model, given.dtype, given.high) != (None, None, None):
            raise UsageError(
                f"--input {quoted(text)} is not NAME=SIZES",
                "For example: input=32,3,256,256. --dtype sets the dtype.",
            )
        inputs.setdefault(given.name, []).append(given.shape)
    return inputs


def selected(
    entries: Sequence[OperatorEntry], patterns: Iterable[str]
) -> tuple[OperatorEntry, ...]:
    """The entries that any pattern selects.

    Raises:
        UsageError: a pattern selects nothing; the error names what is near.
    """
    for pattern in patterns:
        if not any(_matches(pattern, entry) for entry in entries):
            raise UsageError(
                f"No operator matches '{pattern}'.{_near(pattern, entries)}",
                "See:",
                "operators list",
            )
    return tuple(
        entry for entry in entries if any(_matches(pattern, entry) for pattern in patterns)
    )


def _matches(pattern: str, entry: OperatorEntry) -> bool:
    """Whether a pattern selects an entry; the last part of its name is enough."""
    asked, name = pattern.lower(), entry.name.lower()
    if asked.startswith(_CATEGORY):
        return fnmatchcase(entry.category, asked.removeprefix(_CATEGORY).strip())
    last = name.rpartition(".")[2]
    return fnmatchcase(name, asked) or ("." not in asked and fnmatchcase(last, asked))


def _near(pattern: str, entries: Sequence[OperatorEntry]) -> str:
    known = {entry.name.lower().rpartition(".")[2]: entry.name for entry in reversed(entries)}
    known |= {entry.name.lower(): entry.name for entry in entries}
    known |= {name: name for name in (f"{_CATEGORY}{entry.category}" for entry in entries)}
    near = difflib.get_close_matches(pattern.lower(), known, n=3)
    names = dict.fromkeys(known[text] for text in near)
    return f" Near: {', '.join(names)}." if names else ""


def without_cpp(entries: Iterable[OperatorEntry], schemas: Schemas) -> dict[str, str]:
    """Why operators have no C++ that do not say themselves that they have none, by name."""
    made = (
        (entry.name, code.cpp_expression(call, schemas)[1])
        for entry in entries
        if entry.cpp is None
        for call in calls(entry, Overrides(VARIANTS))
    )
    return {name: reason for name, reason in made if reason}


def _names(several: Sequence[str]) -> str:
    more = f" and {len(several) - _NAMED} more" if len(several) > _NAMED else ""
    return ", ".join(several[:_NAMED]) + more


# Definitions


def definitions_of(
    made: Iterable[Call], schemas: Schemas, num_threads: tuple[int, ...] = (1,)
) -> dict[Label, GroupedBenchmark]:
    """The definitions of calls, by labels such as ``("reduction", "torch.sum", "typical")``.

    The dtype and the device are the last parts of a label where they were asked for.

    Raises:
        DataError: a call gives code that no definition can hold.
    """
    groups = {}
    for call in made:
        device = call.devices[0] if len(call.devices) == 1 else ""  # of several each has its own
        parts = (call.entry.category, call.entry.name, call.variant, call.dtype, device)
        groups[tuple(filter(None, parts))] = _group(call, schemas, num_threads)
    return groups


def _group(call: Call, schemas: Schemas, num_threads: tuple[int, ...]) -> GroupedBenchmark:
    entry = call.entry
    output = None if entry.in_place else OUTPUT
    python = code.expression(call)
    cpp, no_cpp = code.cpp_expression(call, schemas)
    cpp_stmt = f"auto {output} = {cpp};" if output else f"{cpp};"
    cpp_setup = code.setup(call, Language.CPP, cpp) if cpp else ""
    names = ", ".join(value.name for value in call.values)
    try:
        return GroupedStmts(
            f"{output} = {python}" if output else python,
            cpp_stmt if cpp else None,
            GroupedSetup(code.setup(call, Language.PYTHON, python), cpp_setup),
            signature=f"f({names}) -> {output}",
            # A script does not know the variable that says where a tensor is made.
            torchscript=entry.torchscript and not (call.creates and call.devices),
            compiled=entry.compiled,
            exported=entry.exported,
            autograd=call.differentiates,
            num_threads=num_threads,
            device=call.devices or None,
            gradient="gradient" if call.differentiates else None,
            subject=Operator(
                *(entry.name, entry.category, call.variant),
                shapes=call.shapes,
                dtype=call.main_dtype,
                seed=call.seed,
                no_cpp=no_cpp,
            ),
        )
    except DefinitionError as error:
        raise DataError(
            f"{entry.file}:{entry.line}: {entry.name}: {error}", "See docs/how-to/operators.md."
        ) from error
