"""Variables of a program as code of a setup: how they get into the process that is measured.

Plain data become an expression. Functions and classes of the program itself come with their source,
those of other modules by an import. Everything else, such as a tensor or a model, is saved by
``torch.save`` in a private folder of ours, and loaded by the build in the process that measures:
nothing that was pickled is ever loaded by this program. Values that share something, as a model and
its optimizer share parameters, go into one file, and share it there, too.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import enum
import functools
import hashlib
import inspect
import io
import linecache
import math
import pickle
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.domain.errors import UsageError

MAX_INLINE = 1 << 16
"""How many characters of plain data are written as an expression; more goes into a file."""

_OWN = "values_of_the_program"
"""The name in ``sys.modules`` under which a saved value finds the classes of the program."""
_REMEDY = "Make it in the setup."
_OPERATORS = {"OpOverload", "OpOverloadPacket"}
_CUSTOM_OPERATOR = "CustomOpDef"
_READS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
_DEFINED: tuple[type[Any], ...] = (types.FunctionType, type, type(functools.cache(len)))
"""What has a definition in a program."""
_FIXED = (types.BuiltinFunctionType, enum.Enum, tuple, frozenset, str, bytes)
"""What values may share without any difference."""


def code_of(setup: str, stmts: Iterable[str], values: Mapping[str, Any], folder: Path) -> str:
    """The setup that makes what ``setup`` and ``stmts`` read of ``values``, as far as it is there.

    What one of ``stmts`` makes is not there for another. Files go into ``folder``; two names of one
    object stay that.

    Raises:
        UsageError: a value cannot be passed; the error names the variable, its type and the reason.
    """
    made = {name for name, is_read in _names(_compiled(setup)) if not is_read}
    needed = [*_needed(setup), *(chain for stmt in stmts for chain in _needed(stmt, made))]
    passed = _Passed(folder)
    for chain in needed:
        passed.add(chain, values)
    if "torch" in sys.modules and (together := passed.together()):
        passed = _Passed(folder, together)
        for chain in needed:
            passed.add(chain, values)
    return "\n".join([*dict.fromkeys(passed.imports), *passed.lines])


def _needed(code: str, made: Iterable[str] = ()) -> Iterator[str]:
    """The names that ``code`` reads before it makes them, with the attributes that follow."""
    known = set(made)
    for chain, is_read in _names(_compiled(code)):
        if not is_read:
            known.add(chain)
        elif chain.partition(".")[0] not in known:
            yield chain


def _compiled(code: str) -> types.CodeType:
    try:
        return compile(code, "<code>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):  # running it reports that, with the line
        return compile("", "<code>", "exec")


def _names(code: types.CodeType) -> Iterator[tuple[str, bool]]:
    """Global names in the order of the bytecode, each with whether it is read there, or made."""
    chain = ""
    for step in dis.get_instructions(code):
        if chain and step.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
            chain = f"{chain}.{step.argval}"
            continue
        if chain:
            yield chain, True
        chain = step.argval if step.opname in _READS else ""
        if step.opname in {"STORE_NAME", "STORE_GLOBAL"}:
            yield step.argval, False
        elif isinstance(step.argval, types.CodeType):
            inner = list(_names(step.argval))  # a class makes names of its own
            mine = {name for name, is_read in inner if not is_read}
            yield from (found for found in inner if found[0].partition(".")[0] not in mine)


@attrs.define
class _Passed:
    """The code for variables, as it grows."""

    folder: Path
    _together: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """By name, the values by name that are saved with this one."""
    imports: list[str] = attrs.field(factory=list)
    lines: list[str] = attrs.field(factory=list)
    """Each needs only what comes before it."""
    _parts: dict[str, set[object]] = attrs.field(factory=dict)
    """By name, the ``id`` of what a value consists of and could share, and memory of tensors."""
    _alive: list[object] = attrs.field(factory=list)
    """While it is there, nothing else gets its ``id``."""
    _names: dict[int, str] = attrs.field(factory=dict)
    """By the ``id`` of a value, the first name that it has."""
    _values: dict[str, Any] = attrs.field(factory=dict)
    _classes: set[str] = attrs.field(factory=set)
    """What saved values find under `_OWN`."""

    def add(self, chain: str, scope: Mapping[str, Any]) -> None:
        """Add the code for a name of ``scope``, with the submodules that its attributes name."""
        name, *attributes = chain.split(".")
        if name not in scope or name == "__builtins__":
            return
        value = scope[name]
        if isinstance(value, types.ModuleType):
            self.imports += _imports(name, value, attributes)
        elif name not in self._values:
            self._values[name] = value
            try:
                self._add_value(name, value, scope)
            except UsageError:
                raise
            except Exception as error:  # anything may happen in somebody's pickling
                kind = f"{type(value).__module__}.{type(value).__qualname__}"
                raise UsageError(
                    f'"{name}" ({kind}) cannot be passed on: {error}', _REMEDY
                ) from error
        elif self._values[name] is not value:
            raise UsageError(f'two values are called "{name}"', "Rename one of them.")

    def together(self) -> dict[str, dict[str, Any]]:
        """By name, what has to be saved as one, because it shares something that can change."""
        groups: list[tuple[list[str], set[object]]] = []
        for name, parts in self._parts.items():
            shares = [group for group in groups if group[1] & parts]
            names = [each for group in shares for each in group[0]]
            groups = [group for group in groups if group not in shares]
            groups.append(([*names, name], parts.union(*(group[1] for group in shares))))
        several = [names for names, _ in groups if len(names) > 1]
        return {
            name: {each: self._values[each] for each in names}
            for names in several
            for name in names
        }

    def _add_value(self, name: str, value: Any, scope: Mapping[str, Any]) -> None:
        is_definition = isinstance(value, _DEFINED)
        is_own = is_definition and _is_own(value, scope)
        first = getattr(value, "__name__", name)
        if is_own and name != first and scope.get(first) is value:
            self.add(first, scope)
            self.lines.append(f"{name} = {first}")
            return
        known = self._names.setdefault(id(value), name)
        if known != name and type(value) not in _ATOMS:
            self.lines.append(f"{name} = {known}")
        elif is_own:
            home = _home(value, scope)
            source = _source(value, name, home)
            for chain in _needed(source):
                self.add(chain, home)
            self.lines.append(source)
        elif _is_builtin(value) or (is_definition and value.__qualname__.isidentifier()):
            self.imports.append(f"from {value.__module__} import {value.__name__} as {name}")
        elif type(value).__name__ == _CUSTOM_OPERATOR:
            made = value._init_fn  # noqa: SLF001 - nothing else tells its module
            if _is_own(made, scope):
                raise ValueError("what is registered with it is missing. Define it in a module.")
            self.imports.append(f"from {made.__module__} import {made.__name__} as {name}")
        elif type(value).__name__ in _OPERATORS and type(value).__module__ == "torch._ops":
            self.lines.append(f"{name} = __import__('torch').ops.{value}")
        elif name in self._together:
            values = self._together[name]
            self._values |= values
            self._names |= {id(each): key for key, each in values.items()}
            self.lines.append(
                f"{', '.join(values)} = {self._loaded(name, (*values.values(),), scope)}"
            )
        else:
            self.lines.append(f"{name} = {self._expression(name, value, scope)}")

    def _expression(self, name: str, value: Any, scope: Mapping[str, Any]) -> str:
        try:
            plain = _plain(value)
            if len(plain) <= MAX_INLINE:
                self._parts[name] = set(_containers(value))
                return plain
        except (ValueError, RecursionError):
            pass
        return self._loaded(name, value, scope)

    def _loaded(self, name: str, value: Any, scope: Mapping[str, Any]) -> str:
        """An expression that loads what is saved here."""
        torch: Any = sys.modules.get("torch")
        if torch is None:
            raise ValueError(
                f"without torch imported, only plain data can be, up to {MAX_INLINE:,} characters."
            )
        own, picklers = self, list[Any]()
        parts: set[object] = set()

        class Pickler(pickle.Pickler):
            """Lets classes and functions of the program be found in the setup."""

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                picklers.append(self)

            def reducer_override(self, found: Any) -> Any:
                if isinstance(found, _DEFINED) and _is_own(found, scope):
                    return own.found_there(found, scope)
                if isinstance(found, type):
                    for place, part in vars(found).items():
                        if isinstance(part, types.FunctionType) and _is_own(part, scope):
                            raise ValueError(f"{found.__name__}.{place} was set by this program.")
                if not isinstance(found, torch.Tensor):
                    return NotImplemented
                parts.update(_memory(torch, found))
                return _reduced(torch, found)

        stream = io.BytesIO()
        torch.save(value, stream, types.SimpleNamespace(__name__="pickle", Pickler=Pickler))
        memos = [pickler.memo.copy() for pickler in picklers]
        self._alive += memos
        fixed = (*_DEFINED, *_FIXED, torch.dtype, torch.layout, torch.device)
        self._parts[name] = parts | {
            key
            for memo in memos
            for key, (_, found) in memo.items()
            if not isinstance(found, fixed)
        }
        content = stream.getvalue()
        path = self.folder / f"{hashlib.sha256(content).hexdigest()[:16]}.pt"
        path.write_bytes(content)
        return f"__import__('torch').load({str(path)!r}, weights_only=False)"

    def found_there(self, value: Any, scope: Mapping[str, Any]) -> tuple[Any, ...]:
        """How a saved value finds a class or function of the program, whose source comes first."""
        name, home = value.__name__, _home(value, scope)
        if name not in self._classes:
            if home.get(name) is not value:
                raise ValueError(
                    f"{name} was defined again since then, or not at the top of a cell or file."
                )
            self._classes.add(name)
            self.add(name, home)
            place = f"__import__('sys').modules.setdefault('{_OWN}', __import__('types')"
            self.lines.append(f"{place}.SimpleNamespace()).{name} = {name}")
        return eval, (f"__import__('sys').modules['{_OWN}'].{name}",)


def _is_own(value: Any, scope: Mapping[str, Any]) -> bool:
    """Whether a function or class was defined where its name is: no import finds it."""
    return value.__module__ in {"__main__", scope.get("__name__")}


def _home(value: Any, scope: Mapping[str, Any]) -> Mapping[str, Any]:
    """The names among which a function or class of the program was defined."""
    if not isinstance(value, type):
        return getattr(inspect.unwrap(value), "__globals__", scope)
    home = vars(sys.modules.get(value.__module__, sys))
    return home if home.get(value.__name__) is value else scope


def _is_builtin(value: Any) -> bool:
    """Whether a function of a module in C is what its name there says, and no bound method."""
    if not isinstance(value, types.BuiltinFunctionType):
        return False
    return getattr(sys.modules.get(value.__module__ or ""), value.__name__, None) is value


def _reduced(torch: Any, tensor: Any) -> Any:
    """How a tensor is made again: with its gradient, and a plain one without preparing for any."""
    if tensor.grad_fn is not None:
        raise ValueError("a tensor has a graph (grad_fn). Pass its detach().")
    if tensor.is_inference():
        raise ValueError("a tensor was made in inference mode. Pass its clone().")
    if tensor.grad is not None:
        made, of, *_ = tensor.__reduce_ex__(2)
        return made, of, tensor.grad, None, None, _GradientSetter()
    is_plain = (
        type(tensor) is torch.Tensor
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


class _GradientSetter:
    """A function for whoever loads it: no name is known there."""

    def __call__(self, tensor: Any, gradient: Any) -> None:
        tensor.grad = gradient

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("lambda tensor, gradient: setattr(tensor, 'grad', gradient)",)


_WITH_STORAGE = {
    *("float64", "float32", "float16", "bfloat16", "complex64", "complex128"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
}
"""The dtypes with a class of storage; torch makes tensors of later ones in another way."""


def _memory(torch: Any, tensor: Any) -> Iterator[tuple[str, int]]:
    """The memory that a tensor may share with others."""
    if tensor.layout == torch.strided:
        with contextlib.suppress(RuntimeError):  # there are tensors without any
            storage = getattr(tensor, "untyped_storage", None) or tensor.storage
            if place := storage().data_ptr():
                yield "memory", place


def _containers(value: object) -> Iterator[int]:
    """The ``id`` of each list, set and dictionary in plain data."""
    if type(value) in {list, set, dict}:
        yield id(value)
    if isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def _source(value: Any, name: str, home: Mapping[str, Any]) -> str:
    """The definition of a function or class as ``name``, from the file or cell that made it."""
    made = inspect.unwrap(value)
    if getattr(made, "__closure__", None):
        raise ValueError("it is a closure. Give it what it reads as arguments.")
    if len(getattr(value, "registry", ())) > 1:  # of functools.singledispatch
        raise ValueError("what is registered with it is missing. Define it in a module.")
    parts = [made, *(inspect.unwrap(part) for part in vars(made).values() if callable(part))]
    mine = (part for part in parts if getattr(part, "__module__", None) == made.__module__)
    codes = [part.__code__ for part in mine if hasattr(part, "__code__")]
    files = [code.co_filename for code in codes]
    files.append(getattr(sys.modules.get(made.__module__), "__file__", None) or "")
    kinds: Any = ast.FunctionDef | ast.AsyncFunctionDef
    if isinstance(made, type):
        kinds = ast.ClassDef
        # One without code of its own does not say from which cell it is: the newest of its name.
        files += [file for file in reversed(linecache.cache) if not Path(file).exists()]
    for file in dict.fromkeys(files):
        lines = [code.co_firstlineno for code in codes if code.co_filename == file]
        linecache.checkcache(file)  # it may have been edited, and executed again
        for node in reversed(_parsed("".join(linecache.getlines(file)))):
            if isinstance(node, kinds) and node.name == made.__name__ and _holds(node, lines):
                if patched := _patched(made, node):
                    raise ValueError(f"its {patched} was set later. Write it into the class.")
                if changed := next(_changed(made, node, home), ""):
                    raise ValueError(f"its {changed} has changed since. Define it again.")
                node.name = name
                return ast.unparse(node)
    raise ValueError("its source is not a definition at the top of a cell or file.")


def _parsed(source: str) -> list[ast.stmt]:
    """Its statements; none of a cell that is no Python."""
    with contextlib.suppress(SyntaxError):
        return ast.parse(source).body
    return []


def _holds(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, lines: list[int]) -> bool:
    """Whether this is the definition with code at one of ``lines``, and not another of its name."""
    first = min(part.lineno for part in (node, *node.decorator_list))
    return not lines or any(first <= line <= (node.end_lineno or first) for line in lines)


def _patched(made: Any, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The name of a function that a class did not get by its definition, or an empty one."""
    if not isinstance(made, type) or node.decorator_list:
        return ""
    bound = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    for name, part in vars(made).items():
        function = inspect.unwrap(part) if callable(part) else part
        is_outside = getattr(function, "__qualname__", "") == getattr(function, "__name__", None)
        is_own = isinstance(function, types.FunctionType) and function.__module__ == made.__module__
        if is_own and is_outside and name not in bound:
            return name
    return ""


