"""Tells what an installed torch offers, in the interpreter of the build that is asked.

This one file is all that a build needs: it imports the standard library, and torch inside
functions, and nothing else of this project. It runs on Python 3.9 and later. It is started with
the path of a request and the path of its answer, both JSON; the key ``question`` says which:

- ``locate``: where torch lies and what tells one torch from another, without importing it.
- ``schemas``: every schema of the namespace aten.
- ``public_operators``: every operator that users call, what it is called below, and how often
  torch's own Python calls it.
- ``op_db``: sample inputs of operators, from the database that torch tests itself with.
- ``capability``: what one core of this machine can do.
- ``absent``: which of some names, such as ``torch.compile``, torch does not have.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import math
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

Message = Dict[str, Any]
_NAMESPACE = "aten::"
_KIB, _MIB = 1 << 10, 1 << 20


class RefusalError(Exception):
    """A question that this build cannot answer, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Answer the one question that the request file holds."""
    request_path, answer_path = sys.argv[1:] if argv is None else argv
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    questions = {
        "locate": locate,
        "schemas": schemas,
        "public_operators": public_operators,
        "op_db": op_db,
        "capability": capability,
        "absent": absent,
    }
    try:
        answer = {"status": "ok", **questions[request["question"]](request)}
    except RefusalError as error:
        answer = {"status": "failed", "message": error.message, "hint": error.hint}
    Path(answer_path).write_text(json.dumps(answer, allow_nan=False), encoding="utf-8")
    return 0


# ---------------------------------------------------------------------------------------------
# Which torch this is
# ---------------------------------------------------------------------------------------------


def locate(request: Message) -> Message:
    """The folder of torch, its version file, and size and time of its libraries."""
    root = _root()
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
        "sources": _sources(root) if request.get("sources") else "",
    }


def absent(request: Message) -> Message:
    """Those of ``names`` that lead to nothing from torch."""
    torch = _torch()
    return {"names": [name for name in request["names"] if not _has(torch, name)]}


def _has(torch: Any, name: str) -> bool:
    found = torch
    for part in name.split(".")[1:]:
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def _sources(root: Path) -> str:
    """What is another one as soon as a Python file comes, goes, or has another time or size."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        about = path.stat()
        state = (str(path.relative_to(root)), about.st_mtime_ns, about.st_size)
        digest.update(repr(state).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _root() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        raise RefusalError(
            "%s has no torch" % sys.executable,
            "%s -m pip install torch     or name another build" % sys.executable,
        )
    return Path(spec.origin).parent


def _torch() -> Any:
    _root()
    try:
        import torch
    except Exception as error:  # a broken torch fails in many ways
        message = "cannot import torch: %s: %s" % (type(error).__name__, error)
        raise RefusalError(message, "%s -c 'import torch' shows more." % sys.executable) from error
    return torch


def _identity(torch: Any) -> Message:
    return {
        "torch_version": str(torch.__version__),
        "git_version": getattr(torch.version, "git_version", None) or "",
    }


# ---------------------------------------------------------------------------------------------
# Schemas
# ---------------------------------------------------------------------------------------------


def schemas(request: Message) -> Message:
    """Every schema of the namespace aten, with its arguments as the dispatcher knows them."""
    del request
    torch = _torch()
    found = {
        (one.name[len(_NAMESPACE) :], one.overload_name): one
        for one in torch._C._jit_get_all_schemas()
        if one.name.startswith(_NAMESPACE)
    }
    return {
        **_identity(torch),
        "schemas": [
            {
                "name": name,
                "overload": overload,
                "arguments": [_argument(one) for one in schema.arguments],
                "returns": [_type(one) for one in schema.returns],
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
        elements: List[Any] = [plain(one) for one in value]
        return elements
    return str(value)


# ---------------------------------------------------------------------------------------------
# Public operators
# ---------------------------------------------------------------------------------------------

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
    torch = _torch()
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
    return {**_identity(torch), "operators": found}


def native_names(torch: Any) -> Set[str]:
    """The names in aten of what the dispatcher knows and takes or returns tensors."""
    dispatched = getattr(torch._C, "_dispatch_get_all_op_names", None)
    known = {one.partition(".")[0] for one in dispatched()} if dispatched else None
    return {
        schema.name[len(_NAMESPACE) :]
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith(_NAMESPACE)
        and (known is None or schema.name in known)
        and any("Tensor" in str(one.type) for one in [*schema.arguments, *schema.returns])
    }


def _functions_in(torch: Any, namespace: str) -> Dict[str, Any]:
    owner = torch
    for part in namespace.split(".")[1:]:
        owner = getattr(owner, part)
    members = {name: getattr(owner, name, None) for name in dir(owner) if not name.startswith("_")}
    return {
        name: one for name, one in members.items() if callable(one) and not isinstance(one, type)
    }


def _native_name(namespace: str, name: str, function: Any, natives: Set[str]) -> str:
    if namespace == "torch.Tensor" and name in _CONVERSIONS:
        return "to"
    candidates = [prefix + name for prefix in _PREFIXES[namespace]]
    candidates += [getattr(function, "__name__", ""), name + "_loss"]
    return next((one for one in candidates if one in natives), "")


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
    return [one for owner in owners for one in by_owner.get(owner, [])]


def _tags(torch: Any, native: str) -> List[str]:
    """What torch says of its overloads, such as pointwise, reduction or view_copy.

    Those that write to ``out`` are left out, as they have tags of their own.
    """
    packet = getattr(torch.ops.aten, native, None) if native else None
    if packet is None:
        return []
    names = (one for one in packet.overloads() if one != "out" and not one.endswith("_out"))
    overloads = (getattr(packet, one) for one in names)
    tags = {tag.name for one in overloads for tag in getattr(one, "tags", [])}
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


# ---------------------------------------------------------------------------------------------
# Samples
# ---------------------------------------------------------------------------------------------


def op_db(request: Message) -> Message:
    """Samples of the operators ``names``: of each variant ``limit`` at most, of type ``dtype``.

    With ``requires_grad``, inputs require a gradient where torch says that there is one.
    """
    torch = _torch()
    dtype = getattr(torch, request["dtype"], None)
    if not isinstance(dtype, torch.dtype):
        raise RefusalError("torch has no dtype %r" % request["dtype"], "For example: float32")
    database = _database()
    operators = []
    for name in request["names"]:
        for entry in database:
            if name in spellings(entry):
                made = _samples(torch, entry, dtype, request)
                operators.append({"name": name, "variant": entry.variant_test_name, **made})
    return {**_identity(torch), "operators": operators}


def _database() -> Any:
    try:
        from torch.testing._internal.common_methods_invocations import op_db as database
    except ModuleNotFoundError as error:
        if str(error.name).startswith("torch."):
            raise RefusalError("this torch has no samples of operators") from error
        raise RefusalError(
            "torch's samples of operators need the module %s" % error.name,
            "%s -m pip install %s" % (sys.executable, error.name),
        ) from error
    except Exception as error:
        message = "torch's samples of operators cannot be read: %s: %s"
        raise RefusalError(message % (type(error).__name__, error)) from error
    return database


def spellings(entry: Any) -> Set[str]:
    """All that an operator of the database is called: publicly, as a method, and natively."""
    names = {entry.name, *(alias.name for alias in entry.aliases)}
    public = {owner + one for owner in ("torch.", "torch.Tensor.") for one in names}
    return {*names, *public, entry.aten_name}


def _samples(torch: Any, entry: Any, dtype: Any, request: Message) -> Message:
    if dtype not in entry.dtypes:
        return {"samples": [], "reason": "it does not take %s" % dtype}
    has_gradient = entry.supports_autograd and dtype in entry.backward_dtypes
    torch.manual_seed(0)
    try:
        inputs = entry.sample_inputs(
            "cpu", dtype, requires_grad=request["requires_grad"] and has_gradient
        )
        samples = [_sample(torch, one) for one in itertools.islice(inputs, request["limit"])]
    except Exception as error:  # noqa: BLE001 - the database fails as it likes
        return {"samples": [], "reason": "%s: %s" % (type(error).__name__, error)}
    return {"samples": samples, "reason": ""}


def _sample(torch: Any, sample: Any) -> Message:
    return {
        "input": described(torch, sample.input),
        "args": [described(torch, one) for one in sample.args],
        "kwargs": {name: described(torch, one) for name, one in sample.kwargs.items()},
    }


def described(torch: Any, value: Any) -> Any:
    """A value as JSON; a tensor by what it is like, other objects by the code that makes them."""
    if isinstance(value, torch.Tensor):
        tensor = {
            "tensor": list(value.shape),
            "dtype": str(value.dtype).replace("torch.", ""),
            "requires_grad": bool(value.requires_grad),
        }
        if str(value.dtype).startswith(("torch.int", "torch.uint")) and value.numel():
            tensor["range"] = [int(value.min()), int(value.max())]  # often an index
        if value.layout is not torch.strided:
            tensor["layout"] = str(value.layout)
        return tensor
    if isinstance(value, list):
        return [described(torch, one) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [described(torch, one) for one in value]}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"code": "float(%r)" % str(value)}
    return {"code": repr(value)}


# ---------------------------------------------------------------------------------------------
# What the machine can do
# ---------------------------------------------------------------------------------------------

_REPEATS = 5
_MATRIX_SIZE = 1024


def capability(request: Message) -> Message:
    """Copied bytes and operations of a matrix product in a second: on one core, with one thread."""
    if request["core"] is not None:
        os.sched_setaffinity(0, [request["core"]])
    torch = _torch()
    torch.set_num_threads(1)
    return {
        "copy_bytes_per_s": _copy_bytes_per_s(torch),
        "matmul_flops_per_s": _matmul_flops_per_s(torch),
    }


def _copy_bytes_per_s(torch: Any) -> int:
    """Bytes that a copy reads and writes; the best of several."""
    half = copied_bytes(last_level_cache_bytes(Path("/sys/devices/system/cpu")), available_bytes())
    source = torch.ones(half, dtype=torch.uint8)
    target = torch.ones(half, dtype=torch.uint8)
    return int(2 * half / _best_s(lambda: target.copy_(source)))


def _matmul_flops_per_s(torch: Any) -> int:
    """Multiplications and additions of a product of float32 matrices; the best of several."""
    a, b, c = (torch.ones(_MATRIX_SIZE, _MATRIX_SIZE) for _ in range(3))
    return int(2 * _MATRIX_SIZE**3 / _best_s(lambda: torch.mm(a, b, out=c)))


def _best_s(function: Callable[[], Any]) -> float:
    """The shortest time of several runs, after one to warm up."""
    times_s = []
    for _ in range(1 + _REPEATS):
        begin = time.perf_counter()
        function()
        times_s.append(time.perf_counter() - begin)
    return min(times_s[1:])


def copied_bytes(cache_bytes: int, free_bytes: int) -> int:
    """How much to copy: with its target four times the cache, unless memory is short."""
    return max(64 * _MIB, min(2 * cache_bytes, free_bytes // 8))


def last_level_cache_bytes(folder: Path) -> int:
    """The largest cache that the system tells of; 64 MiB where it tells of none."""
    sizes = [path.read_text().strip() for path in folder.glob("cpu*/cache/index*/size")]
    return max((int(size[:-1]) * _KIB for size in sizes if size.endswith("K")), default=64 * _MIB)


def available_bytes() -> int:
    """Memory that can be had without swapping."""
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * _KIB
    return 1024 * _MIB


if __name__ == "__main__":
    sys.exit(main())
