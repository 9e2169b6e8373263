"""From the entries of a specification to ordinary definitions, each shape a group of its own."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from instruction_counts.core.api import ExpectedTensor, GroupedBenchmark, GroupedSetup, GroupedStmts
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.runtimes.torchscript import CPP_INCLUDES
from instruction_counts.core.types import Label, Language
from instruction_counts.domain.build import default_build
from instruction_counts.domain.errors import UsageError, ValidationError
from instruction_counts.reading.nodes import Node, Problems
from instruction_counts.sources.operators import calls, catalogue, values
from instruction_counts.sources.operators.definitions import definitions_of
from instruction_counts.sources.operators.entries import OperatorEntry, Tensor
from instruction_counts.sources.operators.reading import read_operators
from instruction_counts.sources.operators.source import selected, standard_file
from instruction_counts.sources.specification.placeholders import Expansion, PlaceholderError
from instruction_counts.sources.specification.values import Entry, Input, Model, code_of
from instruction_counts.system.cache import Cache
from instruction_counts.system.program import program_name

T = TypeVar("T")
_LONGEST_SIZE = 19  # digits of the largest size that a tensor can have
_TOLERANCE = 1e-6
Groups = Iterator[tuple[Expansion, GroupedBenchmark]]


@attrs.frozen
class PlacedEntry:
    """An entry, and where it stands."""

    node: Node
    entry: Entry

    def at(self, *steps: str) -> Node:
        """Where a field stands, or the entry where it is not stated."""
        return self.node.below(steps)

    def replaced(self, field: str, replace: Callable[[str], T], text: str) -> T:
        """``text``, from a field, with its placeholders replaced."""
        try:
            return replace(text)
        except PlaceholderError as error:
            raise self.at(field).unlike(error.expected, error.found) from None


def expanded(
    entries: Sequence[PlacedEntry], name: str, seed: int, problems: Problems
) -> dict[Label, GroupedBenchmark]:
    """The definitions that ``entries`` give, by their labels; what is wrong is noted.

    ``name`` is the first part of labels that are not stated.
    """
    found: dict[Label, GroupedBenchmark] = {}
    for placed in entries:
        entry = placed.entry
        groups = _operators if entry.operator is not None else _statements
        listed = problems.attempt(_listed, groups(placed, seed), otherwise=[])
        usual = f"{name}/{entry.id}"
        suffixes = _suffixes([expansion for expansion, _ in listed])
        for (expansion, group), suffix in zip(listed, suffixes, strict=True):
            label = problems.attempt(_label, placed, expansion, usual + suffix)
            if label in found:
                expected = "a unique label; {ID} distinguishes shapes and dtypes"
                problems.note(placed.at("label"), expected, "/".join(label))
                break
            if label is None:
                break
            found[label] = group
    return found


def _suffixes(expansions: Sequence[Expansion]) -> list[str]:
    """What tells these apart in labels that are not stated: the first shapes, or numbers."""
    if len(expansions) == 1:
        return [""]
    if all(expansion.shapes for expansion in expansions):
        shapes = [expansion.in_label("/{shape}") for expansion in expansions]
        if len(set(shapes)) == len(shapes):
            return shapes
    return [expansion.in_label("/{ID}") for expansion in expansions]


def _listed(groups: Groups) -> list[tuple[Expansion, GroupedBenchmark]]:
    return list(groups)


def _label(placed: PlacedEntry, expansion: Expansion, usual: str) -> Label:
    stated = placed.entry.label
    whole = placed.replaced("label", expansion.in_label, stated) if stated else usual
    parts = tuple(part.strip() for part in whole.split("/") if part.strip())
    if not parts:
        raise placed.at("label").unlike("a label", "nothing")
    return parts


# Statements and models


def _statements(placed: PlacedEntry, seed: int) -> Groups:
    for expansion in _expansions(placed.entry.inputs):
        yield expansion, _group(placed, expansion, seed)


def _expansions(inputs: Mapping[str, Input]) -> Iterator[Expansion]:
    """Each shape with each dtype; shapes of several inputs go together one by one."""
    shapes = max((len(tensor.shapes) for tensor in inputs.values()), default=1)
    dtypes = max((len(tensor.dtypes) for tensor in inputs.values()), default=1)
    number = 0
    for place in range(shapes):
        for kind in range(dtypes):
            number += 1
            yield Expansion(
                number,
                {name: each.shapes[place % len(each.shapes)] for name, each in inputs.items()},
                {name: each.dtypes[kind % len(each.dtypes)] for name, each in inputs.items()},
            )


def _group(placed: PlacedEntry, expansion: Expansion, seed: int) -> GroupedBenchmark:
    entry = placed.entry

    def code(field: str, text: str | None) -> str | None:
        return text and placed.replaced(field, expansion.in_code, text)

    codes = dict(zip((Language.PYTHON, Language.CPP), code_of(entry.setup), strict=True))
    setups = {
        language: _joined(
            _drawn(entry.inputs, expansion, seed, language), code("setup", codes[language])
        )
        for language in Language
    }
    python, cpp = (code("statement", stated) for stated in code_of(entry.statement))
    global_setup, signature = code("global_setup", entry.global_setup), entry.signature
    paths: Mapping[str, str] = {}
    if entry.model is not None:
        paths = {str(entry.model.path.absolute()): f"sha256 {entry.model.sha256.lower()}"}
        names = [*entry.inputs]
        python, cpp = f"y = model({', '.join(names)})", _cpp_call(names)
        loaded = _loaded(entry.model, names)
        setups = {language: _joined(setups[language], loaded[language]) for language in Language}
        global_setup = _joined(CPP_INCLUDES, global_setup)
        signature = signature or f"f({', '.join(names)}) -> y"
    try:
        return GroupedStmts(
            python,
            cpp,
            GroupedSetup(setups[Language.PYTHON], setups[Language.CPP], global_setup or "", paths),
            signature=signature,
            torchscript=entry.torchscript,
            compiled=entry.compiled,
            autograd=entry.autograd,
            num_threads=entry.num_threads,
            gradient=entry.gradient,
            metadata=_metadata(entry, expansion),
            expected=_expected(placed, expansion),
        )
    except DefinitionError as error:
        names_of = {"py_stmt": "statement", "cpp_stmt": "statement"}
        node = placed.at(names_of.get(error.field, error.field))
        raise node.unlike(error.expected, error.found) from None


def _joined(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


def _drawn(inputs: Mapping[str, Input], expansion: Expansion, seed: int, language: Language) -> str:
    if not inputs:
        return ""
    is_cpp = language is Language.CPP
    lines = [f"torch::manual_seed({seed});" if is_cpp else f"torch.manual_seed({seed})"]
    for name, tensor in inputs.items():
        shape, dtype = expansion.shapes[name], expansion.dtypes[name]
        value = calls.Value(name, shape, dtype, tensor.distribution, tensor.requires_grad)
        lines.append(values.drawn(value, language))
    return "\n".join(lines)


def _cpp_call(names: Sequence[str]) -> str:
    return (
        f"std::vector<torch::jit::IValue> model_inputs{{{', '.join(names)}}};\n"
        "auto y = model.forward(model_inputs).toTensor();"
    )


def _loaded(model: Model, names: Sequence[str]) -> dict[Language, str]:
    # The checksum is part of the code, and so of the definition: another file is another case, and
    # the same one elsewhere is none. The profiling executor specialises during the first calls.
    path = json.dumps(str(model.path.absolute()), ensure_ascii=False)
    checksum = f"sha256 {model.sha256.lower()}"
    return {
        Language.PYTHON: (
            f"model = torch.jit.load({path})  # {checksum}\n"
            f"for _ in range(3):\n    model({', '.join(names)})"
        ),
        Language.CPP: (
            f"auto model = torch::jit::load({path});  // {checksum}\n"
            "for (int warm_up_call = 0; warm_up_call < 3; warm_up_call++) {\n"
            f"    model.forward({{{', '.join(names)}}});\n}}"
        ),
    }


def _metadata(entry: Entry, expansion: Expansion) -> dict[str, object]:
    return {
        "id": entry.id,
        "shapes": {name: list(shape) for name, shape in expansion.shapes.items()},
        "dtypes": dict(expansion.dtypes),
    }


def _expected(placed: PlacedEntry, expansion: Expansion) -> tuple[ExpectedTensor, ...]:
    return tuple(
        ExpectedTensor(
            name,
            None
            if stated.shape is None
            else tuple(_size(size, expansion, placed) for size in stated.shape),
            stated.dtype,
            stated.sum,
            _TOLERANCE if stated.tolerance is None else stated.tolerance,
        )
        for name, stated in placed.entry.expected.items()
    )


def _size(size: int | str, expansion: Expansion, placed: PlacedEntry) -> int:
    if isinstance(size, int):
        return size
    text = placed.replaced("expected", expansion.in_code, size)
    if not text.isdecimal() or len(text) > _LONGEST_SIZE:
        expected = "a size, or a placeholder such as {x.shape[0]}"
        raise placed.at("expected").unlike(expected, f'"{size}"')
    return int(text)


# Operators


def _operators(placed: PlacedEntry, seed: int) -> Groups:
    entry = placed.entry
    assert entry.operator is not None, "asked for an operator"
    number = 0
    try:
        for operator in selected(read_operators(standard_file()), [entry.operator]):
            for shapes_and_dtypes in _expansions(entry.inputs):
                for call in _calls(placed, operator, shapes_and_dtypes, seed):
                    number += 1
                    yield _called(placed, call, number)
    except ValidationError:
        raise
    except UsageError as error:
        remedy = error.text(program_name()).removeprefix(error.message).strip()
        raise placed.at("operator").unlike(remedy, error.message) from None


def _calls(
    placed: PlacedEntry, operator: OperatorEntry, expansion: Expansion, seed: int
) -> Iterator[calls.Call]:
    inputs = placed.entry.inputs
    stated = {name: _changes(placed, name, expansion) for name in inputs}
    tensors = {
        # What is no tensor cannot be changed, and is refused with the shapes.
        name: attrs.evolve(tensor, **stated.get(name, {})) if isinstance(tensor, Tensor) else tensor
        for name, tensor in operator.inputs.items()
    }
    shapes = (expansion.shapes,) if inputs else ()
    overrides = calls.Overrides(inputs=shapes, seed=seed)
    for call in calls.calls(attrs.evolve(operator, inputs=tensors), overrides):
        for value in call.values:
            if stated.get(value.name, {}).get("requires_grad") and not value.requires_grad:
                is_of = f"{value.name} is {value.dtype}"
                why = f"{operator.name} works in place" if operator.in_place else is_of
                node = placed.at("inputs", value.name, "requires_grad")
                raise node.unlike("false: there is no gradient", f"true, and {why}")
        kind = next((str(attributes.get("dtype", "")) for attributes in stated.values()), "")
        yield attrs.evolve(call, dtype=kind)


def _changes(placed: PlacedEntry, name: str, expansion: Expansion) -> dict[str, Any]:
    """What an input states; all else is as the operator's entry has it."""
    tensor = placed.entry.inputs[name]
    changes = {
        "dtype": expansion.dtypes[name],
        "distribution": tensor.distribution,
        "requires_grad": tensor.requires_grad,
    }
    stated = placed.at("inputs", name).value
    return {field: value for field, value in changes.items() if field in stated}


def _called(
    placed: PlacedEntry, call: calls.Call, number: int
) -> tuple[Expansion, GroupedBenchmark]:
    entry = placed.entry
    (group,) = definitions_of([call], _schemas(), entry.num_threads).values()
    expansion = Expansion(
        number,
        {value.name: value.shape for value in call.values},
        {value.name: value.dtype for value in call.values},
    )
    metadata, expected = _metadata(entry, expansion), _expected(placed, expansion)
    return expansion, attrs.evolve(group, metadata=metadata, expected=expected)


@functools.cache
def _schemas() -> catalogue.Schemas:
    # Asking the build for them takes a process, where they are not in the cache.
    return catalogue.load_schemas(default_build(), Cache())