def _changed(made: Any, node: Any, home: Mapping[str, Any]) -> Iterator[str]:
    """What a definition would make otherwise now, as far as names and plain data tell."""
    if not isinstance(made, type):
        yield from _changed_defaults(made, node, home)
        return
    compound = ast.If | ast.For | ast.While | ast.With | ast.Try | ast.AugAssign | ast.Delete
    several = [each for each in node.body if isinstance(each, compound)]
    unknown = {part.id for each in several for part in ast.walk(each) if isinstance(part, ast.Name)}
    bound: dict[str, ast.expr] = {}
    for each in node.body:
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        if getattr(each, "value", None) is not None:
            bound |= {it.id: each.value for it in targets if isinstance(it, ast.Name)}
    around = {name: value for name, value in home.items() if name not in bound}
    for name, expression in bound.items():
        is_there = name in vars(made) and name not in unknown
        if is_there and _is_other(expression, vars(made)[name], around):
            yield name
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            part: Any = vars(made).get(each.name)
            if isinstance(part, types.BuiltinFunctionType) and not each.decorator_list:
                yield each.name
            function = inspect.unwrap(getattr(part, "__func__", part))
            if isinstance(function, types.FunctionType):
                yield from _changed_defaults(function, each, around)


def _changed_defaults(function: Any, node: Any, home: Mapping[str, Any]) -> Iterator[str]:
    named, arguments = getattr(function, "__kwdefaults__", None) or {}, node.args
    values = getattr(function, "__defaults__", None) or ()
    positional = [*arguments.posonlyargs, *arguments.args][
        -len(arguments.defaults) or sys.maxsize :
    ]
    both = [*zip(positional, arguments.defaults, values, strict=False)]
    for argument, expression in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if expression is not None and argument.arg in named:
            both.append((argument, expression, named[argument.arg]))
    for argument, expression, value in both:
        if _is_other(expression, value, home, is_kept=True):
            yield f"default of {argument.arg}"


def _is_other(
    expression: ast.expr, value: Any, home: Mapping[str, Any], *, is_kept: bool = False
) -> bool:
    """Whether an expression gives another value now; ``is_kept``: nothing makes another of it."""
    name = expression.id if isinstance(expression, ast.Name) else ""
    try:
        now = home[name] if name in home else ast.literal_eval(expression)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    try:
        return _plain(value) != _plain(now)
    except (ValueError, RecursionError):
        if not is_kept or name not in home or value is now:
            return False
        with contextlib.suppress(Exception):  # as of tensors, which are many values
            return not bool(value == now)
        return True


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
