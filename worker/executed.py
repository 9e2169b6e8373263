"""What one warm iteration executes: bytecodes by Python function, operators by name.

Both are whole numbers that no memory layout, allocator or load moves. They are taken natively, in
a child of their own, in single windows of the loop that is counted: the hooks at both ends of a
window switch an observer on and off. Bytecodes are those of the calling thread.

The same children see what is looked up on types (`method_cache`).
"""

from __future__ import annotations

import ctypes
import dis
import hashlib
import inspect
import os
import re
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Callable, Iterator, Sequence

from . import method_cache
from .main import CompiledLoop, Message, PythonLoop, Shim, with_artefact
from .once import first_run

CASE_FILE = "<case>"
"""Where the code of a case says that it stands."""
LOOP = "ic_case"
"""The function around the statement, whose own lines are none of it."""
GENERATED = "<generated>"
"""Where code stands that no file holds; its digest tells what it is."""

# It looks for its table when it is made, which takes each child as long as the rest: made here, by
# the server, it serves every child, each of which has its own copy and uses it once.
_LOOKUPS = method_cache.Lookups()

# TorchScript runs a graph once to profile and once to optimise it; caches are filled before that.
_WARM_UP_RUNS = 4


def executed(request: Message, shim: Shim) -> Message:
    """What one warm iteration executes: bytecodes of Python cases, operators of all."""
    import torch

    case = with_artefact(request["case"], "")
    torch.set_num_threads(case["num_threads"])
    operators = Operators(torch)
    if case["language"] == "C++":
        observe(compiled_run(case), [operators])
        return {"executed": {"python": "", "functions": None, "operators": operators.rows()}}
    loop = PythonLoop(case, shim.idle_hooks)
    bytecodes = Bytecodes(*loop.statement)
    rounds: list[Any] = [_LOOKUPS] * method_cache.ROUNDS
    observe(loop.run, [bytecodes, operators, *rounds])
    return {
        "executed": {
            "python": "%d.%d" % sys.version_info[:2],
            "functions": bytecodes.rows(),
            "operators": operators.rows(),
        },
        "lookups": _LOOKUPS.rows(bytecodes.names()),
    }


def compiled_run(case: Message) -> Callable[[Sequence[int], Sequence[Callable[[], None]]], None]:
    """What runs the windows of a C++ case, with functions of Python around them; see `observe`."""
    compiled, hook = CompiledLoop(case), ctypes.CFUNCTYPE(None)

    def run(lengths: Sequence[int], hooks: Sequence[Callable[[], None]]) -> None:
        array = (ctypes.c_uint64 * len(lengths))(*lengths)
        compiled.run(array, tuple(map(hook, hooks)))

    return run


def once_bytecodes(request: Message, shim: Shim) -> Message:
    """The bytecodes of the first run of a statement, which nothing warmed up."""
    loop = PythonLoop(request["case"], shim.idle_hooks)
    bytecodes = Bytecodes(*loop.statement)
    first_run(loop, (bytecodes.begin, bytecodes.end))
    python = "%d.%d" % sys.version_info[:2]
    return {"executed": {"python": python, "functions": bytecodes.rows()}}


def once_operators(request: Message, shim: Shim) -> Message:
    """The operators of the first run of a statement; none where torch is not there before it."""
    imported = sys.modules.get("torch")
    loop = PythonLoop(request["case"], shim.idle_hooks)
    if imported is None:
        return {"executed": {"operators": []}}
    operators = Operators(imported)
    first_run(loop, (operators.begin, operators.end))
    return {"executed": {"operators": operators.rows()}}


class Observer:
    """Sees what runs between `begin` and `end`, which are called from the loop of the case."""

    def begin(self) -> None:
        """Start to look."""

    def end(self) -> None:
        """Stop looking."""


def observe(
    run: Callable[[Sequence[int], tuple[Callable[[], None], Callable[[], None]]], None],
    observers: Sequence[Observer],
) -> None:
    """Let each observer see one iteration of its own, after some to warm up.

    ``run`` runs the windows of a case: it gets the iterations of each, and the hooks around them.
    """
    windows = iter([Observer(), *observers])
    current: list[Observer] = []

    def begin() -> None:
        current[:] = [next(windows)]
        current[0].begin()

    def end() -> None:
        current[0].end()

    run([_WARM_UP_RUNS, *(1 for _ in observers)], (begin, end))


