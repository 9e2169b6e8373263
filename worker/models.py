"""Takes a model apart into the calls that it executes.

The model runs once on fake tensors, which have shapes and no values. Two things are recorded in
the order of execution: calls of torch's own modules that can be built again from their attributes,
and the operators that run outside of these. Together they are all that the model does, once each.
Operators are seen in inference mode, above autograd, where a composite one is still a whole.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

from .installed import Message, RefusalError, summary
from .model_recorder import Recorder
from .model_tensors import described, is_tensor, result_of

_OLDEST_TORCH = 2
_VALUE_ERRORS = {
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "GuardOnDataDependentSymNode",
}


def trace(request: Message) -> Message:
    """The calls of a model in their order, what was taken apart or left out, and its output.

    The request has ``model``, ``kind`` (``factory``, ``.pt2``, ``.ts`` or ``.onnx``), ``inputs``,
    ``training``, ``backward``, ``level`` (``modules`` or ``operators``) and ``real_data``.
    """
    sys.path.insert(0, str(Path.cwd()))
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
            {"name": name, **described(value, _highest(spec))}
            for (name, value), spec in zip(
                [*((None, value) for value in args), *kwargs.items()],
                # As in the call: those given by position come first.
                sorted(request["inputs"], key=lambda spec: spec["name"] is not None)
                or itertools.repeat({}),
            )
        ],
        "result": result_of(output, with_grad=request["backward"]),
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
            known = [name for name in vars(module) if not name.startswith("_")]
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
        raise RefusalError(f"{target}: importing {name} raises {summary(error)}") from error
    except Exception as error:
        raise RefusalError(
            f"{target}: importing {name} raises {summary(error)}", _place(error)
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
        raise RefusalError(f"{request['model']} raises {summary(error)}", _place(error)) from error


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
        names = [node.target for node in graph.graph.nodes if node.op == "placeholder"]
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
            f"{request['model']}: the build has no importer for ONNX ({summary(error)})",
            f"{sys.executable} -m pip install onnx2torch",
        ) from error
    model = _read(request, "an ONNX file", convert)
    return Loaded(model, _mode(request), lambda _, args, kwargs: model(*args, **kwargs))


def _read(request: Message, what: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(request["model"])
    except Exception as error:
        raise RefusalError(
            f"{request['model']} cannot be read as {what}: {summary(error)}",
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
            [_like(torch, spec, request) for spec in args],
            {name: _like(torch, spec, request) for name, spec in kwargs.items()},
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
    if not is_tensor(example):
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
# Errors
# ---------------------------------------------------------------------------------------------


def _failing(request: Message, error: Exception) -> RefusalError:
    name = request["model"]
    if _VALUE_ERRORS & {kind.__name__ for kind in type(error).__mro__}:
        return RefusalError(
            f"{name}: what it does depends on the values of tensors, not on shapes alone"
            f" ({summary(error)})",
            f"{_place(error)}\n  --real-data runs it once on random values instead.".strip(),
        )
    shapes = [",".join(map(str, spec["shape"])) for spec in request["inputs"]]
    hint = _place(error) or "Check --input."
    if shapes and request["kind"] == ".pt2":
        hint = "Leave --input and --batch-size out, for the inputs that it was exported with."
    return RefusalError(
        f"{name} fails on its input {' '.join(shapes)}: {summary(error)}".replace("  ", " "), hint
    )


def _place(error: BaseException) -> str:
    """The user's line where it happened: the last that is neither ours nor torch's."""
    torch_folder = str(Path(importlib.import_module("torch").__file__ or "/").parent)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        ours = frame.filename.startswith(("<frozen", torch_folder, str(Path(__file__).parent)))
        if not ours and "importlib" not in frame.filename:
            return f"{frame.filename}, line {frame.lineno}: {frame.line}"
    return ""
