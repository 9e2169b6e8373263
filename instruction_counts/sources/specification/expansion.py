"""From the entries of a specification to ordinary definitions, each shape a group of its own."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import attrs

from core.api import ExpectedTensor, GroupedBenchmark, GroupedSetup, GroupedStmts
from core.errors import DefinitionError
from core.runtimes.torchscript import CPP_INCLUDES
from core.types import Label, Language
from instruction_counts.domain.build import default_build
from instruction_counts.domain.errors import UsageError, ValidationError
from instruction_counts.reading.nodes import Node, Problems
from instruction_counts.sources.operators import calls, catalogue, values
from instruction_counts.sources.operators.definitions import definitions_of, schemas_by_name
from instruction_counts.sources.operators.entries import OperatorEntry, Shape, Tensor
from instruction_counts.sources.operators.reading import read_operators
from instruction_counts.sources.operators.source import selected, standard_file
from instruction_counts.sources.specification.placeholders import Expansion, PlaceholderError
from instruction_counts.sources.specification.values import Entry, Expected, Input, Model
from instruction_counts.system.cache import Cache
from instruction_counts.system.program import program_name

T = TypeVar("T")
_LONGEST_SIZE = 19  # digits of the largest size that a tensor can have
Groups = Iterator[tuple[Expansion, GroupedBenchmark]]


def expanded(
    entries: Sequence[Entry], name: str, seed: int, problems: Problems
) -> dict[Label, GroupedBenchmark]:
    """The definitions that ``entries`` give, by their labels; what is wrong is noted.

    ``name`` is the first part of labels that are not stated.
    """
    found: dict[Label, GroupedBenchmark] = {}
    for entry in entries:
        groups = _operators if entry.operator is not None else _statements
        listed = problems.attempt(_listed, groups, entry, seed, otherwise=[])
        usual = f"{name}/{entry.id}"
        suffixes = _suffixes([expansion for expansion, _ in listed])
        for (expansion, group), suffix in zip(listed, suffixes, strict=True):
            label = problems.attempt(_label, entry, expansion, usual + suffix)
            if label in found:
                place = entry.fields.get("label", entry.node)
                expected = "a unique label; {ID} distinguishes shapes and dtypes"
                problems.note(place, expected, "/".join(label))
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


def _listed(
    groups: Callable[[Entry, int], Groups], entry: Entry, seed: int
) -> list[tuple[Expansion, GroupedBenchmark]]:
    return list(groups(entry, seed))


def _label(entry: Entry, expansion: Expansion, usual: str) -> Label:
    node = entry.fields.get("label", entry.node)
    whole = _replaced(node, expansion.in_label, entry.label) if entry.label else usual
    parts = tuple(part.strip() for part in whole.split("/") if part.strip())
    if not parts:
        raise node.unlike("a label", "nothing")
    return parts


def _replaced(node: Node, replace: Callable[[str], T], text: str) -> T:
    try:
        return replace(text)
    except PlaceholderError as error:
        raise node.unlike(error.expected, error.found) from None


# Statements and models


def _statements(entry: Entry, seed: int) -> Groups:
    for expansion in _expansions(entry.inputs):
        yield expansion, _group(entry, expansion, seed)


def _expansions(inputs: Sequence[Input]) -> Iterator[Expansion]:
    """Each shape with each dtype; shapes of several inputs go together one by one."""
    shapes = max((len(tensor.shapes) for tensor in inputs), default=1)
    dtypes = max((len(tensor.dtypes) for tensor in inputs), default=1)
    number = 0
    for place in range(shapes):
        for kind in range(dtypes):
            number += 1
            yield Expansion(
                number,
                {tensor.name: tensor.shapes[place % len(tensor.shapes)] for tensor in inputs},
                {tensor.name: tensor.dtypes[kind % len(tensor.dtypes)] for tensor in inputs},
            )


def _group(entry: Entry, expansion: Expansion, seed: int) -> GroupedBenchmark:
    def code(field: str, text: str | None) -> str | None:
        return text and _replaced(entry.fields[field], expansion.in_code, text)

    setups = {
        language: _joined(
            _drawn(entry.inputs, expansion, seed, language),
            code("setup", entry.setup.cpp if language is Language.CPP else entry.setup.python),
        )
        for language in Language
    }
    python, cpp = code("statement", entry.statement.python), code("statement", entry.statement.cpp)
    global_setup, signature = code("global_setup", entry.global_setup), entry.signature
    paths: Mapping[str, str] = {}
    if entry.model is not None:
        paths = {str(entry.model.path): f"sha256 {entry.model.sha256}"}
        names = [tensor.name for tensor in entry.inputs]
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
            autograd=entry.autograd,
            num_threads=entry.num_threads,
            gradient=entry.gradient,
            metadata=_metadata(entry, expansion),
            expected=_expected(entry, expansion),
        )
    except DefinitionError as error:
        names_of = {"py_stmt": "statement", "cpp_stmt": "statement"}
        node = entry.fields.get(names_of.get(error.field, error.field), entry.node)
        raise node.unlike(error.expected, error.found) from None


def _joined(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


def _drawn(inputs: Sequence[Input], expansion: Expansion, seed: int, language: Language) -> str:
    if not inputs:
        return ""
    is_cpp = language is Language.CPP
    lines = [f"torch::manual_seed({seed});" if is_cpp else f"torch.manual_seed({seed})"]
    for tensor in inputs:
        shape, dtype = expansion.shapes[tensor.name], expansion.dtypes[tensor.name]
        value = calls.Value(tensor.name, shape, dtype, tensor.distribution, tensor.requires_grad)
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
    path = json.dumps(str(model.path), ensure_ascii=False)
    checksum = f"sha256 {model.sha256}"
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


def _expected(entry: Entry, expansion: Expansion) -> tuple[ExpectedTensor, ...]:
    return tuple(
        ExpectedTensor(
            tensor.name,
            _shape(tensor, entry, expansion),
            tensor.dtype,
            tensor.sum,
            tensor.tolerance,
        )
        for tensor in entry.expected
    )


def _shape(tensor: Expected, entry: Entry, expansion: Expansion) -> Shape | None:
    if tensor.shape is None:
        return None
    return tuple(_size(size, expansion, entry.fields["expected"]) for size in tensor.shape)


def _size(size: int | str, expansion: Expansion, node: Node) -> int:
    if isinstance(size, int):
        return size
    text = _replaced(node, expansion.in_code, size)
    if not text.isdecimal() or len(text) > _LONGEST_SIZE:
        raise node.unlike("a size, or a placeholder such as {x.shape[0]}", f'"{size}"')
    return int(text)


# Operators


def _operators(entry: Entry, seed: int) -> Groups:
    assert entry.operator is not None, "asked for an operator"
    number = 0
    try:
        for operator in selected(read_operators(standard_file()), [entry.operator]):
            for shapes_and_dtypes in _expansions(entry.inputs):
                for call in _calls(entry, operator, shapes_and_dtypes, seed):
                    number += 1
                    yield _called(entry, call, number)
    except ValidationError:
        raise
    except UsageError as error:
        remedy = error.text(program_name()).removeprefix(error.message).strip()
        raise entry.fields["operator"].unlike(remedy, error.message) from None


def _calls(
    entry: Entry, operator: OperatorEntry, expansion: Expansion, seed: int
) -> Iterator[calls.Call]:
    stated = {tensor.name: _changes(entry, tensor, expansion) for tensor in entry.inputs}
    inputs = {
        # What is no tensor cannot be changed, and is refused with the shapes.
        name: attrs.evolve(tensor, **stated.get(name, {})) if isinstance(tensor, Tensor) else tensor
        for name, tensor in operator.inputs.items()
    }
    shapes = (expansion.shapes,) if entry.inputs else ()
    overrides = calls.Overrides(inputs=shapes, seed=seed)
    for call in calls.calls(attrs.evolve(operator, inputs=inputs), overrides):
        for value in call.values:
            if stated.get(value.name, {}).get("requires_grad") and not value.requires_grad:
                _refuse_gradient(entry, operator, value)
        kind = next((str(attributes.get("dtype", "")) for attributes in stated.values()), "")
        yield attrs.evolve(call, dtype=kind)


def _changes(entry: Entry, tensor: Input, expansion: Expansion) -> dict[str, Any]:
    """What an input states; all else is as the operator's entry has it."""
    changes = {
        "dtype": expansion.dtypes[tensor.name],
        "distribution": tensor.distribution,
        "requires_grad": tensor.requires_grad,
    }
    given = entry.fields["inputs"].value[tensor.name].value
    return {name: value for name, value in changes.items() if name in given}


def _refuse_gradient(entry: Entry, operator: OperatorEntry, value: calls.Value) -> NoReturn:
    node = entry.fields["inputs"].value[value.name].value["requires_grad"]
    what = (
        f"{operator.name} works in place" if operator.in_place else f"{value.name} is {value.dtype}"
    )
    raise node.unlike("false: there is no gradient", f"true, and {what}")


def _called(entry: Entry, call: calls.Call, number: int) -> tuple[Expansion, GroupedBenchmark]:
    (group,) = definitions_of([call], _schemas(), entry.num_threads).values()
    expansion = Expansion(
        number,
        {value.name: value.shape for value in call.values},
        {value.name: value.dtype for value in call.values},
    )
    expected = _expected(entry, expansion)
    return expansion, attrs.evolve(group, metadata=_metadata(entry, expansion), expected=expected)


@functools.cache
def _schemas() -> Mapping[str, Sequence[catalogue.Schema]]:
    # Asking the build for them takes a process, where they are not in the cache.
    return schemas_by_name(catalogue.load_schemas(default_build(), Cache()))
