"""Takes a model apart into the calls that it executes.

The model runs once on fake tensors, which have shapes and no values. Two things are recorded in
the order of execution: calls of torch's own modules that can be built again from their attributes,
and the operators that run outside of these. Together they are all that the model does, once each.
Operators are seen in inference mode, above autograd, where a composite one is still a whole.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

from .installed import Message, RefusalError, summary
from .model_recorder import Recorder
from .model_tensors import described, result_of

_OLDEST_TORCH = 2
_VALUE_ERRORS = {
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "GuardOnDataDependentSymNode",
}


def trace(request: Message) -> Message:
    """The calls of a model in their order, what was taken apart or left out, and its output.

    The request has ``model`` (``module:factory``), ``inputs``, ``training``, ``backward``,
    ``level`` (``modules`` or ``operators``) and ``real_data``.
    """
    sys.path.insert(0, str(Path.cwd()))
    torch = importlib.import_module("torch")
    if int(torch.__version__.partition(".")[0]) < _OLDEST_TORCH:
        raise RefusalError(
            f"torch {torch.__version__} cannot split models into layers",
            f"Use torch {_OLDEST_TORCH}.0 or later for that; what it writes runs on this one, too.",
        )
    model, mode, is_local = _load(torch, request)
    has_mode = _has_mode(model, request)
    recorder = Recorder(torch, request)
    with mode:
        args, kwargs = _inputs(torch, request)
    recorder.watch(model)
    if request["backward"] and hasattr(torch.backends, "mha"):
        # Attention has a short cut in inference mode, through which no gradient flows.
        torch.backends.mha.set_fastpath_enabled(False)
    # Fused operators of TorchScript would hide what they fuse.
    with mode, torch.inference_mode(), torch.jit.optimized_execution(False):
        try:
            with recorder.listening():
                output = model(*args, **kwargs)
        except Exception as error:
            raise _failing(request, error) from error
    return {
        "calls": recorder.calls,
        "taken_apart": dict(recorder.taken_apart),
        "left_out": dict(recorder.left_out),
        "inputs": [
            {"name": name, **described(value, spec["high"])}
            for (name, value), spec in zip(
                [*(("", value) for value in args), *kwargs.items()],
                # As in the call: those given by position come first.
                sorted(request["inputs"], key=lambda spec: spec["name"] is not None),
            )
        ],
        "result": result_of(output, with_grad=request["backward"]),
        "is_local": is_local,
        "has_mode": has_mode,
    }


# Models and their inputs


def _load(torch: Any, request: Message) -> tuple[Any, Any, bool]:
    """The model, the mode it runs in, and whether it comes from the working directory."""
    target = request["model"]
    module_name, _, name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
        made = functools.reduce(getattr, name.split("."), module)
    except Exception as error:
        raise RefusalError(
            f"{target}: {summary(error)}",
            _place(error)
            or "The module has to be installed in the build, or lie in the working directory.",
        ) from error
    model, mode = _built(torch, made, request)
    if not isinstance(model, torch.nn.Module):
        raise RefusalError(
            f"{target} returns a {type(model).__name__}, not a torch.nn.Module",
            "Name a function without arguments that returns one, or a class.",
        )
    origin = Path(getattr(module, "__file__", None) or "/").resolve()
    return (
        model,
        mode,
        Path.cwd().resolve() in origin.parents and "site-packages" not in origin.parts,
    )


def _has_mode(model: Any, request: Message) -> bool:
    """Whether a model can be trained or not; an exported program stays as it was exported."""
    try:
        model.train() if request["training"] else model.eval()
    except NotImplementedError as error:
        if request["training"]:
            raise RefusalError(
                f"--train: {request['model']} was exported with a fixed mode",
                "Omit --train, or export the model in training mode.",
            ) from error
        return False
    return True


def _built(torch: Any, made: Any, request: Message) -> tuple[Any, Any]:
    """The model, and the mode it runs in; with fake parameters where its making allows that."""
    mode: Any = contextlib.nullcontext()
    if not request["real_data"]:
        from torch._subclasses.fake_tensor import FakeTensorMode

        mode = FakeTensorMode(allow_non_fake_inputs=True)
        with contextlib.suppress(Exception), mode:
            torch.manual_seed(0)
            return made(), mode
        mode = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        torch.manual_seed(0)
        return made(), mode
    except Exception as error:
        raise RefusalError(f"{request['model']} raises {summary(error)}", _place(error)) from error


def _inputs(torch: Any, request: Message) -> tuple[list[Any], Message]:
    if not request["inputs"]:
        raise RefusalError(
            f"{request['model']}: nothing says what its input is",
            "For example: --input 1,3,224,224 or --input input_ids=1,128:int64<30522",
        )
    args = []
    kwargs = {}
    for spec in request["inputs"]:
        dtype = getattr(torch, spec["dtype"], None)
        if not isinstance(dtype, torch.dtype):
            raise RefusalError(
                f"--input: this torch has no dtype {spec['dtype']}", "For example: int64, bfloat16"
            )
        shape = tuple(spec["shape"])
        if dtype.is_floating_point or dtype.is_complex:
            tensor = torch.rand(shape, dtype=dtype)
        else:
            tensor = torch.randint(0, spec["high"] or 2, shape).to(dtype)
        if spec["name"]:
            kwargs[spec["name"]] = tensor
        else:
            args.append(tensor)
    return args, kwargs


# Errors


def _failing(request: Message, error: Exception) -> RefusalError:
    hint = _place(error) or "Check --input."
    if _VALUE_ERRORS & {kind.__name__ for kind in type(error).__mro__}:
        hint += (
            "\n  What it does depends on the values of tensors:"
            " --real-data runs it once on random values instead."
        )
    shapes = " ".join(",".join(map(str, spec["shape"])) for spec in request["inputs"])
    return RefusalError(f"{request['model']} fails on its input {shapes}: {summary(error)}", hint)


def _place(error: BaseException) -> str:
    """The user's line where it happened: the last that is neither ours nor torch's."""
    torch_folder = str(Path(importlib.import_module("torch").__file__ or "/").parent)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        ours = frame.filename.startswith(("<", torch_folder, str(Path(__file__).parent)))
        if not ours and "importlib" not in frame.filename:
            return f"{frame.filename}, line {frame.lineno}: {frame.line}"
    return ""
