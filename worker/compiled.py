"""Gets a server ready for cases that torch compiles, before anything is counted.

A parent that imported Dynamo and Inductor and compiled something once leaves a child little to do.
What Inductor makes lies in a folder that belongs to the case: a child that counts finds it there,
made natively, and starts no compiler.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import importlib
import itertools
import os
import platform
import symtable
import sys
import textwrap
import time
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping, Sequence, Set, Tuple

from .main import CACHES

_PINNED = {
    # A pool of processes or threads would not outlive a fork.
    "compile_threads": 1,
    "fx_graph_cache": True,
    # They lie outside of the folder of a case.
    "cpp_cache_precompile_headers": False,
    # Otherwise another process tries each instruction set.
    "cpp.vec_isa_ok": True,
    # What is made on any machine runs under Valgrind, which has AVX2.
    **({"cpp.simdlen": 256, "cpp.march": "haswell"} if platform.machine() == "x86_64" else {}),
}
"""Settings of Inductor."""


_CLOCKS = tuple(
    "%s%s" % (clock, unit)
    for clock in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    for unit in ("", "_ns")
)
_BEGAN_NS = 1_800_000_000 * 10**9
"""What a clock that stops shows: of as many digits as the real ones."""
_NO_PROCESS = 1 << 22
"""More than Linux numbers processes: a signal to it reaches nobody."""


def prepare(rehearsal: str) -> Callable[[], None]:
    """Import what compiles, and compile something; what Inductor makes goes to ``rehearsal``.

    Until what this returns is called, clocks of Python stand still, each process has the same
    number, and names that would be random are counted: torch keeps how long it took to compile,
    another number can take other memory, and another name lies elsewhere in each table. What
    compiling left in torch's settings is forgotten then.
    """
    os.environ[CACHES] = rehearsal
    import torch

    wake = _held_still()
    torch.set_num_threads(1)  # a pool of threads would not outlive a fork, either
    # Autograd starts a thread for each device that there is, and no child could use it after that.
    # A build with CUDA pretends to have 8 once something was traced, so that it looks before.
    torch.ones(1, requires_grad=True).sum().backward()
    # A torch without it, or without a C++ compiler: the cases say so.
    with contextlib.suppress(Exception):
        _pin()
        for _ in range(2):  # the second time it finds what it made, as a child that counts does
            _rehearse(torch)
            torch._dynamo.reset()
    torch.set_grad_enabled(True)
    # What Python does by chance in each child.
    os.register_at_fork(after_in_child=sys._clear_type_cache)

    def begin() -> None:
        wake()
        forget_settings()

    return begin


def results(case: Mapping[str, Any]) -> Sequence[str]:
    """The variables that a statement makes anew; what they hold is freed between windows.

    Else the last objects of a window would lie there while the next one makes others in another
    place: pybind11 finds its objects by their addresses.
    """

    def assigned(code: str) -> Set[str]:
        text = "def f():\n%s\n    pass" % textwrap.indent(code, "    ")
        (function,) = symtable.symtable(text, "<case>", "exec").get_children()
        return {
            name.get_name()
            for name in function.get_symbols()
            if name.is_assigned() and name.is_local()
        }

    try:
        return sorted(assigned(case["stmt"]) - assigned(case["setup"]))
    except SyntaxError:
        return ()  # told where it is executed


def _held_still() -> Callable[[], None]:
    """Let each look at a clock take as long, say; returns what undoes that."""
    now_ns, made = itertools.count(_BEGAN_NS, 1000), itertools.count(1)
    real = {name: getattr(time, name) for name in _CLOCKS}
    still: Dict[str, Callable[[], Any]] = {
        name: now_ns.__next__ if name.endswith("_ns") else lambda: next(now_ns) / 1e9
        for name in _CLOCKS
    }
    real["getpid"], still["getpid"] = os.getpid, itertools.repeat(_NO_PROCESS).__next__
    # Dynamo's names of graphs end with one.
    real["uuid4"], still["uuid4"] = uuid.uuid4, lambda: uuid.UUID(int=next(made), version=4)
    _exchange(real, still)
    return lambda: _exchange(still, real)


def _exchange(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Let modules, also those that took them by name, have the other functions."""
    for module in [*sys.modules.values()]:
        variables = getattr(module, "__dict__", None)
        if isinstance(variables, dict):
            for name, function in old.items():
                if variables.get(name) is function:
                    variables[name] = new[name]


def forget_settings() -> None:
    """Let this thread know those of torch's settings alone that are not as they usually are.

    Torch keeps each setting in a variable of the context, and whatever changed once stays in it, as
    all does that compiling changes and changes back. They lie in a tree by their addresses, which
    decide how long it takes to find out that a setting is not there: torch asks in each call.
    """
    usual = {id(variable): (variable, value) for variable, value in _settings()}
    context = contextvars.Context()
    for variable, value in contextvars.copy_context().items():
        _, default = usual.get(id(variable), (None, value))
        is_torchs = id(variable) in usual or variable.name.startswith("torch.")
        if not is_torchs or value != default:
            context.run(variable.set, value)
    ctypes.pythonapi.PyContext_Enter(ctypes.py_object(context))


def _settings() -> Iterator[Tuple[Any, Any]]:
    """The variables of torch's settings, each with its usual value."""
    for module in [*sys.modules.values()]:
        variables = getattr(module, "__dict__", None)
        settings = variables.get("_config") if isinstance(variables, dict) else None
        for setting in settings.values() if isinstance(settings, dict) else ():
            variable = getattr(setting, "user_override", None)
            if isinstance(variable, contextvars.ContextVar):
                yield variable, setting.default


def _pin() -> None:
    from torch._inductor import codecache, config

    for name, value in _PINNED.items():
        with contextlib.suppress(AttributeError):  # not every torch has each
            *within, last = name.split(".")
            setattr(getattr(config, *within) if within else config, last, value)
            # Else it would be one of those that are remembered.
            vars(config)["_config"][name].default = value
    with contextlib.suppress(ImportError):
        # It would start a thread beside the case.
        importlib.import_module("tqdm").tqdm.monitor_interval = 0
    write, folder = codecache.write, "%s%s" % (Path.cwd(), os.sep)

    def write_anywhere(
        content: Any, extension: str, extra: str = "", *more: Any, **named: Any
    ) -> Any:
        # The key of a kernel holds the command that compiles it, and that paths of this server.
        return write(content, extension, extra.replace(folder, ""), *more, **named)

    codecache.write = write_anywhere


def _rehearse(torch: Any) -> None:
    def chain(x: Any, w: Any) -> Any:
        return torch.relu(x @ w + 1.0).sum(0).softmax(0)

    x, w = torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    for function, inputs in ((chain, (x, x)), (chain, (x, w)), (model, (x,))):
        compiled = torch.compile(function)
        for _ in range(2):
            output = compiled(*inputs).sum()
            if output.requires_grad:
                output.backward()