class Bytecodes(Observer):
    """Counts bytecodes by code object; of the loop around a case, those of the statement alone."""

    def __init__(self, first_line: int, lines: int) -> None:
        """``first_line`` and ``lines`` say where the statement stands in the code of the case."""
        self._statement = range(first_line, first_line + lines)
        # Code objects are equal where their text is, and slow to hash: they are told by identity,
        # and kept with what counts of them, so that no other one gets it.
        self._seen: dict[int, tuple[CodeType, frozenset[int] | None]] = {}
        self._numbers: Counter[int] = Counter()
        # Events of single instructions, from Python 3.12 on: `sys.settrace` would slow them down.
        self._monitoring: Any = vars(sys).get("monitoring")
        self._tool = 0

    def begin(self) -> None:
        """Start to look at every frame, the one of the loop included."""
        if self._monitoring is not None:
            monitoring, event = self._monitoring, self._monitoring.events.INSTRUCTION
            self._tool = next(tool for tool in range(6) if monitoring.get_tool(tool) is None)
            monitoring.use_tool_id(self._tool, "instruction-counts")
            monitoring.register_callback(self._tool, event, self._executed)
            monitoring.set_events(self._tool, event)
            return
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code.co_filename != CASE_FILE:
            frame = frame.f_back
        if frame is not None:
            _look_at_opcodes(frame)
            frame.f_trace = self._trace
        sys.settrace(self._trace)

    def end(self) -> None:
        """Stop looking."""
        if self._monitoring is not None:
            self._monitoring.set_events(self._tool, 0)
            self._monitoring.free_tool_id(self._tool)
        else:
            sys.settrace(None)

    def rows(self) -> list[Message]:
        """Functions with where they stand, a digest of their code, and what they executed."""
        roots = _roots()
        counts: Counter[tuple[str, int, str, str]] = Counter()
        for place, number in self._numbers.items():
            counts[_identity(self._seen[place][0], roots)] += number
        return [
            {"file": file, "line": line, "name": name, "digest": digest, "bytecodes": number}
            for (file, line, name, digest), number in sorted(counts.items())
        ]

    def names(self) -> set[str]:
        """The names that the code uses which was executed."""
        return {name for code, _ in self._seen.values() for name in code.co_names}

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        del argument
        if event == "call":
            _look_at_opcodes(frame)
        elif event == "opcode":
            self._executed(frame.f_code, frame.f_lasti)
        return self._trace

    def _executed(self, code: CodeType, offset: int) -> None:
        if id(code) not in self._seen:
            self._seen[id(code)] = code, self._offsets(code)
        offsets = self._seen[id(code)][1]
        if offsets is None or offset in offsets:
            self._numbers[id(code)] += 1

    def _offsets(self, code: CodeType) -> frozenset[int] | None:
        """Which bytecodes count: those of the statement, none of this module, all of the rest."""
        if code.co_filename == __file__:
            return frozenset()
        if (code.co_filename, code.co_name) != (CASE_FILE, LOOP):
            return None
        starts = dict(dis.findlinestarts(code))
        found, line = set(), None
        for offset in range(0, len(code.co_code), 2):
            line = starts.get(offset, line)
            if line in self._statement:
                found.add(offset)
        return frozenset(found)


def _look_at_opcodes(frame: FrameType) -> None:
    frame.f_trace_opcodes, frame.f_trace_lines = True, False


def _roots() -> list[str]:
    """Folders that packages lie in: of the search path the innermost first, then all others."""
    paths = sysconfig.get_paths()
    searched = {*filter(None, sys.path), paths["stdlib"], paths["platstdlib"]}
    # What is compiled for a case lies beside this package, in a folder with a number of its own.
    others = (pair for pair in [*sys.modules.items()] if pair[0] != __package__)
    modules = [module for name, module in others if "." not in name]
    # A checkout that is installed as editable can be found without being on the path.
    found = {
        str(Path(place).parent)
        for module in modules
        for place in getattr(module, "__dict__", {}).get("__path__") or ()
    }
    innermost = sorted(map(os.path.abspath, searched), key=len, reverse=True)
    return [*innermost, *sorted(found, key=len)]


