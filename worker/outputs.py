"""What a statement computes: the tensors that it makes or changes."""

from __future__ import annotations

import array
import ast
import base64
import contextlib
import ctypes
import functools
import hashlib
import itertools
import json
import os
import re
from pathlib import Path
from types import CodeType
from typing import Any, Callable, Iterator

from .main import CompiledLoop, Message, Shim, seed, with_artefact

_LARGEST_SAMPLE = 1024


def output(request: Message, shim: Shim) -> Message:
    """What one run of the statement makes or changes, tensor by tensor, in each of ``variations``.

    A variation, which is a number, fills fresh memory with another byte, lets objects and data lie
    at other addresses, by which sets have them, and seeds the statement differently: what then
    differs is no function of the inputs, or depends on an earlier run.
    """
    import torch

    case = with_artefact(request["case"], "")
    torch.set_num_threads(case["num_threads"])
    fill = ctypes.CDLL("./fresh.so").fresh_fill
    drawn_next = torch.get_rng_state()
    outputs: list[Message] = []
    held: list[Any] = []
    for variation in request["variations"]:
        fill(0x55 + variation)
        # What the first one has an address for, gets another: here it still holds its own.
        if variation and not outputs:
            _scatter(0)
            held += _what_lies_next(torch)
        _scatter(variation)
        torch.set_rng_state(drawn_next)  # the setup makes the same
        outputs.append(_output(torch, case, {**request, "variation": variation}, shim, held))
    return {"outputs": outputs}


_SMALL: list[Callable[[], Any]] = [
    *(object, complex),  # of 16 and 32 bytes
    *(functools.partial(bytes, size) for size in range(8, 480, 16)),  # and 33 more
]
"""What makes an object, for each size that Python has memory of its own for."""
_TAKEN = 1 << 11
"""Of each: more than a setup makes."""


def _what_lies_next(torch: Any) -> list[Any]:
    """What takes the addresses that the next objects and data would have."""
    small = (make() for make in _SMALL for _ in range(_TAKEN))
    numbers = map(float, range(100))  # Python keeps as many that are free
    large = (bytes(size) for size in range(512, 4096, 16))
    return [*small, *numbers, *large, *(torch.empty(1 << size) for size in range(10))]


def _scatter(variation: int) -> None:
    """Free blocks of each size so that no two neighbours follow one another when they are used.

    A tenth of what `main` frees before it imports: here each case pays for it.
    """
    for make in _SMALL:
        blocks = [make() for _ in range(1 << 10)]
        for number in range(len(blocks)):
            blocks[number * (7 + 12 * variation) % len(blocks)] = None


def _output(torch: Any, case: Message, request: Message, shim: Shim, held: list[Any]) -> Message:
    is_cpp = case["language"] == "C++"
    before, after = (
        _cpp_values(torch, case, request, shim) if is_cpp else _values(torch, case, request, held)
    )
    inputs = hashlib.sha256(json.dumps(sorted(before.items())).encode()).hexdigest()[:16]
    made = [{"name": name, **after[name]} for name in after if after[name] != before.get(name)]
    return {"inputs": inputs, "tensors": made}


def _values(
    torch: Any, case: Message, request: Message, held: list[Any]
) -> tuple[Message, Message]:
    """The tensors of a Python case before and after its statement, by name."""
    namespace: Message = {"torch": torch}
    held.append(namespace)
    exec(code_of(case["setup"], "<setup>"), namespace)
    before = {name: tensor_value(torch, one) for name, one in tensors_in(torch, namespace)}
    seed(request["variation"])
    exec(code_of(with_named_results(case["stmt"]), "<stmt>"), namespace)
    return before, {name: tensor_value(torch, one) for name, one in tensors_in(torch, namespace)}


def code_of(source: str | ast.Module, name: str) -> CodeType:
    """Code of the user's: it inherits no future statement of ours."""
    return compile(source or "pass", name, "exec", dont_inherit=True)


