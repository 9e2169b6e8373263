"""Variables of a program as code of a setup: how they get into the process that is measured.

Plain data become an expression, and what a module defines is imported. Everything else is saved as
one file in a private folder of ours, and loaded by the build in the process that measures: nothing
that was pickled is ever loaded by this program. What values share, as a model and its optimizer
share parameters, they share there, too.

Functions and classes of the program itself go as they are (cloudpickle), with what they read. A
wrapper that a library made of one is made again from the library of the build.
"""

import contextlib
import dis
import enum
import functools
import hashlib
import io
import math
import shutil
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import cloudpickle
import numpy as np

from instruction_counts.api.beside import Place, needed
from instruction_counts.domain.errors import UsageError
from instruction_counts.system.worker_tasks import FOLDER

MAX_INLINE = 1 << 16
"""How many characters of plain data are written as an expression; more goes into a file."""

_LOADER = "instruction_counts_passed"
"""What `worker/passed.py` is called in the process that loads."""
_REMEDY = "Make it in the setup."
_NOT_SAVED = ("_compiled_call_impl", "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
"""What torch leaves out of modules and optimizers."""
_OPERATORS = {"OpOverload", "OpOverloadPacket"}
_CUSTOM_OPERATOR = "CustomOpDef"
_READS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
_OF_MODULES = {"__annotations__", "__builtins__"}
"""Names that each module has for itself; the body of a class reads them."""
_CACHED = type(functools.cache(len))
_DEFINED = types.FunctionType | types.BuiltinFunctionType | type | _CACHED


def codes_of(setup: str, stmts: Iterable[str], values: Mapping[str, Any]) -> list[types.CodeType]:
    """All code that may be executed, as far as it is there."""
    functions = (of for of in [*values.values()] if isinstance(of, types.FunctionType))
    return [*map(_compiled, (setup, *stmts)), *(function.__code__ for function in functions)]


def code_of(
    setup: str,
    stmts: Iterable[str],
    values: Mapping[str, Any],
    folder: Path,
    beside: Mapping[str, Place] = MappingProxyType({}),
) -> str:
    """The setup that makes what ``setup`` and ``stmts`` read of ``values``, as far as it is there.

    What one of ``stmts`` makes is not there for another. Files go into ``folder``. ``beside`` are
    modules that the process does not find by itself.

    Raises:
        UsageError: a value cannot be passed; the error names the variable, its type and the reason.
            Or a module cannot be told from one of the standard library.
    """
    made: set[str] = set()
    chains = [*_read(_compiled(setup), made)]
    chains += (chain for stmt in stmts for chain in _read(_compiled(stmt), {*made}))
    saving = _Saving(folder, frozenset({"__main__", str(values.get("__name__"))}))
    lines: list[str] = []
    plain: dict[str, str] = {}
    saved: dict[str, Any] = {}
    for chain in chains:
        name, *attributes = chain.split(".")
        value = values.get(name)
        if name not in values or name in _OF_MODULES:
            continue
        if isinstance(value, types.ModuleType):
            lines += _imports(name, value, attributes)
        elif isinstance(value, _DEFINED) and saving.is_importable(value):
            lines.append(f"from {value.__module__} import {value.__name__} as {name}")
        elif expression := _inline(value):
            plain[name] = expression
        else:
            saved[name] = value
    held = {name: [*_containers(values[name])] for name in plain}
    every = [key for keys in held.values() for key in keys]
    if saved or len(every) > len({*every}):  # they may share a list
        saved |= {name: values[name] for name, keys in held.items() if keys}
    lines += (f"{name} = {of}" for name, of in plain.items() if name not in saved)
    content = saving.content(saved) if saved else b""
    if saved:
        lines += saving.lines(saved, content)
    text = "\n".join((setup, *stmts, *lines)).encode(errors="replace")
    if found := needed(content + text, beside):
        file = "" if values.get("__name__") == "__main__" else values.get("__file__")
        folder_of = Path(file).parent if file else Path(sys.path[0])  # of a test; or a program's
        lines.insert(0, saving.finding(found, str(folder_of.absolute())))
    return "\n".join(dict.fromkeys(lines))


def _compiled(code: str) -> types.CodeType:
    try:
        return compile(code, "<code>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):  # running it reports that, with the line
        return compile("", "<code>", "exec")


def _read(code: types.CodeType, made: set[str], of_class: set[str] | None = None) -> Iterator[str]:
    """The names that ``code`` reads before it makes them, with the attributes that follow.

    ``made`` gets the names that it makes; ``of_class`` those that the body of a class does.
    """
    chain = ""
    for step in dis.get_instructions(code):
        if chain and step.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
            chain = f"{chain}.{step.argval}"
            continue
        if chain:
            yield chain
        chain = ""
        if step.opname in _READS:
            own = of_class if of_class and step.opname != "LOAD_GLOBAL" else ()
            chain = "" if step.argval in made or step.argval in own else step.argval
        elif step.opname in {"STORE_NAME", "STORE_GLOBAL"}:
            (made if of_class is None else of_class).add(step.argval)
        elif isinstance(step.argval, types.CodeType):
            yield from _read(step.argval, made, set())


# What is saved


@attrs.frozen
class _Saving:
    """Saves values into a folder; ``_own`` are the names of the program's own module."""

    _folder: Path
    _own: frozenset[str]

    def is_importable(self, value: Any) -> bool:
        """Whether a function or class is what its name says in a module that is not the program."""
        module = sys.modules.get(value.__module__ or "")
        return value.__module__ not in self._own and getattr(module, value.__name__, 0) is value

    def content(self, values: Mapping[str, Any]) -> bytes:
        """What ``values`` are saved as.

        Raises:
            UsageError: one of them cannot be saved.
        """
        try:
            return self._content(values)
        except Exception:
            for name, value in values.items():
                self._check({name: value})
            self._check(values)
            raise

    def lines(self, values: Mapping[str, Any], content: bytes) -> list[str]:
        """The code that loads ``values``, by name, from a file of ``content`` that is written."""
        torch = sys.modules.get("torch")
        path = self._folder / f"{hashlib.sha256(content).hexdigest()[:16]}{'.pt' if torch else ''}"
        path.write_bytes(content)
        names = f"{', '.join(values)},"
        if torch and not any(name in content for name in (b"cloudpickle", _LOADER.encode())):
            return [f"{names} = __import__('torch').load({str(path)!r}, weights_only=False)"]
        loader = self._loader()
        return [f"{names} = {loader}.load({str(path)!r}, {sys.version_info[:2]})"]

    def finding(self, places: Mapping[str, Place], folder: str) -> str:
        """The code after which modules are found: by their places, and others in a folder."""
        return f"{self._loader()}.find({places!r}, {folder!r})"

    def _loader(self) -> str:
        """An expression for what loads; it is beside what it loads, as no build need have it."""
        loader = self._folder / f"{_LOADER}.py"
        if not loader.exists():
            package = Path(cloudpickle.__file__).parent
            shutil.copytree(package, self._folder / package.name, dirs_exist_ok=True)
            shutil.copy(FOLDER / "passed.py", loader)
        added = f"__import__('sys').path.insert(0, {str(self._folder)!r})"
        return f"({added}, __import__('{_LOADER}'))[1]"

    def _check(self, values: Mapping[str, Any]) -> None:
        try:
            self._content(values)
        except Exception as error:  # anything may happen in somebody's pickling
            kinds = (
                f'"{name}" ({type(value).__module__}.{type(value).__qualname__})'
                for name, value in values.items()
            )
            reason = f"{' and '.join(kinds)} cannot be passed on: {error}"
            raise UsageError(reason, _REMEDY) from error

    def _content(self, values: Mapping[str, Any]) -> bytes:
        torch: Any = sys.modules.get("torch")
        pickler = type("Pickler", (_Pickler,), {"saving": self})
        stream, saved = io.BytesIO(), (*values.values(),)
        with contextlib.ExitStack() as stack:
            known = cloudpickle.cloudpickle.list_registry_pickle_by_value()
            for name in self._own & sys.modules.keys() - known - {"__main__"}:
                cloudpickle.register_pickle_by_value(sys.modules[name])
                stack.callback(cloudpickle.unregister_pickle_by_value, sys.modules[name])
            if torch:
                torch.save(saved, stream, types.SimpleNamespace(__name__="pickle", Pickler=pickler))
            else:
                pickler(stream).dump(saved)
        return stream.getvalue()

    def reduced(self, found: Any, usual: Callable[[Any], Any]) -> Any:
        """How an object is made again; ``usual`` tells how cloudpickle does it."""
        for known in (self._of_torch, _of_library):
            if (how := known(found)) is not None:
                return how
        if isinstance(found, _CACHED) and not self.is_importable(found):
            return _CACHING, (found.__wrapped__, *found.cache_parameters().values())
        how = usual(found)
        if isinstance(found, type):
            return self._of_class(found, how)
        if how is not NotImplemented:
            return self._of_function(found, how) if isinstance(found, types.FunctionType) else how
        return self._of_object(found)

    def _of_torch(self, found: Any) -> Any:
        """How an object of torch is made that pickles otherwise, or not; None of others."""
        torch: Any = sys.modules.get("torch")
        kind = type(found)
        if torch is None:
            return None
        if isinstance(found, torch.Tensor):
            return _of_tensor(torch, found)
        is_code = isinstance(found, torch.nn.Module | types.FunctionType)
        if is_code and getattr(found, "get_compiler_config", None):
            raise ValueError("torch.compile made it. Pass what it compiles, as runtime compiled.")
        if isinstance(found, torch.nn.Module | torch.optim.Optimizer):
            if any(getattr(found, name, None) for name in _NOT_SAVED):
                raise ValueError("it was compiled in place, or has hooks, which are not saved.")
            return None
        if kind.__module__ == "torch._ops" and kind.__name__ in _OPERATORS:
            return eval, (f"__import__('torch').ops.{found}",)
        if kind.__name__ == _CUSTOM_OPERATOR:
            made = found._init_fn  # noqa: SLF001 - nothing else tells its module
            if made.__module__ in self._own:
                raise ValueError("what is registered with it is missing. Define it in a module.")
            module = f"__import__('importlib').import_module({made.__module__!r})"
            return eval, (f"{module}.{made.__name__}",)
        return None

    def _of_object(self, found: Any) -> Any:
        """How an object of the program is made: its attributes are set, as its class does it.

        Loaded as usual, they are in a dictionary, and each look-up costs more.
        """
        is_own = getattr(found, "__module__", None) in self._own
        if not is_own or type(found) in cloudpickle.Pickler.dispatch_table:
            return NotImplemented
        how = found.__reduce_ex__(2)
        if isinstance(how, str):
            raise TypeError(f"{how} is found by its name alone, which is not there.")
        methods = ("__reduce_ex__", "__reduce__", "__getstate__", "__setstate__")
        if any(getattr(type(found), name, 0) is not getattr(object, name, 0) for name in methods):
            return how
        made, of, state, *rest = (*how, None, None, None)[:5]
        return (made, of, state, *rest, _SETTING) if type(state) is dict else how

    def _of_class(self, found: Any, how: Any) -> Any:
        """How a class is made: with its slots, which are made with it."""
        if how is NotImplemented:  # it is imported
            for place, part in vars(found).items():
                if isinstance(part, types.FunctionType) and part.__module__ in self._own:
                    raise ValueError(f"{found.__name__}.{place} was set by this program.")
            return how
        is_enum = isinstance(found, enum.EnumMeta)
        if is_enum and ("__init__" in vars(found) or len([*found]) < len(found.__members__)):
            raise ValueError("an Enum has aliases or an __init__. Define it in a module.")
        if "__slots__" not in vars(found):
            return how
        make, (kind, name, bases, at_first, *more), (attributes, slots), *rest = how
        at_first = {**at_first, "__slots__": vars(found)["__slots__"]}
        of_slots = types.MemberDescriptorType
        attributes = {
            key: part
            for key, part in attributes.items()
            if key != "__slots__" and not isinstance(part, of_slots)
        }
        return make, (kind, name, bases, at_first, *more), (attributes, slots), *rest

    def _of_function(self, found: types.FunctionType, how: Any) -> Any:
        """How a function is made that is not imported: of a library, from the build's library."""
        make, (*first, _), (attributes, parts), *rest = how
        # Cloudpickle would fill cells of its own, and functions that share one would not any more.
        state = attributes, {**parts, "__closure__": None}
        module = found.__globals__.get("__name__", "")
        if module in self._own or vars(sys.modules.get(module, types)) is not found.__globals__:
            return make, (*first, found.__closure__), state, *rest
        name = found.__code__.co_qualname
        if "<locals>" not in name:
            raise ValueError(f"{name} is not what {module} has under that name.")
        state[1]["__globals__"] = {}
        reads = found.__code__.co_freevars
        return _REMAKING, (module, name, reads, found.__closure__), state, *rest


def _of_cell(found: types.CellType) -> Any:
    """How what closures share is made: empty at first, as it may hold one of them."""
    try:
        return types.CellType, (), (found.cell_contents,), None, None, _FILLING
    except ValueError:  # nothing is in it
        return types.CellType, ()


def _of_library(found: Any) -> Any:
    """How what cloudpickle does not know, or makes otherwise, is made; None of others."""
    if isinstance(found, np.ndarray) and not found.flags.forc:
        raise ValueError("an array is not contiguous, and would be. Pass its copy().")
    if isinstance(found, np.ndarray) and not found.flags.writeable:
        raise ValueError("an array is read-only, and would not be. Pass its copy().")
    match found:
        case memoryview():
            raise ValueError("a view of memory would be bytes. Pass what it is a view of.")
        case types.MethodType() if getattr(found.__self__, found.__name__, None) == found:
            return getattr, (found.__self__, found.__name__)
        case types.ModuleType() if sys.modules.get(found.__name__) is found:
            return eval, (f"__import__('importlib').import_module({found.__name__!r})",)
        case types.CellType():
            return _of_cell(found)
        case functools.cached_property():  # it has a lock
            return functools.cached_property, (found.func,), {"attrname": found.attrname}
        case typing.NewType():
            return typing.NewType, (found.__name__, found.__supertype__)
    return None


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Asks what saves how an object is made again."""

    saving: _Saving

    def reducer_override(self, found: Any) -> Any:
        return self.saving.reduced(found, super().reducer_override)


@attrs.frozen
class _Function:
    """A function for whoever loads it: no name is known there, only an expression."""

    _expression: str

    def __call__(self, *_: Any) -> None:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, (self._expression,)


_SETTING = _Function(
    "lambda made, state: [made.__dict__.update({key: value}) if hasattr("
    "__import__('inspect').getattr_static(type(made), key, None), '__set__') "
    "else object.__setattr__(made, key, value) for key, value in state.items()]"
)
_FILLING = _Function("lambda made, state: setattr(made, 'cell_contents', *state)")
_CACHING = _Function("lambda made, *how: __import__('functools').lru_cache(*how)(made)")
_REMAKING = _Function(f"__import__('{_LOADER}').made_again")
_WITH_GRADIENT = _Function("lambda tensor, gradient: setattr(tensor, 'grad', gradient)")


def _of_tensor(torch: Any, tensor: Any) -> Any:
    """How a tensor is made again: with its gradient, and a plain one without preparing for any."""
    if tensor.grad_fn is not None:
        raise ValueError("a tensor has a graph (grad_fn). Pass its detach().")
    if tensor.is_inference():
        raise ValueError("a tensor was made in inference mode. Pass its clone().")
    if tensor._backward_hooks or getattr(tensor, "_post_accumulate_grad_hooks", None):  # noqa: SLF001
        raise ValueError("a tensor has hooks, which are not saved.")
    if tensor.grad is not None:
        made, of, *_ = tensor.__reduce_ex__(2)
        return made, of, tensor.grad, None, None, _WITH_GRADIENT
    is_plain = (
        type(tensor) is torch.Tensor
        and not vars(tensor)
        and tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and str(tensor.dtype).removeprefix("torch.") in _WITH_STORAGE
        and not (tensor.requires_grad or tensor.is_nested or tensor.is_conj() or tensor.is_neg())
    )
    if not is_plain:
        return NotImplemented
    storage = getattr(tensor, "_typed_storage", tensor.storage)()
    place = tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
    return torch._utils._rebuild_tensor, (storage, *place)  # noqa: SLF001 - what is pickled


_WITH_STORAGE = {
    *("float64", "float32", "float16", "bfloat16", "complex64", "complex128"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
}
"""The dtypes with a class of storage; torch makes tensors of later ones in another way."""


# What is written


def _imports(name: str, module: types.ModuleType, attributes: Iterable[str]) -> Iterator[str]:
    own = module.__name__
    if sys.modules.get(own) is not module or own == "__main__":
        raise UsageError(f'"{name}" is a module that cannot be imported', _REMEDY)
    yield f"import {own}" if name == own else f"import {own} as {name}"
    for attribute in attributes:
        own = f"{own}.{attribute}"
        if own not in sys.modules:
            return
        yield f"__import__({own!r})"


def _containers(value: Any) -> Iterator[int]:
    """The ``id`` of each list, set and dictionary in plain data."""
    if type(value) in {list, set, dict}:
        yield id(value)
    if type(value) in {list, tuple, dict}:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def _inline(value: object) -> str:
    """An expression for plain data; empty where that would be too long, or there is none."""
    try:
        plain = _plain(value)
    except (ValueError, RecursionError):
        return ""
    return plain if len(plain) <= MAX_INLINE else ""


def _plain(value: object) -> str:
    """An ASCII expression without line breaks that makes an equal value, in every process alike."""
    match value:
        case _ if type(value) not in _PLAIN:
            raise ValueError
        case float() if not math.isfinite(value):
            raise ValueError
        case int() if abs(value) >= 1 << 64:
            return hex(value)  # there is a limit to decimal ones
        case list():
            return f"[{', '.join(map(_plain, value))}]"
        case tuple():
            return f"({' '.join(f'{_plain(item)},' for item in value)})"
        case set():
            return "{" + ", ".join(sorted(map(_plain, value)) or ["*()"]) + "}"
        case dict():
            return (
                "{" + ", ".join(f"{_plain(key)}: {_plain(of)}" for key, of in value.items()) + "}"
            )
    return ascii(value)


_ATOMS = {type(None), bool, int, float, str, bytes}
_PLAIN = _ATOMS | {list, tuple, set, dict}
"""Exact types: a subclass may be anything."""
