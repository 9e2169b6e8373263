"""Tensors among the arguments and results of a call, as text and as JSON."""

from __future__ import annotations

import json
import math
from typing import Any, Iterator

from .installed import Message

_LETTERS = "abcdefghijklmnopqrstuvw"


class UnwritableError(Exception):
    """An argument that has no text from which it could be made again."""


class Names:
    """Names for the tensors among the arguments of a call; one tensor has one name."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        self.named: dict[str, Any] = {}
        self._by_id: dict[int, str] = {}
        found = {id(tensor): tensor for tensor in tensors_in((args, kwargs))}
        letters = ["x"] if len(found) == 1 else list(_LETTERS)
        for number, tensor in enumerate(found.values()):
            name = letters[number] if number < len(letters) else f"t{number}"
            self.named[name] = tensor
            self._by_id[id(tensor)] = name

    @property
    def tensors(self) -> list[Any]:
        """In the order of the arguments."""
        return list(self.named.values())

    def of(self, tensor: Any) -> str:
        """The name of a tensor."""
        return self._by_id[id(tensor)]

    def inputs(self, high: int | None, *, backward: bool) -> list[Message]:
        """The tensors as values."""
        return [
            {
                "name": name,
                **described(tensor, high),
                "needs_grad": backward and needs_grad(tensor),
            }
            for name, tensor in self.named.items()
        ]

    def arguments(self, args: Any, kwargs: Any) -> str:
        """The arguments as code."""
        texts = [self._code(value) for value in args]
        texts += [f"{name}={self._code(value)}" for name, value in kwargs.items()]
        return ", ".join(texts)

    def _code(self, value: Any) -> str:
        if is_tensor(value):
            if unusual := _unusual(value):
                raise UnwritableError(f"an argument is a {unusual} tensor")
            return self.of(value)
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            inner = ", ".join(map(self._code, value))
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        return self._plain_code(value)

    def _plain_code(self, value: Any) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if value is None or isinstance(value, (bool, int, float)):
            return repr(value)
        if isinstance(value, str):
            return json.dumps(value)
        text = str(value)
        if text.startswith("torch.") and text[len("torch.") :].isidentifier():
            return text  # a dtype, a layout or a memory format
        raise UnwritableError(f"an argument is a {type(value).__name__}")


def _unusual(tensor: Any) -> str:
    """What a tensor is that shape, strides and type do not tell; empty where it is nothing else."""
    layout = str(tensor.layout)[len("torch.") :].replace("_", " ")
    kinds = {
        layout: layout != "strided",
        "nested": tensor.is_nested,
        "quantized": tensor.is_quantized,
        "conjugated": tensor.is_conj(),
        "negated": tensor.is_neg(),
    }
    return next((kind for kind, is_one in kinds.items() if is_one), "")


def is_usual(name: str, value: Any) -> bool:
    """Whether an argument of that name says no more than its default."""
    return name in {"device", "pin_memory", "layout"} and (
        value in {None, False} or str(value) in {"cpu", "torch.strided"}
    )


def is_tensor(value: Any) -> bool:
    """Whether it is one, or of a subclass."""
    import torch

    return isinstance(value, torch.Tensor)


def tensors_in(value: Any) -> Iterator[Any]:
    """Those in nested lists, tuples and dictionaries, in their order."""
    return (tensor for _, tensor in _picked(value, ""))


def needs_grad(tensor: Any) -> bool:
    """Whether a gradient flows into it; inference mode forgets that, the recorder does not."""
    return bool(tensor.requires_grad or getattr(tensor, "_needs_grad", False))


def described(tensor: Any, high: int | None) -> Message:
    """A tensor as a value: ``stride`` where it is not contiguous, ``high`` for integers."""
    is_integer = not (tensor.is_floating_point() or tensor.is_complex())
    return {
        "shape": list(tensor.shape),
        "stride": None if tensor.is_contiguous() else list(tensor.stride()),
        "dtype": str(tensor.dtype)[len("torch.") :],
        "high": (high or 2) if is_integer else None,
    }


def result_of(output: Any, *, with_grad: bool) -> Message | None:
    """The first tensor of an output, and how it is picked; of those with a gradient, if asked."""
    for pick, tensor in _picked(output, ""):
        if not with_grad or needs_grad(tensor):
            return {
                "pick": pick,
                "shape": list(tensor.shape),
                "dtype": str(tensor.dtype)[len("torch.") :],
            }
    return None


def _picked(output: Any, pick: str) -> Iterator[tuple[str, Any]]:
    if is_tensor(output):
        yield pick, output
    elif isinstance(output, (tuple, list)):
        for number, item in enumerate(output):
            yield from _picked(item, f"{pick}[{number}]")
    elif isinstance(output, dict):
        for name, item in output.items():
            key = json.dumps(name) if isinstance(name, str) else repr(name)
            yield from _picked(item, f"{pick}[{key}]")
