"""Reading a specification: validated as a whole, each mistake with its place."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from instruction_counts.builds.configured import builds_of
from instruction_counts.domain.durations import EXPECTED, seconds_of
from instruction_counts.domain.errors import UsageError
from instruction_counts.reading.documents import read
from instruction_counts.reading.nodes import (
    Node,
    Problems,
    choice,
    flag,
    integer,
    items,
    mapping,
    number,
    one_of,
    path_of,
    text,
)
from instruction_counts.sources.operators.entries import (
    COMPLEX,
    DEFAULT_DTYPE,
    DTYPES,
    FLOATS,
    LARGEST_SEED,
    Distribution,
    Shape,
)
from instruction_counts.sources.operators.reading import distribution_of
from instruction_counts.sources.specification import reporters
from instruction_counts.sources.specification.expansion import expanded
from instruction_counts.sources.specification.names import reserved
from instruction_counts.sources.specification.values import (
    Code,
    Entry,
    Expected,
    Input,
    Model,
    Reporters,
    Size,
    Specification,
)

VERSION = 1
REMEDY = "See docs/reference/specifications.md."
_FIELDS = ("name", "builds", "timeout", "seed", "reporters")
_ENTRY = ("label", "inputs", "num_threads", "expected")
_CODE = ("setup", "global_setup", "signature", "torchscript", "autograd", "gradient")
_KINDS = ("statement", "model", "operator")


def read_specification(path: Path) -> Specification:
    """The specification in a YAML or JSON file, expanded.

    Raises:
        UsageError: there is no such file.
        DataError: it holds problems: all of them, each with its place.
    """
    if not path.is_file():
        raise UsageError(f"--definitions: file not found: {path}", REMEDY)
    problems = Problems()
    root = read(path, REMEDY)
    parts = known(root, ("version", "benchmarks"), _FIELDS, problems)

    attempt = problems.attempt_in(parts)
    attempt("version", _version, None)
    name = attempt("name", text, path.stem)
    seed = attempt("seed", functools.partial(integer, minimum=0, maximum=LARGEST_SEED), 0)
    timeout_s = attempt("timeout", _duration, None)
    builds = attempt("builds", functools.partial(builds_of, folder=path.parent), ())
    sent_to = attempt(
        "reporters", functools.partial(reporters.reporters, path.parent, problems), Reporters()
    )
    entries: list[Entry] = []
    sound: list[Entry] = []
    for node in attempt("benchmarks", _some, []):
        before = len(problems)
        entry = _entry(node, problems)
        if entry is not None:
            entries.append(entry)
            # What would follow from a mistake is none of its own.
            sound += [entry] if len(problems) == before else []
    _check_ids(entries, problems)
    benchmarks = expanded(sound, name, seed, problems)
    problems.raise_any(REMEDY)
    return Specification(path, name, builds, timeout_s, sent_to, benchmarks)


def known(
    node: Node, required: Sequence[str], optional: Sequence[str], problems: Problems
) -> Mapping[str, Node]:
    """The fields of a mapping that are known; each other one is a mistake, and each missing one."""
    found = problems.attempt(mapping, node, otherwise=None)
    if found is None:
        return {}
    names = [*required, *optional]
    for name, below in found.items():
        if name not in names:
            problems.note(below, one_of(names, name), f'a field "{name}"')
    for name in required:
        if name not in found:
            fields = f"fields {', '.join(found) or 'none'}"
            problems.note(node, f'a field "{name}"', fields)
    return {name: below for name, below in found.items() if name in names}


def _version(node: Node) -> None:
    if type(node.value) is not int or node.value != VERSION:
        raise node.unlike(f"version {VERSION}, the only supported version")


def _some(node: Node) -> list[Node]:
    if not items(node):
        raise node.unlike("at least one benchmark", "none")
    return items(node)


def _duration(node: Node) -> float:
    try:
        return seconds_of(node.value)
    except ValueError:
        raise node.unlike(EXPECTED) from None


# Entries


def _entry(node: Node, problems: Problems) -> Entry | None:
    parts = known(node, ("id",), (*_KINDS, *_ENTRY, *_CODE), problems)
    kinds = [kind for kind in _KINDS if kind in parts]
    if len(kinds) != 1:
        if parts:
            found = " and ".join(kinds) or "none of them"
            problems.note(node, "exactly one of statement, model and operator", found)
        return None
    if "operator" in parts:
        for field in _CODE:
            if field in parts:
                expected = "nothing: the operator's entry defines it"
                problems.note(parts[field], expected, f'"{field}"')

    attempt = problems.attempt_in(parts)
    named = attempt("id", _id, "")
    # The inputs of an operator are called as its entry says.
    taken = () if "operator" in parts else reserved(has_model="model" in parts)
    inputs = attempt("inputs", functools.partial(_inputs, problems, taken), ())
    return Entry(
        node=node,
        fields=parts,
        id=named,
        label=attempt("label", text, ""),
        inputs=inputs,
        setup=attempt("setup", _code, Code()),
        global_setup=attempt("global_setup", text, ""),
        statement=attempt("statement", _code, Code()),
        model=attempt("model", functools.partial(_model, problems), None),
        operator=attempt("operator", text, None),
        signature=attempt("signature", text, None),
        torchscript=attempt("torchscript", flag, False),
        autograd=attempt("autograd", flag, False),
        gradient=attempt("gradient", text, None),
        num_threads=attempt("num_threads", _threads, (1,)),
        expected=attempt("expected", functools.partial(_expectations, problems), ()),
    )


def _check_ids(entries: Sequence[Entry], problems: Problems) -> None:
    lines: dict[str, int] = {}
    for entry in entries:
        if entry.id in lines:
            found = f'"{entry.id}" again, first in line {lines[entry.id]}'
            problems.note(entry.fields["id"], "unique ids", found)
        elif entry.id:
            lines[entry.id] = entry.fields["id"].line


def _id(node: Node) -> str:
    if not isinstance(node.value, str) or not re.fullmatch(r"[\w. -]+", node.value):
        raise node.unlike("a name of letters, digits, spaces, dots and dashes")
    return node.value


def _code(node: Node) -> Code:
    if isinstance(node.value, str):
        return Code(text(node))
    found = mapping(node)
    for name, below in found.items():
        if name not in {"python", "cpp"}:
            raise below.unlike(one_of(["python", "cpp"], name), f'a field "{name}"')
    if not found:
        raise node.unlike("code in python, cpp or both", "none")
    codes = {name: text(below) for name, below in found.items()}
    return Code(codes.get("python"), codes.get("cpp"))


def _threads(node: Node) -> tuple[int, ...]:
    nodes = items(node) if isinstance(node.value, list) else [node]
    counts = tuple(integer(node, 1) for node in nodes)
    if not counts or len(set(counts)) != len(counts):
        raise node.unlike("a thread count, or a list of distinct ones")
    return counts


# Inputs


def _inputs(problems: Problems, taken: Container[str], node: Node) -> tuple[Input, ...]:
    found = [
        problems.attempt(_input, problems, taken, name, below)
        for name, below in mapping(node).items()
    ]
    inputs = tuple(item for item in found if item is not None)
    for what in ("shapes", "dtypes"):
        counts = {len(getattr(tensor, what)) for tensor in inputs} - {1}
        if len(counts) > 1:
            expected = f"the same number of {what} for all inputs that have more than one"
            each = [f"{len(getattr(tensor, what))} of {tensor.name}" for tensor in inputs]
            raise node.unlike(expected, ", ".join(each))
    return inputs


def _input(problems: Problems, taken: Container[str], name: str, node: Node) -> Input | None:
    if not name.isidentifier():
        raise node.unlike("the name of a variable", f'"{name}"')
    if name in taken:
        expected = "another name: this one is reserved"
        raise node.unlike(expected, f'"{name}"')
    optional = ("dtype", "distribution", "requires_grad")
    parts = known(node, ("shape",), optional, problems)

    attempt = problems.attempt_in(parts)
    shapes = attempt("shape", _shapes, ())
    dtypes: tuple[str, ...] = attempt("dtype", _dtypes, (DEFAULT_DTYPE,))
    usual = "normal" if dtypes[0] in {*FLOATS, *COMPLEX} else "zeros"
    drawn = attempt("distribution", _distribution, Distribution(usual))
    requires_grad = attempt("requires_grad", flag, False)
    if requires_grad and not set(dtypes) <= {*FLOATS, *COMPLEX}:
        found = f"requires_grad with {', '.join(dtypes)}"
        problems.note(
            parts["requires_grad"],
            "false: only floating-point and complex tensors have gradients",
            found,
        )
    return Input(name, shapes, dtypes, drawn, requires_grad) if shapes else None


def _distribution(node: Node) -> Distribution:
    found = distribution_of(node)
    if found.name == "index_of":
        raise node.unlike("integers: [low, high]; index_of works only for operators")
    return found


def _shapes(node: Node) -> tuple[Shape, ...]:
    if any(isinstance(item.value, list) for item in items(node)):
        return tuple(_shape(item) for item in items(node))
    return (_shape(node),)


def _shape(node: Node) -> Shape:
    if not isinstance(node.value, list):
        raise node.unlike("a shape such as [32, 128], or a list of shapes")
    return tuple(integer(item, 0) for item in node.value)


def _dtypes(node: Node) -> tuple[str, ...]:
    nodes = items(node) if isinstance(node.value, list) else [node]
    if not nodes:
        raise node.unlike(one_of(DTYPES), "none")
    return tuple(choice(node, DTYPES) for node in nodes)


# What a statement computes, and models


def _expectations(problems: Problems, node: Node) -> tuple[Expected, ...]:
    found = [
        problems.attempt(_expected, problems, name, below) for name, below in mapping(node).items()
    ]
    return tuple(item for item in found if item is not None)


def _expected(problems: Problems, name: str, node: Node) -> Expected:
    parts = known(node, (), ("shape", "dtype", "sum", "tolerance"), problems)
    given: dict[str, Any] = {
        "shape": lambda node: tuple(_size(size) for size in items(node)),
        "dtype": lambda node: choice(node, DTYPES),
        "sum": number,
        "tolerance": _tolerance,
    }
    if "tolerance" in parts and "sum" not in parts:
        problems.note(parts["tolerance"], "a sum, which the tolerance applies to")
    return Expected(
        name, **{field: problems.attempt(given[field], part) for field, part in parts.items()}
    )


def _tolerance(node: Node) -> float:
    found = number(node)
    if found < 0:
        raise node.unlike("a number of at least 0")
    return found


def _size(node: Node) -> Size:
    return node.value if isinstance(node.value, str) else integer(node, 0)


def _model(problems: Problems, node: Node) -> Model | None:
    parts = known(node, ("file", "sha256"), (), problems)
    if len(parts) != 2:
        return None
    path = path_of(parts["file"], Path(node.file).parent)
    sha256 = text(parts["sha256"]).lower()
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise parts["sha256"].unlike("64 hexadecimal digits, as printed by sha256sum")
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise parts["file"].unlike(
            "an existing file, relative to the specification", error.strerror
        ) from error
    if digest != sha256:
        raise parts["sha256"].unlike(f"the checksum of {path.name}: {digest}", sha256)
    return Model(path.absolute(), sha256)
