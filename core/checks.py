"""What the arguments of definitions are checked for, each with the error that names it."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
import types
from collections.abc import Mapping
from typing import Any, get_args, get_origin

import attrs

from instruction_counts.core.errors import BrokenText, DefinitionError, quoted
from instruction_counts.core.facts import ExpectedTensor, Layer, Model, Operator, Subject
from instruction_counts.core.labels import RuntimeMode
from instruction_counts.core.runtimes import selectable
from instruction_counts.core.runtimes.compiled import OPTIONS
from instruction_counts.core.signature import Signature, parse_signature


def dedented(text: Any) -> Any:
    """A text without its common indent; anything else as it is."""
    if isinstance(text, BrokenText) or not isinstance(text, str):
        return text
    return textwrap.dedent(text).strip("\n").rstrip()


def raise_if_broken(value: object) -> None:
    """Raise what a stand-in of a parsed statement remembers."""
    if isinstance(value, BrokenText):
        raise value.error


def check_text(field: str, value: object) -> None:
    """Refuse what is no text."""
    raise_if_broken(value)
    if not isinstance(value, str):
        raise DefinitionError(field, quoted(value), "text")


def check_paths(paths: object) -> None:
    """Refuse what is no mapping of texts to texts."""
    raise_if_broken(paths)
    texts = [*paths.keys(), *paths.values()] if isinstance(paths, Mapping) else [paths]
    if not isinstance(paths, Mapping) or not all(isinstance(text, str) for text in texts):
        raise DefinitionError("paths", quoted(paths), "a mapping of paths to strings")


def code(field: str, value: str | None) -> str | None:
    """A statement or setup, dedented; None where there is none."""
    if value is None:
        return None
    check_text(field, value)
    return dedented(value) or None


def check_names(field: str, code: str | None, name: str) -> None:
    """Refuse code that does not name a variable."""
    if code is not None and re.search(rf"\b{name}\b", code) is None:
        raise DefinitionError(field, quoted(code), f"code that defines `{name}`")


def checked_gradient(gradient: object, autograd: bool) -> str | None:
    """The name of a variable, for a backward pass alone."""
    if gradient is None:
        return None
    if not isinstance(gradient, str) or not gradient.isidentifier():
        raise DefinitionError("gradient", quoted(gradient), "the name of a variable from the setup")
    if not autograd:
        raise DefinitionError("gradient", quoted(gradient), "nothing, without autograd=True")
    return gradient


def checked_metadata(metadata: object) -> dict[str, Any]:
    """A copy as JSON would give it back."""
    expected = "a mapping of names to JSON values"
    if not isinstance(metadata, Mapping) or not all(isinstance(name, str) for name in metadata):
        raise DefinitionError("metadata", quoted(metadata), expected)
    try:
        copy = json.loads(json.dumps(dict(metadata), allow_nan=False))
    except (TypeError, ValueError):
        raise DefinitionError("metadata", quoted(metadata), expected) from None
    assert isinstance(copy, dict)
    return copy


def checked_compile_options(compiled: object) -> dict[str, Any] | None:
    """The arguments of ``torch.compile``; None where nothing is compiled."""
    if isinstance(compiled, bool):
        return {} if compiled else None
    expected = f"True, False, or a mapping with some of {', '.join(OPTIONS)}"
    if not isinstance(compiled, Mapping) or any(
        not isinstance(value, OPTIONS.get(name, ())) for name, value in compiled.items()
    ):
        raise DefinitionError("compiled", quoted(compiled), expected)
    return dict(compiled)


def checked_runtimes(
    runtimes: object, torchscript: object, compile_options: object = None
) -> tuple[str, ...]:
    """The runtimes beside eager, each once, first those that have an argument of their own."""
    if not isinstance(torchscript, bool):
        raise DefinitionError("torchscript", quoted(torchscript), "True or False")
    known = selectable()
    if not isinstance(runtimes, tuple) or any(runtime not in known for runtime in runtimes):
        raise DefinitionError("runtimes", quoted(runtimes), f"a tuple of {', '.join(known)}")
    first = (RuntimeMode.JIT.option,) if torchscript else ()
    if compile_options is not None:
        first = (*first, RuntimeMode.COMPILED.option)
    return tuple(dict.fromkeys((*first, *runtimes)))


def check_source(field: str, source: str | None, runtimes: tuple[str, ...]) -> None:
    """Refuse what is to be scripted or compiled, and is not there in Python."""
    what = "model" if "model" in field else "statement"
    for runtime, verb in ((RuntimeMode.JIT, "script"), (RuntimeMode.COMPILED, "compile")):
        if source is None and runtime.option in runtimes:
            raise DefinitionError(field, "nothing", f"a Python {what} to {verb}")


def parse_modes(
    signature: str | None, runtimes: tuple[str, ...], autograd: bool
) -> Signature | None:
    """The signature, which runtimes and autograd need."""
    if not isinstance(autograd, bool):
        raise DefinitionError("autograd", quoted(autograd), "True or False")
    if signature is None:
        if runtimes or autograd:
            mode = next(iter(runtimes), "autograd")
            has_argument = mode in {"torchscript", "compiled", "autograd"}
            flag = f"{mode}=True" if has_argument else f'runtime "{mode}"'
            raise DefinitionError(
                "signature", "nothing", f'"f(a, b, …) -> output": {flag} needs it'
            )
        return None
    parsed = parse_signature(signature)
    if autograd and parsed.output is None:
        raise DefinitionError(
            "signature",
            quoted(signature),
            "an output, which autograd=True runs backward from",
        )
    return parsed


def thread_counts(num_threads: object) -> tuple[int, ...]:
    """Distinct numbers of threads, of which one may be stated alone."""
    counts = num_threads if isinstance(num_threads, tuple) else (num_threads,)
    expected = "an int of at least 1, or a tuple of distinct ints"
    is_valid = all(type(count) is int and count >= 1 for count in counts)
    if not counts or not is_valid or len(set(counts)) != len(counts):
        raise DefinitionError("num_threads", quoted(num_threads), expected)
    return counts


def checked_subject(subject: object) -> Subject | None:
    """What is measured, where that is stated: each field of it is checked."""
    if subject is not None and not isinstance(subject, Operator | Layer | Model):
        raise DefinitionError("subject", quoted(subject), "an Operator, a Layer or a Model")
    if subject is not None:
        _check_fields("subject", subject)
    if isinstance(subject, Layer):
        for place, use in enumerate(subject.uses):
            _check_fields(f"subject.uses[{place}]", use)
    return subject


def checked_expected(expected: object) -> tuple[ExpectedTensor, ...]:
    """What is computed, each tensor once."""
    if not _are_all(expected, ExpectedTensor):
        raise DefinitionError("expected", quoted(expected), "a tuple of ExpectedTensor")
    tensors: tuple[ExpectedTensor, ...] = expected  # type: ignore[assignment] # as it was checked
    for place, tensor in enumerate(tensors):
        _check_fields(f"expected[{place}]", tensor)
    names = [tensor.name for tensor in tensors]
    if len(set(names)) < len(names):
        raise DefinitionError("expected", ", ".join(names), "each tensor once")
    return tensors


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
            raise DefinitionError(f"{place}.{field.name}", quoted(found), expected + more)


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


def _are_all(values: object, kind: type) -> bool:
    return isinstance(values, tuple) and all(type(value) is kind for value in values)
