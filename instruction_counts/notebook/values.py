"""Values of a notebook as code that makes equal ones: how they get into another process.

The code is made of expressions alone. It uses no name that a notebook could have given to something
else, has no line breaks within a value, and is the same in every process, because its characters
end up in the memory of what is counted.
"""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from instruction_counts.domain.errors import UsageError
from instruction_counts.notebook.free_names import FreeNames

MAX_BYTES = 1 << 20
"""The largest value that is passed: the bytes of a tensor, the characters of other code."""

MAX_DEPTH = 50
"""How deep lists, tuples, dictionaries and sets may lie in each other; Python's parser has a limit,
too."""

_REMEDY = "Make it in --setup, or on the first line of %%icount."
_PASSED = "plain data, imported modules and dense CPU tensors"


class NotPassedError(Exception):
    """A value that cannot be passed; the message says why."""


def code_of(names: FreeNames, namespace: Mapping[str, Any]) -> str:
    """The setup that makes the values of ``names`` anew, as far as ``namespace`` has them.

    Imports are its first line and values its second. Names of one object are names of one object
    there, too.

    Raises:
        UsageError: a value cannot be passed; the error names the variable and its type.
    """
    imports, values = [], []
    by_id: dict[int, str] = {}
    for name in names.names:
        if name not in namespace:
            continue
        value = namespace[name]
        if isinstance(value, ModuleType):
            imports += _imports(name, value, names.dotted)
        elif id(value) in by_id:
            values.append(f"{name} = {by_id[id(value)]}")
        else:
            values.append(f"{name} = {_expression(name, value)}")
            by_id[id(value)] = name
    return "\n".join("; ".join(line) for line in (imports, values) if line)


def expression_of(value: object) -> str:
    """An expression that makes a value equal to this one.

    Raises:
        NotPassedError: there is none, or it is too large.
    """
    return _Writer().expression(value)


def _expression(name: str, value: object) -> str:
    try:
        return expression_of(value)
    except NotPassedError as error:
        found = type(value)
        raise UsageError(
            f'"{name}" of the notebook ({found.__module__}.{found.__qualname__}) cannot be passed '
            f"on: {error}",
            _REMEDY,
        ) from None


def _imports(name: str, module: ModuleType, dotted: Iterable[str]) -> list[str]:
    own = module.__name__
    if sys.modules.get(own) is not module or own == "__main__":
        raise UsageError(f'"{name}" of the notebook is a module that no import finds', _REMEDY)
    first = f"import {own}" if name == own else f"import {own} as {name}"
    below = dict.fromkeys(
        submodule
        for chain in dotted
        if chain.startswith(f"{name}.")
        for submodule in _submodules(own, chain.split(".")[1:])
    )
    return [first, *(f"__import__({submodule!r})" for submodule in below)]


def _submodules(module: str, attributes: Iterable[str]) -> Iterable[str]:
    """Those that somebody imported, such as ``torch.utils.benchmark``."""
    for attribute in attributes:
        module = f"{module}.{attribute}"
        if module not in sys.modules:
            return
        yield module


