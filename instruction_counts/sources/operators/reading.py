"""Reading a file of operators: validated as a whole, each mistake with its place."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.reading.documents import read
from instruction_counts.reading.nodes import (
    Node,
    Problems,
    choice,
    fields,
    flag,
    integer,
    items,
    mapping,
    number,
    one_of,
    text,
)
from instruction_counts.sources.operators.entries import (
    COMPLEX,
    DEFAULT_DTYPE,
    DISTRIBUTIONS,
    DTYPES,
    FLOATS,
    SIZE,
    VARIANTS,
    ByVariant,
    Distribution,
    Input,
    OperatorEntry,
    Shape,
    Template,
    Tensor,
    at,
    has_dimension,
)
from instruction_counts.sources.operators.names import is_argument, is_variable
from instruction_counts.sources.operators.sizes import sizes_in

VERSION = 1
_NAME = re.compile(r"(?:torch(?:\.(?:nn\.functional|linalg|fft|special|sparse))?|Tensor)\.\w+")
_MOST_TENSORS = 1_000
_TORCH_OBJECT = re.compile(r"torch\.\w+")
_REMEDY = "See docs/how-to/operators.md for the form of an entry."


def read_operators(path: Path) -> tuple[OperatorEntry, ...]:
    """The operators of a file, in its order.

    Raises:
        DataError: the file is missing, or holds problems: all of them.
    """
    root = read(path, _REMEDY)
    problems = Problems()
    parts = problems.attempt(fields, root, ("version", "operators"), ("shapes",), otherwise={})
    if "version" in parts:
        problems.attempt(_version, parts["version"])
    families: dict[str, ByVariant] = {}
    if "shapes" in parts:
        for name, node in problems.attempt(mapping, parts["shapes"], otherwise={}).items():
            family = problems.attempt(by_variant, node, shape)
            if family is not None:
                families[name] = family
    entries = []
    if "operators" in parts:
        for name, node in problems.attempt(mapping, parts["operators"], otherwise={}).items():
            entries.append(_entry(name, node, families, problems))
    problems.raise_any(_REMEDY)
    if not entries:
        raise DataError(f"{path}: contains no operators", _REMEDY)
    return tuple(entry for entry in entries if entry is not None)


def _version(node: Node) -> None:
    if node.value != VERSION:
        raise node.unlike(f"version {VERSION}, the only supported version")


_FIELDS = (
    "inputs",
    "kwargs",
    "positional",
    "autograd",
    "torchscript",
    "output",
    "python",
    "cpp",
    "overload",
    "scale",
    "sizes",
    "note",
)


def _entry(
    name: str, node: Node, families: Mapping[str, ByVariant], problems: Problems
) -> OperatorEntry | None:
    if not _NAME.fullmatch(name):
        expected = "torch.X, torch.nn.functional.X, torch.linalg.X, torch.fft.X, torch.special.X, "
        problems.note(node, f"{expected}torch.sparse.X or Tensor.X", f'"{name}"')
        return None
    parts: Mapping[str, Node] = problems.attempt(fields, node, ("category",), _FIELDS, otherwise={})
    if not parts:
        return None

    attempt = problems.attempt_in(parts)
    inputs: dict[str, Input] = {}
    for input_name, below in attempt("inputs", mapping, {}).items():
        found = problems.attempt(_input, input_name, below, families)
        if found is not None:
            inputs[input_name] = found
    kwargs: dict[str, Any] = {}
    for kwarg_name, below in attempt("kwargs", mapping, {}).items():
        kwargs[kwarg_name] = problems.attempt(_kwarg, kwarg_name, below)
    entry = OperatorEntry(
        name=name,
        category=attempt("category", _word, ""),
        inputs=inputs,
        kwargs=kwargs,
        positional=tuple(attempt("positional", functools.partial(_names, among=parts), ())),
        torchscript=attempt("torchscript", flag, True),
        output=attempt("output", functools.partial(integer, minimum=0), None),
        python=attempt("python", text, None),
        cpp=attempt("cpp", _cpp, None),
        overload=attempt("overload", _overload, None),
        scale=attempt("scale", functools.partial(_scale, inputs=inputs), {}),
        sizes=attempt("sizes", _sizes, ""),
        note=attempt("note", text, ""),
        file=node.file,
        line=node.line,
    )
    autograd = attempt("autograd", flag, None)
    entry = attrs.evolve(entry, autograd=_differentiates(entry, autograd, parts, problems))
    _check_together(entry, node, parts, problems)
    return entry


def _differentiates(
    entry: OperatorEntry, asked: bool | None, parts: Mapping[str, Node], problems: Problems
) -> bool:
    can = not entry.in_place and any(
        (tensor.dtype or DEFAULT_DTYPE) in (*FLOATS, *COMPLEX) and tensor.requires_grad is not False
        for group in entry.inputs.values()
        for tensor in (group if isinstance(group, tuple) else (group,))
    )
    if asked and not can:
        reason = "it works in place" if entry.in_place else "no input can require a gradient"
        problems.note(parts["autograd"], f"false: {reason}")
    return can if asked is None else asked


def _check_together(
    entry: OperatorEntry, node: Node, parts: Mapping[str, Node], problems: Problems
) -> None:
    """What only shows when the fields are seen together."""
    if entry.is_method and not entry.inputs and entry.python is None:
        problems.note(parts.get("inputs", node), "at least one input, for the receiver", "none")
    if not entry.variants:
        expected = "at least one variant shared by all shapes and values"
        problems.note(node, expected, "no shared variant")
    for name, group in entry.inputs.items():
        for tensor in group if isinstance(group, tuple) else (group,):
            if tensor.distribution is not None and tensor.distribution.of:
                problems.attempt(
                    _check_index, entry, tensor.distribution, parts["inputs"].value[name]
                )
    _check_variables(entry, parts, problems)
    for name in set(entry.inputs) & set(entry.kwargs):
        problems.note(
            parts["kwargs"].value[name], f"a name other than {name}, which is also an input"
        )


def _check_variables(entry: OperatorEntry, parts: Mapping[str, Node], problems: Problems) -> None:
    owners: dict[str, str] = {}
    for name, value in entry.inputs.items():
        of_list = (
            [f"{name}_{place}" for place in range(len(value))] if isinstance(value, tuple) else ()
        )
        for variable in of_list or (name,):
            other = owners.setdefault(variable, name)
            if other != name:
                found = f'"{variable}" of {other} and of {name}'
                problems.note(parts["inputs"].value[name], "unique variables", found)


def _check_index(entry: OperatorEntry, index: Distribution, node: Node) -> None:
    target = entry.inputs.get(index.of)
    if target is None or isinstance(target, tuple):
        raise node.unlike(one_of(list(entry.inputs), index.of), f'index_of "{index.of}"')
    for variant in entry.variants:
        size = at(target.shape, variant)
        if not has_dimension(size, index.dim):
            raise node.unlike(
                f"a dimension of {index.of}, which is {list(size)}",
                f"index_of [{index.of}, {index.dim}]",
            )


def _names(node: Node, among: Mapping[str, Node]) -> tuple[str, ...]:
    known = [
        name
        for field in ("inputs", "kwargs")
        if field in among and isinstance(among[field].value, dict)
        for name in among[field].value
    ]
    names = [choice(item, known) for item in items(node)]
    if len(set(names)) != len(names):
        raise node.unlike("unique names")
    return tuple(names)


def _word(node: Node) -> str:
    found = text(node)
    if not re.fullmatch(r"[a-z][a-z0-9 _-]*", found):
        raise node.unlike("lower-case words")
    return found


def _overload(node: Node) -> str:
    if not isinstance(node.value, str) or not re.fullmatch(r"\w*", node.value):
        raise node.unlike("the name of an overload, such as Tensor")
    return node.value


def _cpp(node: Node) -> str | bool:
    if node.value is False:
        return False
    if node.value is True:
        raise node.unlike("C++ code, or false for none; omit the field to derive the code")
    return text(node)


# ---------------------------------------------------------------------------------------------
# Inputs
# ---------------------------------------------------------------------------------------------


def shape(node: Node) -> Shape:
    """A list of sizes."""
    return tuple(integer(item, 0) for item in items(node))


def by_variant(node: Node, parse: Any) -> ByVariant:
    """A mapping from variants."""
    found = fields(node, (), VARIANTS)
    if not found:
        raise node.unlike(f"a value for at least one of {', '.join(VARIANTS)}", "none")
    return ByVariant({name: parse(below) for name, below in found.items()})


def _shape(node: Node, families: Mapping[str, ByVariant]) -> Shape | ByVariant:
    if isinstance(node.value, str):
        return families[choice(node, families)]
    return by_variant(node, shape) if isinstance(node.value, dict) else shape(node)


def _input(name: str, node: Node, families: Mapping[str, ByVariant]) -> Input:
    if not is_variable(name):
        raise node.unlike("a valid variable name in both Python and C++", f'"{name}"')
    if not isinstance(node.value, dict) or "list" not in node.value:
        return _tensor(node, families)
    several = node.value["list"]
    others = {name: below for name, below in node.value.items() if name != "list"}
    rest = attrs.evolve(node, value=others)
    if isinstance(several.value, list):
        fields(rest)
        return tuple(_tensor(item, families) for item in several.value)
    return (_tensor(rest, families),) * integer(several, 1, _MOST_TENSORS)


def _tensor(node: Node, families: Mapping[str, ByVariant]) -> Tensor:
    if not isinstance(node.value, dict) or set(node.value) & set(VARIANTS):
        return Tensor(_shape(node, families))
    parts = fields(node, ("shape",), ("dtype", "distribution", "requires_grad"))
    dtype = choice(parts["dtype"], DTYPES) if "dtype" in parts else None
    requires_grad = flag(parts["requires_grad"]) if "requires_grad" in parts else None
    if requires_grad and (dtype or DEFAULT_DTYPE) not in (*FLOATS, *COMPLEX):
        raise parts["requires_grad"].unlike(f"false: {dtype} has no gradient")
    distribution = distribution_of(parts["distribution"]) if "distribution" in parts else None
    return Tensor(_shape(parts["shape"], families), dtype, distribution, requires_grad)


def distribution_of(node: Node) -> Distribution:
    """How values are drawn: a word, or a word with its bounds."""
    if not isinstance(node.value, dict):
        name = choice(node, DISTRIBUTIONS)
        if name == "index_of":
            raise node.unlike("{index_of: [input, dimension]}")
        return Distribution(name, high=10) if name == "integers" else Distribution(name)
    found = fields(node, (), ("uniform", "integers", "index_of"))
    if len(found) != 1:
        raise node.unlike("exactly one of uniform, integers and index_of")
    ((name, below),) = found.items()
    pair = items(below)
    if len(pair) != 2:
        raise below.unlike("[input, dimension]" if name == "index_of" else "[low, high]")
    if name == "index_of":
        return Distribution(name, of=text(pair[0]), dim=integer(pair[1]))
    low, high = (integer(bound) if name == "integers" else number(bound) for bound in pair)
    if low >= high:
        raise below.unlike("low less than high")
    return Distribution(name, low, high)


def _scale(node: Node, inputs: Mapping[str, Input]) -> dict[str, Template]:
    tensors = [name for name, value in inputs.items() if isinstance(value, Tensor)]
    found: dict[str, Template] = {}
    for name, below in mapping(node).items():
        if name not in tensors:
            raise below.unlike(one_of(tensors, name), f'"{name}"')
        found[name] = tuple(
            SIZE if item.value == SIZE else integer(item, 0) for item in items(below)
        )
    if not any(SIZE in shape for shape in found.values()):
        raise node.unlike(f"{SIZE} in at least one shape, such as [{SIZE}, 64]")
    return found


def _sizes(node: Node) -> str:
    found = text(node)
    try:
        sizes_in(found)
    except UsageError as error:
        raise node.unlike(error.remedy) from None
    return found


def _kwarg(name: str, node: Node) -> Any:
    if not is_argument(name):
        raise node.unlike("an argument name", f'"{name}"')
    if isinstance(node.value, dict):
        return by_variant(node, _plain)
    return _plain(node)


def _plain(node: Node) -> Any:
    value = node.value
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    if isinstance(value, str) and value.startswith("torch.") and not _TORCH_OBJECT.fullmatch(value):
        raise node.unlike("a torch object such as torch.float64")
    if value is not None and not isinstance(value, bool | int | float | str):
        raise node.unlike("a plain value, or a mapping of variants to values")
    return value