def _identity(code: CodeType, roots: Sequence[str]) -> tuple[str, int, str, str]:
    """File, line, name and digest: the same wherever the packages are installed."""
    name = getattr(code, "co_qualname", code.co_name)
    path = code.co_filename
    if path == CASE_FILE:
        # What the case says is known, and the setup in it names files that were made for it.
        return path, 0, "statement" if name == LOOP else name, ""
    if path.startswith("<frozen "):
        return path, code.co_firstlineno, name, digest(code)
    root = next((root for root in roots if path.startswith(root + os.sep)), None)
    folder, _ = os.path.split(path)
    # What a library writes to a temporary file to import it has another name in each process.
    if not folder.startswith(os.sep) or (root is None and folder == tempfile.gettempdir()):
        return GENERATED, 0, name, digest(code)
    file = Path(path).name if root is None else path[len(root) + 1 :]
    return file, code.co_firstlineno, name, digest(code)


_UNIQUE = re.compile("_[0-9]+_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}$")
"""What Dynamo appends to the name of a graph that it compiles: another in each process."""


def digest(code: CodeType) -> str:
    """SHA-256 of what a function does, 16 digits: its place and docstring take no part in it.

    Nor does what is in functions and classes that it defines, which have a digest of their own.
    """
    return hashlib.sha256(repr(_content(code)).encode(errors="replace")).hexdigest()[:16]


def _content(value: Any, *, is_inside: bool = False) -> Any:
    if isinstance(value, CodeType):
        if is_inside and not value.co_name.startswith("<"):  # not as lambdas and comprehensions
            return value.co_name
        kinds = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        names = tuple(tuple(_UNIQUE.sub("", name) for name in kind) for kind in kinds)
        first = (None,) if _has_docstring(value) else value.co_consts[:1]
        return value.co_code, names, _content(first + value.co_consts[1:])
    if isinstance(value, tuple):
        return tuple(_content(one, is_inside=True) for one in value)
    if isinstance(value, frozenset):
        return sorted(map(repr, value))  # its order is that of hashes, which differ
    return type(value).__name__, value


def _has_docstring(code: CodeType) -> bool:
    """Whether the first constant is that: it is if it is a text, but for comprehensions.

    From Python 3.14 on, a flag says it.
    """
    flags = inspect.CO_OPTIMIZED | getattr(inspect, "CO_HAS_DOCSTRING", 0)
    is_text = bool(code.co_consts) and isinstance(code.co_consts[0], str)
    return is_text and code.co_flags & flags == flags and not code.co_name.startswith("<")


class Operators(Observer):
    """Counts the operators that torch dispatches, by its own profiler."""

    def __init__(self, torch: Any) -> None:
        self._profile = torch.autograd.profiler.profile()

    def begin(self) -> None:
        """Start the profiler."""
        self._profile.__enter__()

    def end(self) -> None:
        """Stop it; what it saw is read later."""
        self._profile.__exit__(None, None, None)

    def rows(self) -> list[Message]:
        """Operators with how often each ran, forward and backward."""
        calls = Counter(_calls(self._profile.kineto_results.experimental_event_tree()))
        return [
            {"name": name, "backward": backward, "calls": number}
            for (name, backward), number in sorted(calls.items())
        ]


_NODE = "autograd::engine::evaluate_function"
"""How the event is called in which a node of the backward graph is evaluated."""


def _calls(events: Sequence[Any], *, backward: bool = False) -> Iterator[tuple[str, bool]]:
    """Operators, with whether a node of the backward graph calls them.

    These are events as they were nested. The list that the profiler makes of them nests them by
    times, which are those of microseconds up to torch 2.0: there it is another in each run. What
    does no more than call another overload of its name is one call, as in that list.
    """
    for event in events:
        is_node = event.name.startswith(_NODE)
        is_operator = getattr(getattr(event.extra_fields, "scope", None), "name", "") == "FUNCTION"
        calls_another = [event.name] == [child.name for child in event.children]
        if is_operator and "::" in event.name and not (is_node or calls_another):
            yield event.name, backward
        yield from _calls(event.children, backward=backward or is_node)