def _cpp_values(torch: Any, case: Message, request: Message, shim: Shim) -> tuple[Message, Message]:
    """The same of a C++ case, which was compiled to save its tensors to a file."""
    path = Path(request["result"] + ".tensors")
    os.environ["INSTRUCTION_COUNTS_OUTPUT"] = str(path)
    os.environ["INSTRUCTION_COUNTS_SEED"] = str(request["variation"])
    CompiledLoop(case).run((ctypes.c_uint64 * 1)(1), shim.clock_hooks)
    found: dict[str, Message] = {"before": {}, "after": {}}
    try:
        with path.open("rb") as stream:
            for line in stream:
                when, name, dtype, _, *numbers = line.decode().split(" ")
                content = bytearray(stream.read(int(numbers[-1])))
                kind = getattr(torch, _CPP_DTYPES.get(dtype, dtype.lower()))
                flat = torch.frombuffer(content, dtype=kind) if content else torch.empty(0)
                shape = [int(size) for size in numbers[:-1]]
                tensor = flat.to(kind).reshape(shape)
                found[when][name] = tensor_value(torch, tensor)
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
    return found["before"], found["after"]


_CPP_DTYPES = {
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "Float": "float32",
    "Double": "float64",
    "ComplexHalf": "complex32",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}


def with_named_results(stmt: str) -> ast.Module:
    """The statement, with names for the values of its expressions, which it drops."""
    tree = ast.parse(stmt)
    expressions = [node for node in tree.body if isinstance(node, ast.Expr)]
    for number, node in enumerate(expressions):
        name = "result" if len(expressions) == 1 else "result %d" % number
        target = ast.Name(id=name, ctx=ast.Store())
        tree.body[tree.body.index(node)] = ast.Assign(targets=[target], value=node.value)
    return ast.fix_missing_locations(tree)


def tensors_in(torch: Any, namespace: Message) -> Iterator[tuple[str, Any]]:
    """Every tensor that a name leads to, with how to get there; gradients and numbers, too."""
    for path, value in values_in(torch, namespace):
        yield path, _as_tensor(torch, value)


def values_in(torch: Any, namespace: Message) -> Iterator[tuple[str, Any]]:
    """The same, with numbers as they are."""
    for name, value in namespace.items():
        if not name.startswith("__"):
            for path, one in _values_below(torch, name, value, 3):
                yield path, one
                if isinstance(one, torch.Tensor) and one.is_leaf and one.grad is not None:
                    yield path + ".grad", one.grad


def _values_below(torch: Any, path: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (torch.Tensor, bool, int, float, complex)):
        yield path, value
    elif isinstance(value, torch.nn.Module):
        for name, tensor in itertools.chain(value.named_parameters(), value.named_buffers()):
            yield path + "." + name, tensor
    elif depth and isinstance(value, (list, tuple, dict)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in items:
            name = _ADDRESS.sub("", repr(key))
            yield from _values_below(torch, "%s[%s]" % (path, name), one, depth - 1)


_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")
"""What tells functions and objects apart that are the keys of a dictionary, in this process."""


def _as_tensor(torch: Any, value: Any) -> Any:
    if isinstance(value, (bool, int)):
        return torch.tensor(max(min(value, 2**63 - 1), -(2**63)))
    if isinstance(value, (float, complex)):
        # Most come from single precision, and compare like it.
        return torch.tensor(value, dtype=torch.complex64)
    return value


def tensor_value(torch: Any, tensor: Any) -> Message:
    """Shape, dtype and digest of a tensor, with a sample of its values."""
    dense = tensor.detach()
    if dense.is_sparse:
        dense = dense.to_dense()
    if dense.is_quantized:
        dense = dense.dequantize()
    flat = dense.resolve_conj().resolve_neg().contiguous().reshape(-1)
    nans = 0
    if flat.is_floating_point() or flat.is_complex():
        nans = int(torch.isnan(flat).sum())
    step = max(1, -(-flat.numel() // _LARGEST_SAMPLE))
    sample = flat[::step]
    if flat.is_complex():
        sample = torch.view_as_real(sample.to(torch.complex128)).reshape(-1)
    values = array.array("d", sample.to(torch.float64).tolist())
    size = flat.numel() * flat.element_size()
    content = ctypes.string_at(flat.data_ptr(), size) if size else b""
    return {
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype).replace("torch.", ""),
        "digest": hashlib.sha256(content).hexdigest()[:16],
        "nans": nans,
        "sample": base64.b64encode(values.tobytes()).decode(),
    }
