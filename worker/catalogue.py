"""Tells what an installed torch offers.

- `locate`: where torch lies and what tells one torch from another, without importing it.
- `schemas`: every schema of the namespace aten.
- `public_operators`: every operator of aten that users call, and how often torch's own Python does.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

from .installed import Message, import_torch, torch_folder

_NAMESPACE = "aten::"


# Which torch this is


def locate(request: Message) -> Message:
    """The folder of torch, its version file, and size and time of its libraries."""
    del request
    root = torch_folder()
    version = root / "version.py"
    libraries = [*root.glob("_C*.so"), *root.glob("lib/libtorch*.so*")]
    return {
        "root": str(root),
        "version": version.read_text(encoding="utf-8") if version.exists() else "",
        "files": [
            [str(path), path.stat().st_size, path.stat().st_mtime_ns]
            for path in sorted(libraries)
            if path.exists()
        ],
    }


# Schemas


def schemas(request: Message) -> Message:
    """Every schema of the namespace aten, with its arguments as the dispatcher knows them."""
    del request
    torch = import_torch()
    found = {
        (schema.name[len(_NAMESPACE) :], schema.overload_name): schema
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith(_NAMESPACE)
    }
    return {
        "schemas": [
            {
                "name": name,
                "overload": overload,
                "arguments": [_argument(argument) for argument in schema.arguments],
                "returns": [_type(returned) for returned in schema.returns],
            }
            for (name, overload), schema in sorted(found.items())
        ],
    }


def _argument(argument: Any) -> Message:
    has_default = bool(argument.has_default_value())
    alias = argument.alias_info
    return {
        "name": argument.name,
        "type": _type(argument),
        "kwarg_only": bool(argument.kwarg_only),
        "has_default": has_default,
        "default": plain(argument.default_value) if has_default else None,
        "is_write": bool(alias is not None and alias.is_write),
    }


def _type(argument: Any) -> str:
    # The real type tells ScalarType, MemoryFormat, Layout and SymInt, all of which pass as int.
    return str(getattr(argument, "real_type", argument.type))


def plain(value: Any) -> Any:
    """A value as JSON has it, or else its text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        elements: list[Any] = [plain(item) for item in value]
        return elements
    return str(value)


# Public operators

_FUNCTIONAL = "torch.nn.functional"
# Where operators are public, and what their native names begin with.
_PREFIXES = {
    "torch": ("",),
    _FUNCTIONAL: ("",),
    "torch.linalg": ("linalg_",),
    "torch.fft": ("fft_",),
    "torch.special": ("special_",),
    "torch.sparse": ("sparse_", "_sparse_", "_"),
    "torch.Tensor": ("",),
}


def public_operators(request: Message) -> Message:
    """Every public operator that is one of aten below: its names, and how often it is called."""
    del request
    torch = import_torch()
    natives = native_names(torch)
    uses = count_calls(python_sources(Path(torch.__file__).parent))
    found = []
    for namespace, prefixes in _PREFIXES.items():
        owner = functools.reduce(getattr, namespace.split(".")[1:], torch)
        for name in dir(owner):
            candidates = [*(prefix + name for prefix in prefixes), name + "_loss"]
            native = next((candidate for candidate in candidates if candidate in natives), None)
            if native and is_public(name, getattr(owner, name, None)):
                found.append(
                    {
                        "name": "%s.%s" % (namespace, name),
                        "namespace": namespace,
                        "native": native,
                        "uses": uses[namespace, name],
                    }
                )
    return {"operators": found}


def native_names(torch: Any) -> set[str]:
    """The names in aten of what the dispatcher knows and takes or returns tensors."""
    dispatched = getattr(torch._C, "_dispatch_get_all_op_names", None)
    known = {name.partition(".")[0] for name in dispatched()} if dispatched else None
    return {
        schema.name[len(_NAMESPACE) :]
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith(_NAMESPACE)
        and (known is None or schema.name in known)
        and any("Tensor" in str(argument.type) for argument in [*schema.arguments, *schema.returns])
    }


def is_public(name: str, member: Any) -> bool:
    """Whether it is a function that is not there for old programs alone."""
    if name.startswith("_") or not callable(member) or isinstance(member, type):
        return False
    deprecated = r"(\b%s`? is|[Tt]his (function|method) is) deprecated" % re.escape(name)
    return re.search(deprecated, member.__doc__ or "") is None


# How often they are called

# Only whole owners: trying each part of a word would take quadratic time.
_CALL = re.compile(r"(?<![\w.])([\w.]*)\.([A-Za-z]\w*)\(")
_SPELLINGS = {
    "F": _FUNCTIONAL,
    "functional": _FUNCTIONAL,
    "nn.functional": _FUNCTIONAL,
    "linalg": "torch.linalg",
    **{namespace: namespace for namespace in _PREFIXES},
}
_LEFT_OUT = {"test", "tests", "testing", "generated", "serialized_patterns", "artifacts"}


def python_sources(root: Path) -> Iterator[str]:
    """The texts of a package, but for its tests and for what programs wrote."""
    for path in sorted(root.rglob("*.py")):
        if not _LEFT_OUT.intersection(path.relative_to(root).parts):
            yield path.read_text(encoding="utf-8", errors="replace")


def count_calls(texts: Iterator[str]) -> Counter[tuple[str, str]]:
    """How often a name is called by namespace; after whatever else, it counts as a method.

    Names decide, so that ``split`` of a text is one of a tensor, too.
    """
    calls = (call for text in texts for call in _CALL.finditer(text))
    return Counter((_SPELLINGS.get(call[1], "torch.Tensor"), call[2]) for call in calls)