class _Writer:
    """Writes one value, and stops as soon as that becomes too long."""

    def __init__(self) -> None:
        self._left = MAX_BYTES
        self._depth = 0

    def expression(self, value: object) -> str:
        """The code for ``value``, which may hold others."""
        write = _PLAIN.get(type(value))
        if write is not None:
            return self._spent(write(value))
        collection = _COLLECTIONS.get(type(value))
        if collection is not None:
            return self._nested(value, collection)
        torch = sys.modules.get("torch")
        if torch is not None and type(value) is torch.Tensor:
            return self._tensor(torch, value)
        raise NotPassedError(f"only {_PASSED} are.")

    def _tensor(self, torch: Any, tensor: Any) -> str:
        reason = _no_plain_tensor(torch, tensor)
        if reason:
            raise NotPassedError(f"{reason}; only {_PASSED} are.")
        self._spend(tensor.numel() * tensor.element_size())
        return _tensor_expression(torch, tensor)

    def _nested(self, value: Any, write: Callable[[_Writer, Any], str]) -> str:
        if self._depth == MAX_DEPTH:
            raise NotPassedError(f"it is nested more than {MAX_DEPTH} levels deep.")
        self._spent("[]")  # also of what holds nothing, however often
        self._depth += 1
        code = write(self, value)
        self._depth -= 1
        return code

    def _spent(self, code: str) -> str:
        self._spend(len(code))
        return code

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise NotPassedError(f"it is larger than {MAX_BYTES >> 20} MiB.")

    def list(self, value: list[Any]) -> str:
        """In square brackets."""
        return f"[{', '.join(map(self.expression, value))}]"

    def tuple(self, value: tuple[Any, ...]) -> str:
        """A comma after each makes it one, whatever its length."""
        return f"({' '.join(f'{self.expression(item)},' for item in value)})"

    def set(self, value: set[Any]) -> str:
        """Sorted, as the order of a set differs between processes."""
        return "{" + ", ".join(sorted(map(self.expression, value)) or ["*()"]) + "}"

    def dict(self, value: dict[Any, Any]) -> str:
        """In its order."""
        items = (f"{self.expression(key)}: {self.expression(of)}" for key, of in value.items())
        return "{" + ", ".join(items) + "}"


def _float(value: float) -> str:
    if math.isnan(value):
        return "__import__('builtins').float('nan')"
    return repr(value).replace("inf", "1e999")


def _complex(value: complex) -> str:
    # 1-0j, as it is printed, has no negative zero.
    return f"__import__('builtins').complex({_float(value.real)}, {_float(value.imag)})"


_PLAIN: Mapping[type, Callable[[Any], str]] = {
    type(None): repr,
    bool: repr,
    int: lambda value: repr(value) if abs(value) < 1 << 64 else hex(value),
    float: _float,
    complex: _complex,
    str: ascii,
    bytes: repr,
}
"""By their exact types: a subclass may be anything. Long integers in decimal have a limit."""

_COLLECTIONS: Mapping[type, Callable[[_Writer, Any], str]] = {
    list: _Writer.list,
    tuple: _Writer.tuple,
    set: _Writer.set,
    dict: _Writer.dict,
}


def _tensor_expression(torch: Any, tensor: Any) -> str:
    """A tensor of equal bytes, in memory of its own that is laid out in the same way."""
    shape, dtype = tuple(tensor.shape), str(tensor.dtype)
    own = "__import__('torch')"
    made = f"{own}.empty_strided({shape}, {tensor.stride()}, dtype={own}.{_last(dtype)})"
    if tensor.numel():
        flat = tensor.detach().contiguous().reshape(-1)
        raw = base64.b64encode(bytes(flat.view(torch.uint8).tolist())).decode()
        decoded = f"__import__('builtins').bytearray(__import__('base64').b64decode('{raw}'))"
        made += f".copy_({own}.frombuffer({decoded}, dtype={own}.{_last(dtype)}).reshape({shape}))"
    return f"{made}.requires_grad_()" if tensor.requires_grad else made


def _last(dtype: str) -> str:
    return dtype.rpartition(".")[2]


def _no_plain_tensor(torch: Any, tensor: Any) -> str:
    """Why a tensor cannot be made again of its bytes; empty where it can."""
    if tensor.layout != torch.strided:
        return f"its layout is {_last(str(tensor.layout))}"
    if tensor.device.type != "cpu":
        return f"it is on {tensor.device}"
    reasons = {
        "it is quantized": tensor.is_quantized,
        "it has a graph (grad_fn)": tensor.grad_fn is not None,
        "it was made in inference mode": tensor.is_inference(),
        "its dimensions have names": any(getattr(tensor, "names", ())),
        "it is conjugated or negated lazily": tensor.is_conj() or tensor.is_neg(),
        "its elements share memory": _overlaps(tensor),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _overlaps(tensor: Any) -> bool:
    """Whether two elements may lie in the same place, as those of an expanded tensor do."""
    last = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if stride <= last:
                return True
            last += stride * (size - 1)
    return False
