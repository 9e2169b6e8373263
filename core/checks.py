"""What the arguments of definitions are checked for, each with the error that names it."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from instruction_counts.core.errors import BrokenText, DefinitionError, quoted
from instruction_counts.core.facts import ExpectedTensor, Layer, Model, Operator, Subject, Use
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
    match subject:
        case None:
            return None
        case Operator():
            _check_operator(subject)
        case Layer():
            _check_name("subject.type", subject.type)
            _check_uses(subject.uses)
        case Model():
            _check_name("subject.name", subject.name)
        case _:
            raise DefinitionError("subject", quoted(subject), "an Operator, a Layer or a Model")
    return subject


def checked_expected(expected: object) -> tuple[ExpectedTensor, ...]:
    """What is computed, each tensor once."""
    if not isinstance(expected, tuple) or any(
        type(tensor) is not ExpectedTensor for tensor in expected
    ):
        raise DefinitionError("expected", quoted(expected), "a tuple of ExpectedTensor")
    for place, tensor in enumerate(expected):
        _check_tensor(f"expected[{place}]", tensor)
    names = [tensor.name for tensor in expected]
    if len(set(names)) < len(names):
        raise DefinitionError("expected", ", ".join(names), "each tensor once")
    return expected


def _check_operator(operator: Operator) -> None:
    _check_name("subject.name", operator.name)
    for field in ("category", "variant", "no_cpp"):
        check_text(f"subject.{field}", getattr(operator, field))
    if operator.dtype is not None:
        _check_name("subject.dtype", operator.dtype)
    _check_count("subject.seed", operator.seed)
    shapes: object = operator.shapes
    if not isinstance(shapes, dict) or not all(isinstance(name, str) for name in shapes):
        raise DefinitionError("subject.shapes", quoted(shapes), "a dict of names to shapes")
    for name, shape in shapes.items():
        _check_shape(f"subject.shapes[{name!r}]", shape)


def _check_uses(uses: object) -> None:
    if not isinstance(uses, tuple) or any(type(use) is not Use for use in uses):
        raise DefinitionError("subject.uses", quoted(uses), "a tuple of Use")
    for place, use in enumerate(uses):
        field = f"subject.uses[{place}]"
        _check_name(f"{field}.model", use.model)
        check_text(f"{field}.path", use.path)
        _check_count(f"{field}.count", use.count, least=1)


def _check_tensor(field: str, tensor: ExpectedTensor) -> None:
    _check_name(f"{field}.name", tensor.name)
    if tensor.shape is not None:
        _check_shape(f"{field}.shape", tensor.shape)
    if tensor.dtype is not None:
        _check_name(f"{field}.dtype", tensor.dtype)
    if tensor.sum is not None and not _is_number(tensor.sum):
        raise DefinitionError(f"{field}.sum", quoted(tensor.sum), "a number")
    if not _is_number(tensor.tolerance) or tensor.tolerance < 0:
        expected = "a number of at least 0"
        raise DefinitionError(f"{field}.tolerance", quoted(tensor.tolerance), expected)


def _check_name(field: str, value: object) -> None:
    check_text(field, value)
    if not value:
        raise DefinitionError(field, quoted(value), "a name")


def _check_count(field: str, value: object, least: int = 0) -> None:
    if type(value) is not int or value < least:
        raise DefinitionError(field, quoted(value), f"an int of at least {least}")


def _check_shape(field: str, value: object) -> None:
    if not isinstance(value, tuple) or any(type(size) is not int or size < 0 for size in value):
        raise DefinitionError(field, quoted(value), "a tuple of sizes")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an int that no float can be
        return False
