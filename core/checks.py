"""What the arguments of definitions are checked for, each with the error that names it."""

import ast
import contextlib
import inspect
import json
import re
import textwrap
import types
from collections.abc import Mapping
from typing import Any, get_args, get_origin

import attrs

from instruction_counts.core.errors import DefinitionError, quoted, require
from instruction_counts.core.facts import ExpectedTensor, Layer, Model, Operator, Subject
from instruction_counts.core.labels import DEVICES
from instruction_counts.core.runtimes import selectable
from instruction_counts.core.runtimes.compiled import OPTIONS
from instruction_counts.core.signature import Signature, parse_signature


def dedented(text: Any) -> Any:
    """A text without its common indent; anything else as it is."""
    return textwrap.dedent(text).strip("\n").rstrip() if isinstance(text, str) else text


def check_text(field: str, value: object) -> None:
    """Refuse what is no text, and what no file can hold: half a pair of surrogates."""
    if not isinstance(value, str):
        raise DefinitionError(field, quoted(value), "text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        line = value.count("\n", 0, error.start) + 1
        found = f"{value[error.start]!a} in line {line}"
        raise DefinitionError(field, found, "text in UTF-8") from error


def code(field: str, value: str | None) -> str | None:
    """A statement or setup, dedented; None where there is none."""
    if value is None:
        return None
    check_text(field, value)
    return dedented(value) or None


def check_whole(field: str, code: str) -> None:
    """Refuse Python that would leave the loop which it is executed in, as `return` does.

    What is no Python at all is left to the build, whose Python may be another.
    """
    if _LEAVING.search(code) is None:
        return
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return
    try:
        compile(tree, "<code>", "exec", dont_inherit=True)
    except SyntaxError as error:
        line = code.splitlines()[(error.lineno or 1) - 1]
        raise DefinitionError(field, quoted(line), f"code to repeat: {error.msg}") from error


_LEAVING = re.compile(r"\b(return|yield|break|continue|await)\b")


def check_names(field: str, code: str | None, name: str) -> None:
    """Refuse code that does not name a variable."""
    is_named = code is None or re.search(rf"\b{name}\b", code)
    require(field, code, is_named, f"code that defines `{name}`")


def checked_gradient(gradient: str | None, autograd: bool) -> str | None:
    """The name of a variable, for a backward pass alone."""
    if gradient is not None:
        is_name = isinstance(gradient, str) and gradient.isidentifier()
        require("gradient", gradient, is_name, "the name of a variable from the setup")
        require("gradient", gradient, autograd, "nothing, without autograd=True")
    return gradient


def json_copy(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of metadata as JSON would give it back; None is as good as none."""
    if metadata is None:
        return {}
    if isinstance(metadata, Mapping) and all(isinstance(name, str) for name in metadata):
        with contextlib.suppress(TypeError, ValueError):
            copy: dict[str, Any] = json.loads(json.dumps(dict(metadata), allow_nan=False))
            return copy
    raise DefinitionError("metadata", quoted(metadata), "a mapping of names to JSON values")


def checked_compile_options(compiled: bool | Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``torch.compile`` that are stated."""
    if isinstance(compiled, bool):
        return {}
    are_known = isinstance(compiled, Mapping) and all(
        isinstance(value, OPTIONS.get(name, ())) for name, value in compiled.items()
    )
    expected = f"True, False, or a mapping with some of {', '.join(OPTIONS)}"
    require("compiled", compiled, are_known, expected)
    return dict(compiled)


def checked_dynamic_shapes(exported: bool | Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The dimensions of each argument that vary."""
    if isinstance(exported, bool):
        return {}
    is_one = isinstance(exported, Mapping) and set(exported) == {"dynamic_shapes"}
    shapes = exported["dynamic_shapes"] if is_one else None
    if not isinstance(shapes, Mapping) or not all(map(_are_dimensions, shapes.values())):
        expected = 'True, False, or the dimensions that vary: {"dynamic_shapes": {"x": (0,)}}'
        raise DefinitionError("exported", quoted(exported), expected)
    return {str(name): tuple(sizes) for name, sizes in shapes.items()}


def _are_dimensions(sizes: object) -> bool:
    return isinstance(sizes, list | tuple) and all(
        type(size) is int and size >= 0 for size in sizes
    )


_VERBS = {"torchscript": "script", "compiled": "compile", "exported": "export"}
"""The runtimes that have an argument of their own, and what they do to Python code."""


def checked_runtimes(field: str, source: str | None, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The runtimes beside eager, each once, first those with an argument of their own.

    These make something of the Python ``source``, which has to be there for them.
    """
    known, runtimes = selectable(), options.get("runtimes", ())
    are_known = isinstance(runtimes, tuple) and all(runtime in known for runtime in runtimes)
    require("runtimes", runtimes, are_known, f"a tuple of {', '.join(known)}")
    first = (name for name in _VERBS if options.get(name, False) is not False)
    asked = tuple(dict.fromkeys((*first, *runtimes)))
    what = "model" if "model" in field else "statement"
    for runtime in asked:
        if source is None and runtime in _VERBS:
            raise DefinitionError(field, "nothing", f"a Python {what} to {_VERBS[runtime]}")
    return asked


def parse_modes(
    signature: str | None, runtimes: tuple[str, ...], autograd: bool
) -> Signature | None:
    """The signature, which runtimes and autograd need."""
    require("autograd", autograd, isinstance(autograd, bool), "True or False")
    if signature is None:
        for mode in (*runtimes, *(["autograd"] if autograd else [])):
            flag = f"{mode}=True" if mode in {*_VERBS, "autograd"} else f'runtime "{mode}"'
            expected = f'"f(a, b, …) -> output": {flag} needs it'
            raise DefinitionError("signature", "nothing", expected)
        return None
    parsed = parse_signature(signature)
    expected = "an output, which autograd=True runs backward from"
    require("signature", signature, parsed.output or not autograd, expected)
    return parsed


def thread_counts(num_threads: int | tuple[int, ...]) -> tuple[int, ...]:
    """Distinct numbers of threads, of which one may be stated alone."""
    counts = num_threads if isinstance(num_threads, tuple) else (num_threads,)
    are_counts = all(type(count) is int and 1 <= count <= _MOST_THREADS for count in counts)
    are_valid = counts and are_counts and len(set(counts)) == len(counts)
    expected = f"an int from 1 to {_MOST_THREADS:,}, or a tuple of distinct ones"
    require("num_threads", num_threads, are_valid, expected)
    return counts


_MOST_THREADS = 2**31 - 1  # torch takes no more


def checked_device(device: str | None) -> str | None:
    """A device, where one is stated."""
    expected = f"one of {', '.join(DEVICES)}, or None"
    require("device", device, device is None or device in DEVICES, expected)
    return device


def checked_devices(device: str | tuple[str, ...] | None) -> tuple[str | None, ...]:
    """Distinct devices, of which one may be stated alone; None is none in particular."""
    if not isinstance(device, tuple):
        return (checked_device(device),)
    are_known = device and all(one in DEVICES for one in device)
    expected = f"one of {', '.join(DEVICES)}, a tuple of distinct ones, or None"
    require("device", device, are_known and len(set(device)) == len(device), expected)
    return device


def checked_imports(imports: tuple[str, ...]) -> tuple[str, ...]:
    """Names of modules; a submodule of torch needs torch before it."""
    are_names = isinstance(imports, tuple) and all(
        isinstance(name, str) and all(map(str.isidentifier, name.split("."))) for name in imports
    )
    require("imports", imports, are_names, 'a tuple of modules: ("torch", "torch._inductor")')
    within = [name for name in imports if name.startswith("torch.")]
    expected = '"torch" before what is part of it'
    require("imports", imports, not within or imports[0] == "torch", expected)
    return imports


def checked_subject(subject: Subject | None) -> Subject | None:
    """What is measured, where that is stated: each field of it is checked."""
    if subject is not None:
        is_known = isinstance(subject, Operator | Layer | Model)
        require("subject", subject, is_known, "an Operator, a Layer or a Model")
        _check_fields("subject", subject)
    return subject


def expectations(expected: tuple[ExpectedTensor, ...]) -> tuple[ExpectedTensor, ...]:
    """What is computed, each tensor once."""
    are_known = _fits(expected, tuple[ExpectedTensor, ...])
    require("expected", expected, are_known, "a tuple of ExpectedTensor")
    for place, tensor in enumerate(expected):
        _check_fields(f"expected[{place}]", tensor)
    names = [tensor.name for tensor in expected]
    if len(set(names)) < len(names):
        raise DefinitionError("expected", ", ".join(names), "each tensor once")
    return expected


_FILLED = {"name", "type", "model", "dtype", "count"}


def _check_fields(place: str, value: Any) -> None:
    """Hold a fact to the types of its fields; what names or counts something is not empty."""
    for field in attrs.fields(attrs.resolve_types(type(value))):
        found = getattr(value, field.name)
        is_known = _fits(found, field.type)
        is_empty = field.name in _FILLED and found in ("", 0)
        if not is_known or is_empty or (field.name == "tolerance" and found < 0):
            expected = inspect.formatannotation(field.type, "instruction_counts.core.facts")
            more = ", neither empty nor negative" if is_known else ""
            if field.type is int:
                expected, more = f"an int of at least {int(field.name in _FILLED)}", ""
            raise DefinitionError(f"{place}.{field.name}", quoted(found), expected + more)
        for number, use in enumerate(found if field.name == "uses" else ()):
            _check_fields(f"{place}.uses[{number}]", use)


def _fits(value: Any, kind: Any) -> bool:
    origin, kinds = get_origin(kind), get_args(kind)
    if origin is types.UnionType:
        return any(_fits(value, part) for part in kinds)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(part, kinds[0]) for part in value)
    if origin is Mapping:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(_fits(key, kinds[0]) and _fits(part, kinds[1]) for key, part in pairs)
    if kind is float:  # neither infinite, nor an int that no float can be
        return type(value) in {int, float} and abs(value) < 1e308
    return type(value) is kind and not (kind is int and value < 0)
