"""Takes a model apart into the calls that it executes, in the interpreter of the build asked.

This one file is all that a build needs: it imports the standard library, and torch inside
functions, and nothing else of this project. It runs on Python 3.9 and later. It is started with
the path of a request and the path of its answer, both JSON.

The model runs once on fake tensors, which have shapes and no values. Two things are recorded in
the order of execution: calls of torch's own modules that can be built again from their attributes,
and the operators that run outside of these. Together they are all that the model does, once each.
Operators are seen in inference mode, above autograd, where a composite one is still a whole.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import math
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

Message = Dict[str, Any]

_LETTERS = "abcdefghijklmnopqrstuvw"
_CONTAINERS = {"Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"}
_WITH_CHILDREN = {"MultiheadAttention"}
_NO_WORK = {"alias", "detach", "detach_", "lift", "lift_fresh", "size", "stride", "dim", "numel"}
_OLDEST_TORCH = 2
_NOT_KEPT = {"device", "dtype", "size_average", "reduce", "min_value", "max_value"}
"""Arguments of constructors that say where, or that only old programs give."""
_VALUE_ERRORS = {
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "GuardOnDataDependentSymNode",
}


class UnwritableError(Exception):
    """An argument that has no text from which it could be made again."""


_NOT_BUILT = (
    UnwritableError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a constructor raises that does not take what its module tells."""


class RefusalError(Exception):
    """A model that cannot be taken apart, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Answer the one request that the file holds."""
    request_path, answer_path = sys.argv[1:] if argv is None else argv
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    try:
        answer = {"status": "ok", **trace(request)}
    except RefusalError as error:
        answer = {"status": "failed", "message": error.message, "hint": error.hint}
    Path(answer_path).write_text(json.dumps(answer, allow_nan=False), encoding="utf-8")
    return 0


def trace(request: Message) -> Message:
    """The calls of a model in their order, what was taken apart or left out, and its output.

    The request has ``model``, ``kind`` (``factory``, ``.pt2``, ``.ts`` or ``.onnx``), ``inputs``,
    ``training``, ``backward``, ``level`` (``modules`` or ``operators``) and ``real_data``.
    """
    # The folder of this script is on the path of older Pythons; its neighbours are nobody's.
    sys.path[:] = [
        str(Path.cwd()),
        *(one for one in sys.path if Path(one) != Path(__file__).parent),
    ]
    torch = importlib.import_module("torch")
    if int(torch.__version__.partition(".")[0]) < _OLDEST_TORCH:
        raise RefusalError(
            f"torch {torch.__version__} cannot take models apart",
            "Use a later build for that; what it writes runs on this one, too.",
        )
    loaded = _load(torch, request)
    recorder = Recorder(torch, request)
    model = loaded.model
    if loaded.can_train:
        model.train(request["training"])
    with loaded.mode:
        args, kwargs = _inputs(torch, request, loaded)
    if request["kind"] in {"factory", ".onnx"}:
        recorder.watch(model)
    if request["backward"] and hasattr(torch.backends, "mha"):
        # Attention has a short cut in inference mode, through which no gradient flows.
        torch.backends.mha.set_fastpath_enabled(False)
    with loaded.mode, torch.inference_mode():
        try:
            if request["kind"] == ".pt2" and request["inputs"]:
                model(*args, **kwargs)  # with its guards, as what is written will call it
            with recorder.listening():
                output = loaded.run(recorder, args, kwargs)
        except Exception as error:
            raise _failing(request, error) from error
    return {
        "calls": recorder.calls,
        "taken_apart": dict(recorder.taken_apart),
        "left_out": dict(recorder.left_out),
        "inputs": [
            {"name": name, **_tensor(one, _highest(spec))}
            for (name, one), spec in zip(
                [*((None, one) for one in args), *kwargs.items()],
                # As in the call: those given by position come first.
                sorted(request["inputs"], key=lambda spec: spec["name"] is not None)
                or itertools.repeat({}),
            )
        ],
        "result": _result(output, needs_grad=request["backward"]),
        "is_local": loaded.is_local,
    }


# ---------------------------------------------------------------------------------------------
# Models and their inputs
# ---------------------------------------------------------------------------------------------


