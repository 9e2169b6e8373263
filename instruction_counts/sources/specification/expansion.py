"""A specification as a source of cases: checked as a whole, each mistake with its place.

Its entries become ordinary definitions, each shape a group of its own.
"""

import functools
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from instruction_counts.core.api import ExpectedTensor, GroupedBenchmark, GroupedSetup, GroupedStmts
from instruction_counts.core.errors import DefinitionError, one_of
from instruction_counts.core.expand import materialize
from instruction_counts.core.runtimes.torchscript import CPP_INCLUDES
from instruction_counts.core.types import Case, Label, Language
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError, ValidationError
from instruction_counts.reading.documents import read
from instruction_counts.reading.structure import Mismatch, located, require_version, structured
from instruction_counts.sources.operators import calls, catalogue, code, entries
from instruction_counts.sources.operators.source import definitions_of, selected
from instruction_counts.sources.specification.values import (
    CONVERTER,
    Entry,
    File,
    Input,
    Model,
    Reporters,
    code_of,
)
from instruction_counts.system.cache import Cache
from instruction_counts.system.program import program_name

VERSION = 1
REMEDY = "See docs/reference/specifications.md."
_LONGEST_SIZE = 19  # digits of the largest size that a tensor can have

require_version(CONVERTER, File, "version", VERSION)

# Placeholders: a few words in braces, each of which stands for one text, and nothing else. No
# expression is evaluated and no attribute looked up.

_IN_LABEL = re.compile(r"\{[^{}]*\}|[{}]")
_IN_CODE = re.compile(r"\{[A-Za-z_]\w*(?:\.\w+(?:\[\d+\])?)?\}")


@attrs.frozen
class Expansion:
    """One of the shapes and dtypes of an entry: what its placeholders stand for."""

    number: int
    """From 1."""
    shapes: Mapping[str, entries.Shape]
    """Of each input, in their order."""
    dtypes: Mapping[str, str]

    def in_label(self, text: str) -> str:
        """``text`` with its placeholders replaced; a shape reads ``32x128``.

        Raises:
            Mismatch: there is another one.
        """
        known = self._known("x", "scalar")
        return _IN_LABEL.sub(lambda match: _value(match[0], known, "label"), text)

    def in_code(self, text: str, field: str) -> str:
        """The same for code, from a field; a shape reads ``32, 128``.

        Braces that are no placeholder stay, since C++ is full of them.

        Raises:
            Mismatch: something of an input is asked for that it has not.
        """
        known = self._known(", ", "")

        def value(match: re.Match[str]) -> str:
            is_word = "." not in match[0] and match[0] not in known
            return match[0] if is_word else _value(match[0], known, field)

        return _IN_CODE.sub(value, text)

    def _known(self, separator: str, scalar: str) -> dict[str, str]:
        own: dict[str, str] = {}
        for name, shape in self.shapes.items():
            own[f"{{{name}.shape}}"] = separator.join(map(str, shape)) or scalar
            own[f"{{{name}.dtype}}"] = self.dtypes[name]
            own |= {f"{{{name}.shape[{place}]}}": str(size) for place, size in enumerate(shape)}
        first = list(own.values())[:2]  # of the first input
        usual = dict(zip(("{shape}", "{dtype}"), first, strict=False))
        return {"{ID}": str(self.number), **usual, **own}


def _value(asked: str, known: Mapping[str, str], field: str) -> str:
    if asked not in known:
        raise Mismatch(one_of(known, asked), asked, (field,))
    return known[asked]


def expansions(inputs: Mapping[str, Input]) -> Iterator[Expansion]:
    """Each shape with each dtype; shapes of several inputs go together one by one."""
    shapes = {name: each.shapes for name, each in inputs.items()}
    dtypes = {name: each.dtypes or (entries.DEFAULT_DTYPE,) for name, each in inputs.items()}
    # Without inputs there is one, of nothing.
    pairs = itertools.product(calls.together(shapes) or [{}], calls.together(dtypes) or [{}])
    for number, (shape_of, dtype_of) in enumerate(pairs, start=1):
        yield Expansion(number, shape_of, dtype_of)


# Definitions


