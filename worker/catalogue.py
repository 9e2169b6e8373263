"""Tells what an installed torch offers.

- `locate`: where torch lies and what tells one torch from another, without importing it.
- `absent`: which of some names, such as ``torch.compile``, torch does not have.
- `schemas`: every schema of the namespace aten.
- `public_operators`: every operator that users call, what it is called below, and how often
  torch's own Python calls it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Tuple

from .installed import Message, identity, import_torch, torch_folder

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


def absent(request: Message) -> Message:
    """Those of ``names`` that lead to nothing from torch."""
    torch = import_torch()
    return {"names": [name for name in request["names"] if not _has(torch, name)]}


def _has(torch: Any, name: str) -> bool:
    found = torch
    for part in name.split(".")[1:]:
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


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
        **identity(torch),
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
        elements: List[Any] = [plain(item) for item in value]
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
# Methods that are called like the type that they convert to.
_CONVERSIONS = {
    *("bfloat16", "double", "float", "half", "cdouble", "cfloat"),
    *("bool", "byte", "char", "int", "long", "short"),
}


def public_operators(request: Message) -> Message:
    """Every public operator: its name, the native one, its tags, and how often it is called."""
    del request
    torch = import_torch()
    natives = native_names(torch)
    uses = count_calls(python_sources(Path(torch.__file__).parent))
    found = []
    for namespace in _PREFIXES:
        for name, function in sorted(_functions_in(torch, namespace).items()):
            native = _native_name(namespace, name, function, natives)
            if is_operator(torch, namespace, name, function, native):
                found.append(
                    {
                        "name": "%s.%s" % (namespace, name),
                        "namespace": namespace,
                        "native": native,
                        "tags": _tags(torch, native),
                        "uses": uses[namespace, name],
                    }
                )
    return {**identity(torch), "operators": found}


def native_names(torch: Any) -> Set[str]:
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


def _functions_in(torch: Any, namespace: str) -> Dict[str, Any]:
    owner = torch
    for part in namespace.split(".")[1:]:
        owner = getattr(owner, part)
    members = {name: getattr(owner, name, None) for name in dir(owner) if not name.startswith("_")}
    return {
        name: member
        for name, member in members.items()
        if callable(member) and not isinstance(member, type)
    }


def _native_name(namespace: str, name: str, function: Any, natives: Set[str]) -> str:
    if namespace == "torch.Tensor" and name in _CONVERSIONS:
        return "to"
    candidates = [prefix + name for prefix in _PREFIXES[namespace]]
    candidates += [getattr(function, "__name__", ""), name + "_loss"]
    return next((name for name in candidates if name in natives), "")


def is_operator(torch: Any, namespace: str, name: str, function: Any, native: str) -> bool:
    """Whether it computes with tensors, and is not there for old programs alone.

    Without a native name that is sure only of functions that other classes may override.
    """
    doc = function.__doc__ or ""
    if re.search(r"(\b%s`? is|[Tt]his (function|method) is) deprecated" % re.escape(name), doc):
        return False
    if namespace not in {"torch", _FUNCTIONAL}:
        return bool(native)
    overridable = _overridable(torch, namespace)
    if namespace == "torch" and not native:
        return function in overridable and not name.startswith("sym_")
    is_of_torch = str(getattr(function, "__module__", None) or "torch").startswith("torch")
    return function in overridable or (bool(native) and is_of_torch)


def _overridable(torch: Any, namespace: str) -> List[Any]:
    by_owner = torch.overrides.get_overridable_functions()
    owners = [torch, torch.functional] if namespace == "torch" else [torch.nn.functional]
    return [name for owner in owners for name in by_owner.get(owner, [])]


def _tags(torch: Any, native: str) -> List[str]:
    """What torch says of its overloads, such as pointwise, reduction or view_copy.

    Those that write to ``out`` are left out, as they have tags of their own.
    """
    packet = getattr(torch.ops.aten, native, None) if native else None
    if packet is None:
        return []
    names = (name for name in packet.overloads() if name != "out" and not name.endswith("_out"))
    overloads = (getattr(packet, name) for name in names)
    tags = {tag.name for overload in overloads for tag in getattr(overload, "tags", [])}
    return sorted(tags)


# How often they are called

_CALL = re.compile(r"\.([A-Za-z]\w*)\(")
_OWNER = re.compile(r"(?:^|[^\w.])([\w.]*)$")
_LONGEST_OWNER = 30
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


def count_calls(texts: Iterator[str]) -> "Counter[Tuple[str, str]]":
    """How often a name is called by namespace; after whatever else, it counts as a method.

    Names decide, so that ``split`` of a text is one of a tensor, too.
    """
    found: "Counter[Tuple[str, str]]" = Counter()
    for text in texts:
        for call in _CALL.finditer(text):
            # Looked for from the call: a pattern for both would try every word of the text.
            before = text[max(0, call.start() - _LONGEST_OWNER) : call.start()]
            owner = _OWNER.search(before)
            namespace = _SPELLINGS.get(owner[1] if owner else "", "torch.Tensor")
            found[namespace, call[1]] += 1
    return found