class Loaded(NamedTuple):
    """A model, and how it is run."""

    model: Any
    mode: Any
    run: Callable[..., Any]
    can_train: bool = True
    is_local: bool = False
    """Whether it was imported from the working directory."""
    examples: Optional[Tuple[Sequence[Any], Message]] = None


def _load(torch: Any, request: Message) -> Loaded:
    loaders = {
        "factory": _from_factory,
        ".pt2": _from_export,
        ".ts": _from_torchscript,
        ".onnx": _from_onnx,
    }
    return loaders[request["kind"]](torch, request)


def _from_factory(torch: Any, request: Message) -> Loaded:
    target = request["model"]
    module_name, _, name = target.partition(":")
    module = _imported(module_name, target)
    made: Any = module
    for part in name.split("."):
        if not hasattr(made, part):
            known = [one for one in vars(module) if not one.startswith("_")]
            raise RefusalError(
                f"{target}: {module_name} has no {name}", f"It has: {', '.join(known[:12])}"
            )
        made = getattr(made, part)
    model, mode = _built(torch, made, request)
    if not isinstance(model, torch.nn.Module):
        raise RefusalError(
            f"{target} gives a {type(model).__name__}, and no torch.nn.Module",
            "Name a function without arguments that returns one, or a class.",
        )
    origin = Path(getattr(module, "__file__", None) or "/").resolve()
    is_local = Path.cwd().resolve() in origin.parents and "site-packages" not in origin.parts
    return Loaded(model, mode, lambda _, args, kwargs: model(*args, **kwargs), is_local=is_local)


