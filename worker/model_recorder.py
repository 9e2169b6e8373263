"""Records what a model executes: calls of torch's own modules, and operators outside of these."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections import Counter
from typing import Any, Callable

from .installed import Message, summary
from .model_tensors import (
    Names,
    UnwritableError,
    is_tensor,
    is_usual,
    needs_grad,
    result_of,
    tensors_in,
)

_CONTAINERS = {"Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"}
_WITH_CHILDREN = {"MultiheadAttention"}
_NO_WORK = {"alias", "detach", "detach_", "lift", "lift_fresh", "size", "stride", "dim", "numel"}


class Recorder:
    """Takes down calls of modules, and the operators outside of them."""

    def __init__(self, torch: Any, request: Message) -> None:
        self.torch = torch
        self.by_modules = request["level"] == "modules"
        self.backward = bool(request["backward"])
        self.real_data = bool(request["real_data"])
        self.path = ""
        self.calls: list[Message] = []
        self.taken_apart: dict[str, str] = {}
        self.left_out: Counter[str] = Counter()
        self._inside = False
        self._known: dict[int, Message] = {}
        self._replaced: set[int] = set()

    def listening(self) -> Any:
        """A context in which every operator is noted, unless a module that is noted runs it."""
        return _dispatching(self.operator)

    def watch(self, model: Any) -> None:
        """Note every call of a module below ``model``; of what is scripted, operators alone."""
        for path, module in model.named_modules():
            if isinstance(module, self.torch.jit.ScriptModule):
                continue
            if "forward" in vars(module):
                self._replaced.add(id(module))
            module.forward = functools.partial(self.call, path, module, module.forward)

    def call(self, path: str, module: Any, forward: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run a module, and note it where it can be built again."""
        if self._inside:
            return forward(*args, **kwargs)
        before, self.path = self.path, path
        try:
            noted = self._module(module, args, kwargs) if self.by_modules else None
            self._inside = noted is not None
            output = forward(*args, **kwargs)
        finally:
            self.path, self._inside = before, False
        if noted is not None:
            noted["result"] = result_of(output, with_grad=self.backward)
            self.calls.append(noted)
        return output

    def operator(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator, and note it where it is outside of the modules that are noted."""
        noted = None if self._inside else self._operator(func, args, kwargs)
        output = func(*args, **kwargs)
        tensors = list(tensors_in((args, kwargs)))
        if func._schema.name != "aten::detach" and any(map(needs_grad, tensors)):
            for tensor in tensors_in(output):
                if tensor.is_floating_point() or tensor.is_complex():
                    tensor._needs_grad = True
        if noted is not None:
            noted["result"] = result_of(output, with_grad=self.backward)
            self.calls.append(noted)
        return output

    def _module(self, module: Any, args: Any, kwargs: Any) -> Message | None:
        is_own = type(module).__module__.startswith("torch.nn.modules.")
        kind, has_children = type(module).__name__, any(True for _ in module.children())
        if not is_own or kind in _CONTAINERS or (has_children and kind not in _WITH_CHILDREN):
            return None
        try:
            if self._casts():
                raise UnwritableError("it runs under autocast")
            if id(module) not in self._known:
                self._known[id(module)] = self._described(module)
            described, names = self._known[id(module)], Names(args, kwargs)
            call = f"model({names.arguments(args, kwargs)})"
        except UnwritableError as error:
            self.taken_apart[kind] = str(error)
            return None
        except Exception as error:  # noqa: BLE001 - what a constructor of any module may raise
            self.taken_apart[kind] = summary(error)
            return None
        high = getattr(module, "num_embeddings", None)
        arguments = dict(described["keywords"])
        if self.backward and arguments.get("inplace") and any(map(needs_grad, names.tensors)):
            arguments["inplace"] = False  # a leaf of the graph cannot be written to
        return {
            **described,
            "keywords": [*arguments.items()],
            "path": self.path,
            "call": call,
            "is_plain": not kwargs and [*map(id, args)] == [*map(id, names.tensors)],
            "training": bool(module.training),
            "inputs": names.inputs(high, backward=self.backward),
        }

    def _described(self, module: Any) -> Message:
        """How to build a module of torch's own again.

        Raises:
            UnwritableError: it has to be taken apart.
        """
        if id(module) in self._replaced:
            raise UnwritableError("its forward was replaced")
        parameters = list(module.parameters())
        gets_gradient = {self.backward and parameter.requires_grad for parameter in parameters}
        if len(gets_gradient) > 1:
            raise UnwritableError("some of its parameters are frozen, and others are not")
        dtypes = {
            str(tensor.dtype)
            for tensor in (*parameters, *module.buffers())
            if tensor.is_floating_point() or tensor.is_complex()
        } or {"torch.float32"}
        if len(dtypes) > 1:
            raise UnwritableError(f"it has tensors of {' and '.join(sorted(dtypes))}")
        (dtype,) = dtypes
        positional, keywords = constructor_arguments(module)
        again, found = self._again(module, positional, keywords, dtype), looks(module)
        if again[:2] != found[:2]:
            raise UnwritableError("its attributes do not tell how it was made")
        if again != found:
            raise UnwritableError("its parameters are not as its constructor makes them")
        return {
            "kind": "module",
            "type": type(module).__name__,
            "positional": positional,
            "keywords": keywords,
            "dtype": dtype,
            "has_parameters": True in gets_gradient,
            "is_frozen": self.backward and gets_gradient == {False},
        }

    def _casts(self) -> bool:
        """Whether operators cast what they are given."""
        torch = self.torch
        try:
            return any(map(torch.is_autocast_enabled, ("cpu", "cuda")))
        except TypeError:  # older torch, where it takes no device
            return bool(torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled())

    def _again(self, module: Any, positional: list[Any], keywords: Message, dtype: str) -> Any:
        from torch.utils._python_dispatch import _disable_current_modes

        make = getattr(self.torch.nn, type(module).__name__)
        named = {name: tupled(value) for name, value in keywords.items()}
        with _disable_current_modes(), self.torch.device("meta"):
            made = make(*map(tupled, positional), **named)
            return looks(made.to(getattr(self.torch, dtype[len("torch.") :])))

    def _operator(self, func: Any, args: Any, kwargs: Any) -> Message | None:
        namespace, _, name = func._schema.name.partition("::")
        if namespace == "prim" or name in _NO_WORK or name.startswith("sym_"):
            return None
        if namespace != "aten":
            self.left_out[f"{namespace}::{name}: no operator of torch's own"] += 1
            return None
        names = Names(args, kwargs)
        try:
            func = self._out_of_place(func, names)
            kwargs = {key: value for key, value in kwargs.items() if not is_usual(key, value)}
            call = self._shortest(func, args, kwargs, names)
        except UnwritableError as error:
            self.left_out[f"{name}: {error}"] += 1
            return None
        first = names.tensors[0] if names.tensors else None
        sizes = [] if first is None else list(first.shape)
        high = sizes[0] if name == "embedding" else min(sizes, default=2)
        return {
            "kind": "operator",
            "type": str(func).replace(".default", ""),
            "path": self.path,
            "call": call,
            "inputs": names.inputs(max(high, 1), backward=self.backward),
        }

    def _out_of_place(self, func: Any, names: Names) -> Any:
        """The operator itself, or the one that writes elsewhere where a gradient forbids it."""
        packet, _, overload = str(func)[len("aten.") :].partition(".")
        is_written = self.backward and func._schema.is_mutable
        if not (is_written and any(map(needs_grad, names.tensors))):
            return func
        other = getattr(self.torch.ops.aten, packet.rstrip("_"), None)
        if packet.endswith("_") and other is not None and overload in other.overloads():
            return getattr(other, overload)
        raise UnwritableError("writes to a tensor that has a gradient")

    def _shortest(self, func: Any, args: Any, kwargs: Any, names: Names) -> str:
        """The call as people write it, where that runs the very same operator."""
        packet, _, overload = str(func)[len("aten.") :].partition(".")
        exact = f"torch.ops.aten.{packet}.{overload}({names.arguments(args, kwargs)})"
        if packet.startswith("_") or (self.real_data and func._schema.is_mutable):
            return exact
        owners = {"torch": self.torch, "torch.nn.functional": self.torch.nn.functional}
        texts = [
            f"{place}.{packet}({names.arguments(args, kwargs)})"
            for place, owner in owners.items()
            if callable(getattr(owner, packet, None))
        ]
        if args and is_tensor(args[0]) and callable(getattr(args[0], packet, None)):
            rest = names.arguments(args[1:], kwargs)
            texts.append(f"{names.of(args[0])}.{packet}({rest})")
        return next((text for text in texts if self._runs(text, func, names)), exact)

    def _runs(self, text: str, func: Any, names: Names) -> bool:
        """Whether ``text`` runs ``func``, and nothing else."""
        seen: list[Any] = []

        def witness(func: Any, args: Any, kwargs: Any) -> Any:
            if not func._schema.name.startswith("prim::"):
                seen.append(func)
            return func(*args, **kwargs)

        copies = {
            # What changes the shape of its argument must not change that of the model's.
            name: tensor
            if type(tensor) is self.torch.nn.Parameter
            else self.torch.ops.aten.alias.default(tensor)
            for name, tensor in names.named.items()
        }
        with contextlib.suppress(Exception), _dispatching(witness):
            eval(text, {"torch": self.torch, **copies})  # noqa: S307 - our own text
        return seen == [func]


def _dispatching(handle: Callable[[Any, Any, Any], Any]) -> Any:
    """A mode in which ``handle`` runs every operator; it sees them before fake tensors do."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        """Hands operators over."""

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            del types
            return handle(func, args, kwargs or {})

    return Mode()


# Modules of torch's own: the arguments of their constructors, read from their attributes

_NOT_KEPT = {"device", "dtype", "size_average", "reduce", "min_value", "max_value"}
"""Arguments of constructors that say where, or that only old programs give."""


def constructor_arguments(module: Any) -> tuple[list[Any], Message]:
    """Arguments of the constructor: needed ones in order, others by name where not the default."""
    kind = type(module)
    positional: list[Any] = []
    keywords: Message = {}
    for name, parameter in _parameters(kind):
        if name in _NOT_KEPT or name.startswith("_"):
            continue
        value = _plain(_attribute(module, name, parameter.default))
        if parameter.default is inspect.Parameter.empty:
            positional.append(value)
        elif not _is_same(value, _plain(parameter.default)):
            keywords[name] = value
    if getattr(module, "nonlinearity", "tanh") != "tanh":  # of nn.RNN, which hands it on unnamed
        keywords["nonlinearity"] = module.nonlinearity
    return positional, keywords


def _is_same(value: Any, default: Any) -> bool:
    # (1, 1) is what a default of 1 becomes.
    return value == default or (isinstance(value, list) and set(map(str, value)) == {str(default)})


def _parameters(kind: Any) -> list[tuple[str, Any]]:
    found = list(inspect.signature(kind.__init__).parameters.items())[1:]
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for _, parameter in found):
        # Recurrent layers hand everything on; their base says what that is, after the mode.
        base = kind.__mro__[1]
        found = list(inspect.signature(base.__init__).parameters.items())[1:]
        found = [pair for pair in found if pair[0] != "mode"]
    return [
        pair
        for pair in found
        if pair[1].kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    ]


def _attribute(module: Any, name: str, default: Any) -> Any:
    if name == "bias":
        return _bias(module, default)
    if name == "add_bias_kv":
        return module.bias_k is not None
    if name in {"kdim", "vdim"} and getattr(module, name) == module.embed_dim:
        return default
    if name == "proj_size":  # of an LSTM; in older torch others have none
        return getattr(module, name, default)
    value = getattr(module, name, inspect.Parameter.empty)
    if value is inspect.Parameter.empty:
        raise UnwritableError(f"it does not keep its argument {name}")
    return value


def _bias(module: Any, default: Any) -> Any:
    """Whether there is one; modules keep the argument, or the tensor, or None."""
    if type(module).__name__ == "MultiheadAttention":
        return module.in_proj_bias is not None
    if not (getattr(module, "affine", True) and getattr(module, "elementwise_affine", True)):
        return default  # a norm without weights has none, whatever was asked for
    value = getattr(module, "bias", None)
    return value if isinstance(value, bool) else value is not None


def _plain(value: Any) -> Any:
    """A value as JSON holds it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if value is inspect.Parameter.empty:
        return "no default"
    raise UnwritableError(f"an argument is a {type(value).__name__}")


def tupled(value: Any) -> Any:
    """A value whose lists, at every depth, are tuples."""
    return tuple(map(tupled, value)) if isinstance(value, list) else value


def looks(module: Any) -> Any:
    """What tells one module from another of the same type."""
    state = [*module.named_parameters(), *module.named_buffers()]
    shapes = [(name, tuple(tensor.shape)) for name, tensor in state]
    return repr(module), shapes, [(tensor.stride(), tensor.dtype) for _, tensor in state]
