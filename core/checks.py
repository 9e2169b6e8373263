"""What the arguments of definitions are checked for, each with the error that names it."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from core.errors import BrokenText, DefinitionError, quoted
from core.runtimes import selectable
from core.signature import Signature, parse_signature
from core.types import RuntimeMode


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


def checked_runtimes(runtimes: object, torchscript: object) -> tuple[str, ...]:
    """The runtimes beside eager, each once, TorchScript first where it has its own argument."""
    if not isinstance(torchscript, bool):
        raise DefinitionError("torchscript", quoted(torchscript), "True or False")
    known = selectable()
    if not isinstance(runtimes, tuple) or any(runtime not in known for runtime in runtimes):
        raise DefinitionError("runtimes", quoted(runtimes), f"a tuple of {', '.join(known)}")
    first = (RuntimeMode.JIT.option,) if torchscript else ()
    return tuple(dict.fromkeys((*first, *runtimes)))


def parse_modes(
    signature: str | None, runtimes: tuple[str, ...], autograd: bool
) -> Signature | None:
    """The signature, which runtimes and autograd need."""
    if not isinstance(autograd, bool):
        raise DefinitionError("autograd", quoted(autograd), "True or False")
    if signature is None:
        if runtimes or autograd:
            mode = next(iter(runtimes), "autograd")
            flag = f"{mode}=True" if mode in {"torchscript", "autograd"} else f'runtime "{mode}"'
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