def _imported(name: str, target: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if f"{name}.".startswith(f"{error.name}."):
            raise RefusalError(
                f"{target}: there is no module {name}",
                "It has to be installed in the build, or lie in the working directory.",
            ) from error
        raise RefusalError(f"{target}: importing {name} raises {_text(error)}") from error
    except Exception as error:
        raise RefusalError(
            f"{target}: importing {name} raises {_text(error)}", _place(error)
        ) from error


def _built(torch: Any, made: Any, request: Message) -> Tuple[Any, Any]:
    """The model, and the mode it runs in; with fake parameters where its making allows that."""
    if isinstance(made, torch.nn.Module) or not callable(made):
        raise RefusalError(
            f"{request['model']} is a {type(made).__name__}, and no factory",
            "Name a function without arguments that returns a torch.nn.Module, or a class.",
        )
    if not request["real_data"]:
        mode = _mode(request)
        with contextlib.suppress(Exception), mode:
            return _seeded(torch, made), mode
    try:
        return _seeded(torch, made), _mode(request)
    except Exception as error:
        raise RefusalError(f"{request['model']} raises {_text(error)}", _place(error)) from error


def _seeded(torch: Any, made: Any) -> Any:
    torch.manual_seed(0)
    return made()


def _mode(request: Message) -> Any:
    if request["real_data"]:
        return contextlib.nullcontext()
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode(allow_non_fake_inputs=True)


def _from_export(torch: Any, request: Message) -> Loaded:
    program = _read(request, "an exported program", torch.export.load)

    class Paths(torch.fx.Interpreter):  # type: ignore[misc]
        """Runs the graph, and tells the recorder from which module each node came."""

        def __init__(self, graph: Any, recorder: Recorder) -> None:
            super().__init__(graph)
            self.recorder = recorder

        def run_node(self, n: Any) -> Any:
            stack = list((n.meta.get("nn_module_stack") or {"": ("",)}).values())
            self.recorder.path = str(stack[-1][0])
            return super().run_node(n)

    graph = program.module()

    def run(recorder: Recorder, args: Sequence[Any], kwargs: Message) -> Any:
        # The guards have no place among the operators; they were asked before.
        names = [one.target for one in graph.graph.nodes if one.op == "placeholder"]
        for node in list(graph.graph.nodes):
            if node.op == "call_module" and not node.users and "guards" in str(node.target):
                graph.graph.erase_node(node)
        graph.recompile()
        named = [kwargs[name] for name in names[len(args) :] if name in kwargs]
        return Paths(graph, recorder).run(*args, *named)

    return Loaded(graph, _mode(request), run, can_train=False, examples=program.example_inputs)


def _from_torchscript(torch: Any, request: Message) -> Loaded:
    model = _read(request, "a TorchScript file", torch.jit.load)

    def run(recorder: Recorder, args: Sequence[Any], kwargs: Message) -> Any:
        del recorder
        with torch.jit.optimized_execution(False):  # fused operators would hide what they fuse
            return model(*args, **kwargs)

    return Loaded(model, _mode(request), run)


def _from_onnx(torch: Any, request: Message) -> Loaded:
    del torch
    try:
        convert = importlib.import_module("onnx2torch").convert
    except ImportError as error:
        raise RefusalError(
            f"{request['model']}: the build has no importer for ONNX ({_text(error)})",
            f"{sys.executable} -m pip install onnx2torch",
        ) from error
    model = _read(request, "an ONNX file", convert)
    return Loaded(model, _mode(request), lambda _, args, kwargs: model(*args, **kwargs))


def _read(request: Message, what: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(request["model"])
    except Exception as error:
        raise RefusalError(
            f"{request['model']} cannot be read as {what}: {_text(error)}",
            "Save it again with the torch of this build.",
        ) from error


def _inputs(torch: Any, request: Message, loaded: Loaded) -> Tuple[List[Any], Message]:
    if not request["inputs"]:
        if loaded.examples is None:
            raise RefusalError(
                f"{request['model']}: nothing says what its input is",
                "For example: --input 1,3,224,224 or --input input_ids=1,128:int64<30522",
            )
        args, kwargs = loaded.examples
        return (
            [_like(torch, one, request) for one in args],
            {name: _like(torch, one, request) for name, one in kwargs.items()},
        )
    args = []
    kwargs = {}
    for spec in request["inputs"]:
        dtype = getattr(torch, spec["dtype"], None)
        if not isinstance(dtype, torch.dtype):
            raise RefusalError(
                f"--input: this torch has no dtype {spec['dtype']}", "For example: int64, bfloat16"
            )
        tensor = _filled(torch, tuple(spec["shape"]), dtype, spec["high"] or 2)
        if spec["name"]:
            kwargs[spec["name"]] = tensor
        else:
            args.append(tensor)
    return args, kwargs


def _like(torch: Any, example: Any, request: Message) -> Any:
    if not _is_tensor(example):
        raise RefusalError(
            f"{request['model']} was exported with an input of type {type(example).__name__}",
            "Export a module whose inputs are tensors; the others it can hold itself.",
        )
    return _filled(torch, tuple(example.shape), example.dtype, 2)


def _filled(torch: Any, shape: Tuple[int, ...], dtype: Any, high: int) -> Any:
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(shape, dtype=dtype)
    return torch.randint(0, high, shape).to(dtype)


def _highest(spec: Message) -> Optional[int]:
    found: Optional[int] = spec.get("high")
    return found


# ---------------------------------------------------------------------------------------------
# Recording
# ---------------------------------------------------------------------------------------------


class Recorder:
    """Takes down calls of modules, and the operators outside of them."""

    def __init__(self, torch: Any, request: Message) -> None:
        self.torch = torch
        self.by_modules = request["level"] == "modules"
        self.backward = bool(request["backward"])
        self.real_data = bool(request["real_data"])
        self.path = ""
        self.calls: List[Message] = []
        self.taken_apart: Dict[str, str] = {}
        self.left_out: Counter[str] = Counter()
        self._inside = False
        self._known: Dict[int, Optional[Message]] = {}
        self._replaced: Set[int] = set()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Every operator that runs is noted, unless a module that is noted runs it."""
        from torch.utils._python_dispatch import TorchDispatchMode

        recorder = self

        class Listener(TorchDispatchMode):  # type: ignore[misc]
            """Sees operators before fake tensors do."""

            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                del types
                return recorder.operator(func, args, kwargs or {})

        with Listener():
            yield

    def watch(self, model: Any) -> None:
        """Note every call of a module below ``model``."""
        for path, module in model.named_modules():
            if "forward" in vars(module):
                self._replaced.add(id(module))
            module.forward = _watched(self, path, module, module.forward)

    def call(self, path: str, module: Any, forward: Any, args: Any, kwargs: Any) -> Any:
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
            noted["result"] = _result(output, needs_grad=self.backward)
            self.calls.append(noted)
        return output

    def operator(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator, and note it where it is outside of the modules that are noted."""
        noted = None if self._inside else self._operator(func, args, kwargs)
        output = func(*args, **kwargs)
        tensors = list(_tensors((args, kwargs)))
        if func._schema.name != "aten::detach" and any(map(_needs_grad, tensors)):
            for one in _tensors(output):
                if one.is_floating_point() or one.is_complex():
                    one._needs_grad = True
        if noted is not None:
            noted["result"] = _result(output, needs_grad=self.backward)
            self.calls.append(noted)
        return output

    def _module(self, module: Any, args: Any, kwargs: Any) -> Optional[Message]:
        kind = type(module).__name__
        if id(module) not in self._known:
            self._known[id(module)] = self._described(module)
        described = self._known[id(module)]
        if described is None:
            return None
        names = _Names(args, kwargs)
        try:
            call = f"model({names.arguments(args, kwargs)})"
        except UnwritableError as error:
            self.taken_apart[kind] = str(error)
            return None
        high = getattr(module, "num_embeddings", None)
        arguments = dict(described["keywords"])
        if self.backward and arguments.get("inplace") and any(map(_needs_grad, names.tensors)):
            arguments["inplace"] = False  # a leaf of the graph cannot be written to
        return {
            **described,
            "keywords": arguments,
            "path": self.path,
            "call": call,
            "is_plain": not kwargs and all(map(_is_tensor, args)),
            "training": bool(module.training),
            "inputs": names.inputs(high, backward=self.backward),
        }

    def _described(self, module: Any) -> Optional[Message]:
        """How to build a module of torch's own again; None where it has to be taken apart."""
        kind = type(module).__name__
        is_own = type(module).__module__.startswith("torch.nn.modules.")
        children = any(True for _ in module.children())
        if not is_own or kind in _CONTAINERS or (children and kind not in _WITH_CHILDREN):
            return None
        if id(module) in self._replaced:
            self.taken_apart[kind] = "its forward was replaced"
            return None
        parameters = list(module.parameters())
        gets_gradient = {self.backward and one.requires_grad for one in parameters}
        if len(gets_gradient) > 1:
            self.taken_apart[kind] = "some of its parameters are frozen, and others are not"
            return None
        try:
            positional, keywords = _arguments(module)
            again = self._again(module, positional, keywords)
        except _NOT_BUILT as error:
            self.taken_apart[kind] = _text(error)
            return None
        if again != _looks(module):
            self.taken_apart[kind] = "its attributes do not tell how it was made"
            return None
        dtypes = {str(one.dtype) for one in parameters if one.is_floating_point()}
        return {
            "kind": "module",
            "type": kind,
            "positional": positional,
            "keywords": keywords,
            "dtype": dtypes.pop() if len(dtypes) == 1 else "torch.float32",
            "has_parameters": True in gets_gradient,
            "is_frozen": self.backward and gets_gradient == {False},
        }

    def _again(self, module: Any, positional: List[Any], keywords: Message) -> Any:
        from torch.utils._python_dispatch import _disable_current_modes

        made = getattr(self.torch.nn, type(module).__name__)
        with _disable_current_modes(), self.torch.device("meta"):
            return _looks(
                made(*map(_tupled, positional), **{k: _tupled(v) for k, v in keywords.items()})
            )

    def _operator(self, func: Any, args: Any, kwargs: Any) -> Optional[Message]:
        namespace, _, name = func._schema.name.partition("::")
        if namespace == "prim" or name in _NO_WORK or name.startswith("sym_"):
            return None
        if namespace != "aten":
            self.left_out[f"{namespace}::{name}: no operator of torch's own"] += 1
            return None
        names = _Names(args, kwargs)
        try:
            func, written = self._out_of_place(func, names)
            kwargs = {key: value for key, value in kwargs.items() if not _is_usual(key, value)}
            call = written or self._shortest(func, args, kwargs, names)
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

    def _out_of_place(self, func: Any, names: _Names) -> Tuple[Any, str]:
        """The operator itself, or the one that writes elsewhere where a gradient forbids it."""
        packet, _, overload = str(func)[len("aten.") :].partition(".")
        if not self.backward or not func._schema.is_mutable:
            return func, ""
        if not any(map(_needs_grad, names.tensors)):
            return func, ""
        other = getattr(self.torch.ops.aten, packet.rstrip("_"), None)
        if packet.endswith("_") and other is not None and overload in other.overloads():
            return getattr(other, overload), ""
        raise UnwritableError("writes to a tensor that has a gradient")

    def _shortest(self, func: Any, args: Any, kwargs: Any, names: _Names) -> str:
        """The call as people write it, where that runs the very same operator."""
        packet, _, overload = str(func)[len("aten.") :].partition(".")
        exact = f"torch.ops.aten.{packet}.{overload}({names.arguments(args, kwargs)})"
        if packet.startswith("_") or (self.real_data and func._schema.is_mutable):
            return exact
        texts = []
        for place, owner in (
            ("torch", self.torch),
            ("torch.nn.functional", self.torch.nn.functional),
        ):
            if callable(getattr(owner, packet, None)):
                texts.append(f"{place}.{packet}({names.arguments(args, kwargs)})")
        if args and _is_tensor(args[0]) and callable(getattr(args[0], packet, None)):
            rest = names.arguments(args[1:], kwargs)
            texts.append(f"{names.of(args[0])}.{packet}({rest})")
        return next((text for text in texts if self._runs(text, func, names)), exact)

    def _runs(self, text: str, func: Any, names: _Names) -> bool:
        """Whether ``text`` runs ``func``, and nothing else."""
        from torch.utils._python_dispatch import TorchDispatchMode

        seen: List[Any] = []

        class Witness(TorchDispatchMode):  # type: ignore[misc]
            """Remembers operators."""

            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                del types
                if not func._schema.name.startswith("prim::"):
                    seen.append(func)
                return func(*args, **(kwargs or {}))

        copies = {name: _copy(one) for name, one in names.named.items()}
        with contextlib.suppress(Exception), Witness():
            eval(text, {"torch": self.torch, **copies})  # noqa: S307 - our own text
        return seen == [func]


def _watched(recorder: Recorder, path: str, module: Any, forward: Any) -> Callable[..., Any]:
    def watched(*args: Any, **kwargs: Any) -> Any:
        return recorder.call(path, module, forward, args, kwargs)

    return watched


def _copy(tensor: Any) -> Any:
    import torch

    if type(tensor) is torch.nn.Parameter:
        return tensor
    # What changes the shape of its argument must not change that of the model's.
    return torch.ops.aten.alias.default(tensor)


# ---------------------------------------------------------------------------------------------
# Modules from their attributes
# ---------------------------------------------------------------------------------------------


def _arguments(module: Any) -> Tuple[List[Any], Message]:
    """Arguments of the constructor: needed ones in order, others by name where not the default."""
    kind = type(module)
    positional: List[Any] = []
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


def _parameters(kind: Any) -> List[Tuple[str, Any]]:
    found = list(inspect.signature(kind.__init__).parameters.items())[1:]
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for _, one in found):
        # Recurrent layers hand everything on; their base says what that is, after the mode.
        base = kind.__mro__[1]
        found = list(inspect.signature(base.__init__).parameters.items())[1:]
        found = [one for one in found if one[0] != "mode"]
    return [
        one
        for one in found
        if one[1].kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
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
        return [_plain(one) for one in value]
    if value is inspect.Parameter.empty:
        return "no default"
    raise UnwritableError(f"an argument is a {type(value).__name__}")


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def _looks(module: Any) -> Any:
    """What tells one module from another of the same type."""
    state = [*module.named_parameters(), *module.named_buffers()]
    return repr(module), [(name, tuple(one.shape)) for name, one in state]


# ---------------------------------------------------------------------------------------------
# Arguments and tensors
# ---------------------------------------------------------------------------------------------


class _Names:
    """Names for the tensors among the arguments of a call; one tensor has one name."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        self.named: Dict[str, Any] = {}
        self._by_id: Dict[int, str] = {}
        found = {id(one): one for one in _tensors((args, kwargs))}
        letters = ["x"] if len(found) == 1 else list(_LETTERS)
        for number, one in enumerate(found.values()):
            name = letters[number] if number < len(letters) else f"t{number}"
            self.named[name] = one
            self._by_id[id(one)] = name

    @property
    def tensors(self) -> List[Any]:
        """In the order of the arguments."""
        return list(self.named.values())

    def of(self, tensor: Any) -> str:
        """The name of a tensor."""
        return self._by_id[id(tensor)]

    def inputs(self, high: Optional[int], *, backward: bool) -> List[Message]:
        """The tensors as values."""
        return [
            {
                "name": name,
                **_tensor(one, high),
                "needs_grad": backward and _needs_grad(one),
            }
            for name, one in self.named.items()
        ]

    def arguments(self, args: Any, kwargs: Any) -> str:
        """The arguments as code."""
        texts = [self._code(one) for one in args]
        texts += [f"{name}={self._code(one)}" for name, one in kwargs.items()]
        return ", ".join(texts)

    def _code(self, value: Any) -> str:
        if _is_tensor(value):
            return self.of(value)
        if isinstance(value, (tuple, list)):
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


def _is_usual(name: str, value: Any) -> bool:
    return name in {"device", "pin_memory", "layout"} and (
        value in {None, False} or str(value) in {"cpu", "torch.strided"}
    )


def _is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _tensors(value: Any) -> Iterator[Any]:
    if _is_tensor(value):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)


def _needs_grad(tensor: Any) -> bool:
    return bool(tensor.requires_grad or getattr(tensor, "_needs_grad", False))


def _tensor(tensor: Any, high: Optional[int]) -> Message:
    """A tensor as a value: ``stride`` where it is not contiguous, ``high`` for integers."""
    is_integer = not (tensor.is_floating_point() or tensor.is_complex())
    return {
        "shape": list(tensor.shape),
        "stride": None if tensor.is_contiguous() else list(tensor.stride()),
        "dtype": str(tensor.dtype)[len("torch.") :],
        "high": (high or 2) if is_integer else None,
    }


def _result(output: Any, *, needs_grad: bool) -> Optional[Message]:
    """The first tensor of an output, and how it is picked; of those with a gradient, if asked."""
    for pick, one in _picked(output, ""):
        if not needs_grad or _needs_grad(one):
            return {
                "pick": pick,
                "shape": list(one.shape),
                "dtype": str(one.dtype)[len("torch.") :],
            }
    return None


def _picked(output: Any, pick: str) -> Iterator[Tuple[str, Any]]:
    if _is_tensor(output):
        yield pick, output
    elif isinstance(output, (tuple, list)):
        for number, one in enumerate(output):
            yield from _picked(one, f"{pick}[{number}]")
    elif isinstance(output, dict):
        for name, one in output.items():
            yield from _picked(one, f"{pick}[{json.dumps(name)}]")


# ---------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------


def _failing(request: Message, error: Exception) -> RefusalError:
    name = request["model"]
    if _VALUE_ERRORS & {one.__name__ for one in type(error).__mro__}:
        return RefusalError(
            f"{name}: what it does depends on the values of tensors, not on shapes alone"
            f" ({_text(error)})",
            f"{_place(error)}\n  --real-data runs it once on random values instead.".strip(),
        )
    shapes = [",".join(map(str, one["shape"])) for one in request["inputs"]]
    hint = _place(error) or "Check --input."
    if shapes and request["kind"] == ".pt2":
        hint = "Leave --input and --batch-size out, for the inputs that it was exported with."
    return RefusalError(
        f"{name} fails on its input {' '.join(shapes)}: {_text(error)}".replace("  ", " "), hint
    )


def _text(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _place(error: BaseException) -> str:
    """The user's line where it happened: the last that is neither ours nor torch's."""
    torch_folder = str(Path(importlib.import_module("torch").__file__ or "/").parent)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        ours = frame.filename == __file__ or frame.filename.startswith(("<frozen", torch_folder))
        if not ours and "importlib" not in frame.filename:
            return f"{frame.filename}, line {frame.lineno}: {frame.line}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