@attrs.frozen
class Specification:
    """A whole file, expanded; its mistakes are reported before anything is measured."""

    file: Path
    name: str
    builds: tuple[Build, ...]
    timeout_s: float | None
    reporters: Reporters
    benchmarks: Mapping[Label, GroupedBenchmark] = attrs.field(hash=False)

    def __str__(self) -> str:
        return str(self.file)

    def cases(self) -> tuple[Case, ...]:
        """Its cases."""
        return materialize(self.benchmarks)


def read_specification(path: Path) -> Specification:
    """The specification in a YAML or JSON file, expanded.

    Raises:
        UsageError: there is no such file.
        DataError: it holds problems: all of its form, or else all of what its entries become; each
            with its place.
    """
    if not path.is_file():
        raise UsageError(f"--definitions: file not found: {path}", REMEDY)
    root = read(path, REMEDY)
    file = structured(root, File, CONVERTER)
    name = file.name or path.stem
    groups: dict[Label, GroupedBenchmark] = {}
    mistakes: list[Mismatch] = []
    for place, entry in enumerate(file.benchmarks):
        try:
            for label, group in _labelled(entry, name, file.seed):
                if label in groups:
                    expected = "a unique label; {ID} distinguishes shapes and dtypes"
                    raise Mismatch(expected, "/".join(label), ("label",))
                groups[label] = group
        except Mismatch as mismatch:
            at = ("benchmarks", place, *mismatch.at)
            mistakes.append(Mismatch(mismatch.expected, mismatch.found, at))
    if mistakes:
        raise located(root, mistakes)
    return Specification(path, name, file.builds, file.timeout, file.reporters, groups)


def _labelled(entry: Entry, name: str, seed: int) -> Iterator[tuple[Label, GroupedBenchmark]]:
    """The definitions of an entry; ``name`` is the first part of labels that are not stated."""
    listed = (
        [(expansion, _group(entry, expansion, seed)) for expansion in expansions(entry.inputs)]
        if entry.operator is None
        else list(_operators(entry, seed))
    )
    suffixes = _suffixes([expansion for expansion, _ in listed])
    for (expansion, group), suffix in zip(listed, suffixes, strict=True):
        stated = expansion.in_label(entry.label) or f"{name}/{entry.id}{suffix}"
        label = tuple(part.strip() for part in stated.split("/") if part.strip())
        if not label:
            raise Mismatch("a label", "nothing", ("label",))
        yield label, group


def _suffixes(expansions: Sequence[Expansion]) -> list[str]:
    """What tells these apart in labels that are not stated: the first shapes, or numbers."""
    if len(expansions) == 1:
        return [""]
    if all(expansion.shapes for expansion in expansions):
        shapes = [expansion.in_label("/{shape}") for expansion in expansions]
        if len(set(shapes)) == len(shapes):
            return shapes
    return [expansion.in_label("/{ID}") for expansion in expansions]


def _group(entry: Entry, expansion: Expansion, seed: int) -> GroupedBenchmark:
    def replaced(field: str, text: str | None) -> str | None:
        return text and expansion.in_code(text, field)

    py_setup, cpp_setup = (
        _joined(_drawn(entry, expansion, seed, language), replaced("setup", stated))
        for language, stated in zip(Language, code_of(entry.setup), strict=True)
    )
    python, cpp = (replaced("statement", stated) for stated in code_of(entry.statement))
    global_setup = replaced("global_setup", entry.global_setup) or ""
    signature = entry.signature
    paths: Mapping[str, str] = {}
    if entry.model is not None:
        paths = {str(entry.model.path.absolute()): f"sha256 {entry.model.sha256.lower()}"}
        names = ", ".join(entry.inputs)
        python = f"y = model({names})"
        cpp = (
            f"std::vector<torch::jit::IValue> model_inputs{{{names}}};\n"
            "auto y = model.forward(model_inputs).toTensor();"
        )
        py_loaded, cpp_loaded = _loaded(entry.model, names, moved=entry.devices is not None)
        py_setup, cpp_setup = _joined(py_setup, py_loaded), _joined(cpp_setup, cpp_loaded)
        global_setup = _joined(CPP_INCLUDES, global_setup)
        signature = signature or f"f({names}) -> y"
    try:
        return GroupedStmts(
            python,
            cpp,
            GroupedSetup(py_setup, cpp_setup, global_setup, paths),
            signature=signature,
            torchscript=entry.torchscript,
            compiled=entry.compiled,
            exported=entry.exported,
            autograd=entry.autograd,
            num_threads=entry.num_threads,
            device=entry.devices,
            gradient=entry.gradient,
            expected=_expected(entry, expansion),
        )
    except DefinitionError as error:
        field = "statement" if error.field in {"py_stmt", "cpp_stmt"} else error.field
        raise Mismatch(error.expected, error.found, (field,)) from None


def _joined(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


def _drawn(entry: Entry, expansion: Expansion, seed: int, language: Language) -> str:
    values = []
    for name, tensor in entry.inputs.items():
        usual = tensor.dtypes[0] if tensor.dtypes else entries.DEFAULT_DTYPE
        name_of_usual = "normal" if usual in entries.WITH_GRADIENTS else "zeros"
        drawn = tensor.distribution or entries.Distribution(name_of_usual)
        shape, dtype = expansion.shapes[name], expansion.dtypes[name]
        values.append(calls.Value(name, shape, dtype, drawn, bool(tensor.requires_grad)))
    moved = entry.devices is not None
    return "\n".join(code.drawn(values, seed, language, moved=moved)) if values else ""


def _loaded(model: Model, names: str, *, moved: bool) -> tuple[str, str]:
    # The checksum is part of the code, and so of the definition: another file is another case, and
    # the same one elsewhere is none. The profiling executor specialises during the first calls.
    path = json.dumps(str(model.path.absolute()), ensure_ascii=False)
    checksum = f"sha256 {model.sha256.lower()}"
    path += ", device" if moved else ""
    return (
        f"model = torch.jit.load({path})  # {checksum}\nfor _ in range(3):\n    model({names})",
        (
            f"auto model = torch::jit::load({path});  // {checksum}\n"
            "for (int warm_up_call = 0; warm_up_call < 3; warm_up_call++) {\n"
            f"    model.forward({{{names}}});\n}}"
        ),
    )


def _expected(entry: Entry, expansion: Expansion) -> tuple[ExpectedTensor, ...]:
    found = []
    for name, stated in entry.expected.items():
        shape = None if stated.shape is None else tuple(_size(n, expansion) for n in stated.shape)
        found.append(ExpectedTensor(name, shape, stated.dtype, stated.sum, stated.tolerance))
    return tuple(found)


def _size(size: int | str, expansion: Expansion) -> int:
    text = expansion.in_code(str(size), "expected")
    if not text.isdecimal() or len(text) > _LONGEST_SIZE:
        expected = "a size, or a placeholder such as {x.shape[0]}"
        raise Mismatch(expected, f'"{size}"', ("expected",))
    return int(text)


# Operators


def _operators(entry: Entry, seed: int) -> Iterator[tuple[Expansion, GroupedBenchmark]]:
    """The calls of an operator; what inputs do not state is as the operator's entry has it."""
    assert entry.operator is not None, "asked for an operator"
    with_dtype = next((name for name, each in entry.inputs.items() if each.dtypes), None)
    number = 0
    try:
        for operator in selected(entries.read_operators(), [entry.operator]):
            for expansion in expansions(entry.inputs):
                dtypes = () if with_dtype is None else (expansion.dtypes[with_dtype],)
                shapes = (expansion.shapes,) if entry.inputs else ()
                devices = entry.devices or ()
                asked = calls.Overrides(dtypes=dtypes, inputs=shapes, seed=seed, devices=devices)
                for call in calls.calls(operator, asked):
                    number += 1
                    yield _called(entry, call, number)
    except ValidationError:
        raise
    except UsageError as error:
        remedy = error.text(program_name()).removeprefix(error.message).strip()
        raise Mismatch(remedy, error.message, ("operator",)) from None


def _called(entry: Entry, call: calls.Call, number: int) -> tuple[Expansion, GroupedBenchmark]:
    (group,) = definitions_of([call], _schemas(), entry.num_threads).values()
    expansion = Expansion(
        number,
        {value.name: value.shape for value in call.values},
        {value.name: value.dtype for value in call.values},
    )
    return expansion, attrs.evolve(group, expected=_expected(entry, expansion))


@functools.cache
def _schemas() -> catalogue.Schemas:
    # Asking the build for them takes a process, where they are not in the cache.
    return catalogue.load_schemas(default_build(), Cache())
