"""Counts what it is told, in the interpreter of the build under test, and loads what else is asked.

A process that counts executes this file and, beside it, `names`, `method_cache`, `cpython`, and for
some cases `compiled` or `once`. An edit of these can move counts, so their digest is part of each
fingerprint. Every other module here holds tasks that never run where instructions are counted: it
is loaded when a task of it is asked for, in a process that takes none.

All of them need the standard library, and torch inside functions, and nothing else of this project.
They run on Python 3.9 and later, from any directory.

It speaks JSON lines over two inherited descriptors, never over stdout, which belongs to the user's
code. Its first message is ``hello`` with the protocol version. Each request names a ``task``, and
the ``module`` that it is a function of; the answer has a ``status``. The tasks of this file are

- ``serve``: become a fork server: import torch, get ready, answer ``ready``; then ``fork`` starts a
  child that carries out the task in a request file, and ``reap`` tells how it ended.
- ``counts``, in a child of a server: instructions of a case.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import gc
import importlib.util
import itertools
import json
import os
import resource
import sys
import tempfile
import textwrap
import traceback
import warnings
from pathlib import Path
from types import ModuleType
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    NoReturn,
    Optional,
    Sequence,
    Set,
    Tuple,
)

PROTOCOL_VERSION = 1
ARTEFACT_PATH = "@ARTEFACT_PATH@"
"""Stands in a setup for the file that was made for a case; part of what identifies its code."""
CACHES = "TORCHINDUCTOR_CACHE_DIR"
"""Names the folder where torch.compile keeps what it made; that of a case is its own."""
NAMES = "names"
"""The file with the names of what the native server imported, for the one that counts."""
TORCH = ("torch",)
"""What the code of a case knows, unless it says otherwise."""
PACKAGE = "instruction_counts_worker"
"""What modules of tasks are imported as: a name that nobody else has."""
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9

Message = Dict[str, Any]


# ---------------------------------------------------------------------------------------------
# The channel
# ---------------------------------------------------------------------------------------------


class Channel:
    """JSON lines over a pair of descriptors."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._pending = b""

    def send(self, message: Message) -> None:
        """Write one message, whole."""
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self._write_fd, data) :]

    def receive(self) -> Optional[Message]:
        """The next message, or None when the controller is gone."""
        while b"\n" not in self._pending:
            data = os.read(self._read_fd, 65536)
            if not data:
                return None
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        message: Message = json.loads(line)
        return message


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Say hello, then answer requests until the controller closes the channel."""
    parser = argparse.ArgumentParser(description="Measurement worker; started by its controller.")
    parser.add_argument("--read-fd", type=int, required=True)
    parser.add_argument("--write-fd", type=int, required=True)
    args = parser.parse_args(argv)
    channel = Channel(args.read_fd, args.write_fd)
    channel.send({"type": "hello", "protocol": PROTOCOL_VERSION, "pid": os.getpid()})
    while True:
        request = channel.receive()
        if request is None:
            return 0
        for path in request.get("stand_ins", ()):
            # Libraries that are there are not looked for when torch is imported.
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        if request["task"] == "serve":
            return serve(channel, request)
        request["read_fd"] = args.read_fd
        channel.send(as_value(lambda one: task_of(one)(one), request))


def task_of(request: Message) -> Callable[..., Message]:
    """The function that carries out a request."""
    if "module" not in request:
        return count_in_child
    function: Callable[..., Message] = getattr(neighbour(request["module"]), request["task"])
    return function


def neighbour(name: str) -> Any:
    """A module of tasks, which can import its own neighbours, and this one as ``.main``.

    A case may import modules that are called like the files here. So the folder, which older
    Pythons put there, does not stay on the path.
    """
    if PACKAGE not in sys.modules:
        folder = Path(globals().get("__file__", "worker.py")).resolve().parent
        sys.path[:] = [path for path in sys.path if not path or Path(path).resolve() != folder]
        package = sys.modules[PACKAGE] = ModuleType(PACKAGE)
        package.__path__ = [str(folder)]
        sys.modules[PACKAGE + ".main"] = sys.modules["__main__"]
    return importlib.import_module("%s.%s" % (PACKAGE, name))


def as_value(function: Callable[[Message], Message], request: Message) -> Message:
    """The result of a request as a message, whether it succeeded or raised."""
    try:
        return {"status": "ok", **function(request)}
    except MeasurementError as error:
        return {"status": "failed", "failure": error.failure}
    except BaseException as error:  # noqa: BLE001 - sys.exit and all: a failure is a value
        return {"status": "failed", "failure": describe(error, {})}


# Looked up here: under Callgrind that takes each child ten milliseconds.
_prctl = getattr(ctypes.CDLL(None), "prctl", None)


def _die_with_parent() -> None:
    # A child ends with its server, which notices the controller's end by the channel.
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def pin(cores: Sequence[int]) -> None:
    """Run on these cores alone."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


# ---------------------------------------------------------------------------------------------
# Failures as values
# ---------------------------------------------------------------------------------------------


class MeasurementError(Exception):
    """A failure that is already described."""

    def __init__(self, failure: Message) -> None:
        super().__init__(failure["message"])
        self.failure = failure


class Source:
    """Generated code, and where the user's parts stand in it: name -> (first line, lines)."""

    def __init__(self, text: str, parts: Dict[str, Tuple[int, int]]) -> None:
        self._lines = text.split("\n")
        self._parts = parts

    def locate(self, number: int) -> Tuple[str, str]:
        """The place of a line in the user's terms, and the line; empty where it is not theirs."""
        for name, (first, count) in self._parts.items():
            if first <= number < first + count:
                return "%s line %d" % (name, number - first + 1), self._lines[number - 1].strip()
        return "", ""


def describe(error: BaseException, sources: Dict[str, Source]) -> Message:
    """A failure as a message: the exception, and the user's line that raised it.

    ``sources`` maps the file names under which the user's code was compiled to their texts.
    """
    place, code = "", ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename in sources:
            place, code = sources[frame.filename].locate(frame.lineno or 0)
    text = str(error)
    if isinstance(error, SyntaxError) and error.filename in sources:
        text = error.msg
        place, code = sources[error.filename].locate(error.lineno or 0)
    if isinstance(error, SystemExit):
        text = "the code called sys.exit(%s)" % (error.code,)
    return {
        "kind": "compile" if isinstance(error, SyntaxError) else "exception",
        "message": ("%s: %s" % (type(error).__name__, text)).rstrip(": "),
        "place": place,
        "code": code,
    }


def cpu_capability(torch: Any) -> str:
    """The instruction set that torch's kernels are dispatched to in this process."""
    backend = getattr(torch.backends, "cpu", None)
    function = getattr(backend, "get_cpu_capability", None)
    if function is not None:
        return str(function())
    return line_with(torch.__config__.show(), "CPU capability usage")


def line_with(text: str, name: str) -> str:
    """What follows the colon in the line of ``text`` that holds ``name``."""
    for line in text.splitlines():
        if name in line:
            return line.split(":", 1)[1].strip()
    return ""


# ---------------------------------------------------------------------------------------------
# Artefacts: what only a build of torch can make, such as a scripted model
# ---------------------------------------------------------------------------------------------


def make_artefact(source_text: str, path: str) -> None:
    """Run ``source_text``, which defines a function ``save``, and let that write ``path``."""
    # torch.jit.script reads the source of what it scripts, so it has to be a file.
    module_path = path + ".py"
    Path(module_path).write_text(source_text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("instruction_counts_model", module_path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        with warnings.catch_warnings():
            # torch announces the end of TorchScript; whoever measures it knows.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            spec.loader.exec_module(module)
            module.save(path)
    except Exception as error:  # the user's model may fail in any way
        parts = {"model": (1, source_text.count("\n") + 1)}
        failure = describe(error, {module_path: Source(source_text, parts)})
        raise MeasurementError(failure) from error


def with_artefact(case: Message, folder: str) -> Message:
    """The case with the file of its artefact in the setup; makes that file if needed."""
    if not case.get("artefact_source"):
        return case
    path = case.get("artefact")
    if not path:
        path = str(Path(folder) / ("artefact" + case.get("artefact_suffix", "")))
        make_artefact(case["artefact_source"], path)
    return {**case, "setup": case["setup"].replace(ARTEFACT_PATH, path), "artefact": path}


# ---------------------------------------------------------------------------------------------
# The fork engine: one import of torch serves many cases
# ---------------------------------------------------------------------------------------------


def serve(channel: Channel, request: Message) -> int:
    """Import torch, get ready, then fork a child for each request until the controller leaves.

    The parent does as little as it can between forks, and always the same: children inherit its
    memory, and with it the traces of all that it ever did.
    """
    pin(request["cores"])
    shim = Shim(request["shim"])
    base = os.open(".", os.O_RDONLY)
    ready = as_value(lambda one: _get_ready(one, shim), request)
    channel.send({"type": "ready", **ready})
    if ready["status"] != "ok":
        return 1
    while _answered(channel, shim, base):
        pass
    return 0


def _answered(channel: Channel, shim: Shim, base: int) -> bool:
    """Fork a child, or wait for one; False when the controller is gone.

    Nothing is held between two messages: the next one would lie elsewhere, by turns.
    """
    message = channel.receive()
    if message is None:
        return False
    if message["task"] == "fork":
        pid = os.fork()
        if pid == 0:
            _child(message["request"], shim, base)
        channel.send({"type": "forked", "pid": _fixed(pid)})
    else:
        _, status = os.waitpid(int(message["pid"]), 0)
        channel.send({"type": "reaped", "wait_status": _fixed(status)})
    return True


def _fixed(number: int) -> str:
    """A number in a text of fixed length: a longer message would be allocated elsewhere."""
    return "%010d" % number


_AFTER_WINDOW = ctypes.CFUNCTYPE(None, ctypes.c_uint64)


class Shim:
    """The C library with the client requests, the window hooks and the allocation counters."""

    def __init__(self, path: str) -> None:
        self._library = library = ctypes.CDLL(path)
        library.steady_clock_s.restype = ctypes.c_double
        self.running_on_valgrind = library.steady_running_on_valgrind
        self.start, self.toggle = library.steady_start, library.steady_toggle
        self.zero, self.reset = library.steady_zero, library.steady_reset
        self.order_blocks = library.steady_order_blocks
        self.clock_s = library.steady_clock_s
        # Looked up here: in a child, the first look-up would take objects from free lists.
        self._fill_counters = library.steady_fill_counters
        self.drain_counters = library.steady_drain_counters
        self._clear_method_cache = ctypes.pythonapi.PyType_ClearCache
        self.clock_hooks = (library.steady_clock_begin, library.steady_clock_end)
        # Python loops call these between windows: without releasing the GIL, and without making
        # an object of whatever is in the return register.
        holding_gil = ctypes.PyDLL(path)
        self.count_hooks = (holding_gil.steady_count_begin, holding_gil.steady_count_end)
        # What steadies Python where cases are counted.
        self.method_cache: Any = None
        self.stand_ins: Sequence[str] = ()
        self.on_device: List[Any] = []
        self.holds_counters = False
        # Whether children begin to count by themselves, after what is not to be instrumented.
        self.starts_in_children = False
        self.wake: Callable[[], None] = lambda: None
        # The variables of a case that are emptied after each window.
        self.emptied: Callable[[Message], Sequence[str]] = lambda _: ()
        # Clearing costs takes milliseconds, so idle windows call something else.
        self.idle_hooks = (holding_gil.steady_windows, holding_gil.steady_windows)
        for hook in (*self.count_hooks, *self.idle_hooks):
            hook.restype = None

    @contextlib.contextmanager
    def after_each_window(self, function: Callable[[int], None]) -> Iterator[None]:
        """Call ``function`` with the number of each window that ends; it is not counted."""
        callback = _AFTER_WINDOW(function)
        self._library.steady_after_window(callback)
        try:
            yield
        finally:
            self._library.steady_after_window(_AFTER_WINDOW())

    def begin_counting(self) -> None:
        """Instrument what runs from now on; threads that start are counted, this one in windows."""
        self.wake()
        self.start()
        self.toggle()

    def hold_counters(self, facts: Any) -> None:
        """Let `know_counters` work, as far as ``facts`` about this interpreter are known."""
        full = facts and facts.full_counter
        if full:
            self._library.steady_use_counters(ctypes.c_uint64(full))
        self.holds_counters = can_hold_counters(facts)

    def know_counters(self, code: Any) -> None:
        """Let ``settle_interpreter`` keep the interpreter from specialising a code object again."""
        running = _running(code)
        if running is not None:
            compiled = code.co_code
            self._library.steady_know_counters(
                compiled, ctypes.c_uint64(len(compiled)), ctypes.c_void_p(running)
            )

    def settle_interpreter(self, *, specialised: bool) -> None:
        """Let it begin the next window as it began the one before, whatever ran meanwhile.

        What is ``specialised`` stays as it is.
        """
        if specialised:
            self._fill_counters()
        # The method cache holds names until others take their places.
        self._clear_method_cache()

    def settle_from(self, window: int) -> None:
        """Let the library itself do so after that window and later ones of a Python loop."""
        clear = ctypes.cast(self._clear_method_cache, ctypes.c_void_p)
        self._library.steady_settle_from(ctypes.c_uint64(window), clear)

    def allocate_at(self, size: int, remainder: int, distance: int) -> None:
        """Let the first blocks of a window lie at a remainder of a distance (all in bytes)."""
        self._library.steady_allocate_at(*map(ctypes.c_uint64, (size, remainder, distance)))

    def use_layout(self, number: int) -> None:
        """Allocate elsewhere from now on: each ``number`` is another memory layout."""
        self._library.steady_use_layout(ctypes.c_uint64(number))

    def is_preloaded(self) -> bool:
        """Whether this process allocates with the library, and so its counters count."""
        numbers = (ctypes.c_uint64 * 3)()
        self._library.steady_allocations(numbers)
        return numbers[0] > 0

    def count_from(self, window: int, dumped: int, base: int, dumps: str) -> None:
        """Count the windows from that one on, and dump those from ``dumped`` on.

        What windows cost is read in a log, whose name begins with ``dumps``, below ``base``.
        """
        self._library.steady_read_log(base, dumps.encode())
        self._library.steady_count_from(ctypes.c_uint64(window), ctypes.c_uint64(dumped))

    def allocations(self, window: int) -> List[int]:
        """Calls, bytes and frees during a window."""
        return self._amounts(window)[:3]

    def instructions(self, window: int) -> int:
        """What a window cost the calling thread; 0 where Callgrind does not say it."""
        return self._amounts(window)[3]

    def _amounts(self, window: int) -> List[int]:
        numbers = (ctypes.c_uint64 * 4)()
        self._library.steady_window(ctypes.c_uint64(window), numbers)
        return list(numbers)


def can_hold_counters(facts: Any) -> bool:
    """Whether bytecode lies where ``facts`` about this interpreter have it, if it has counters."""
    # That of a function that does not run now: in one that does, counters change meanwhile.
    has_counters = facts and facts.full_counter
    return bool(facts) and not (has_counters and _running(_call_deeper.__code__) is None)


def _running(code: Any) -> Optional[int]:
    """Where the bytecode of a code object lies as it is executed; None where that is not known."""
    place, running = id(code) + type(code).__basicsize__, getattr(code, "_co_code_adaptive", None)
    if running is None or ctypes.string_at(place, len(running)) != running:
        return None
    return place


def _get_ready(request: Message, shim: Shim) -> Message:
    _search_through_links(request["search_path"])
    _scatter(request["scattered"])
    with _links_not_followed():
        return _made_ready(request, shim)


def _made_ready(request: Message, shim: Shim) -> Message:
    facts = method_cache = None
    if request["role"] == "counts":
        if not shim.running_on_valgrind():
            raise MeasurementError({"kind": "refused", "message": "client requests have no effect"})
        facts = _module_beside("cpython").facts()
        method_cache = _module_beside("method_cache")
    else:
        for name in request["modules"]:
            neighbour(name)  # for the children
    has_torch = "torch" in request["imports"]
    if has_torch:
        _prepare_torch(request, shim)
    for name in request["imports"]:
        importlib.import_module(name)
    if method_cache is not None:
        if not shim.starts_in_children:
            # Children inherit instrumented translations: START costs this once, instead of in each.
            shim.begin_counting()
        shim.method_cache = method_cache.MethodCache(shim.allocate_at, request["scattered"])
        shim.hold_counters(facts)
    known = _rehearsed(request, shim) if has_torch else {"torch": "", "capability": ""}
    if method_cache is None:
        method_cache = neighbour("method_cache")
        Path(NAMES).write_text("\0".join(method_cache.names()) + "\0", "ascii")
    method_cache.remember_types()
    seed(0)
    # After Python's own, which seeds by chance.
    os.register_at_fork(after_in_child=functools.partial(sys.modules["random"].seed, 0))
    return {**known, **_settled(shim)}


def seed(number: int) -> None:
    """Let all processes draw alike what torch, Python and numpy seed by chance: costs depend on it.

    What the system draws, as `os.urandom` does, stays as it is: unique names are made of it.
    """
    import random

    random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)
    numpy_random: Any = sys.modules.get("numpy.random")
    with contextlib.suppress(AttributeError):  # there is none, or an old one
        numpy_random.seed(number)
        # Of generators without a seed of their own.
        numpy_random.bit_generator.randbits = random.Random(number).getrandbits  # noqa: S311


def _prepare_torch(request: Message, shim: Shim) -> None:
    import torch
    import torch.utils.benchmark

    if "stand_ins" in request:
        shim.stand_ins = request["stand_ins"]
        shim.on_device = _settle_on_stand_ins(torch)
    _import_what_comes_late(torch)
    if request["prepares"]:
        shim.starts_in_children = True
        prepares = neighbour(request["prepares"])
        shim.wake = prepares.prepare(request["rehearsal"])
        shim.emptied = getattr(prepares, "results", shim.emptied)
        if request["role"] != "counts":
            shim.wake()


def _rehearsed(request: Message, shim: Shim) -> Message:
    import torch

    torch.set_num_threads(1)
    # With a device there, backward starts threads for it, which would not outlive a fork.
    _rehearse(torch, shim, backward="stand_ins" not in request)
    return {"torch": torch.__version__, "capability": cpu_capability(torch)}


def _settled(shim: Shim) -> Message:
    """Let children find memory in order, and nothing counted so far."""
    gc.collect()
    _fill_free_lists()
    gc.freeze()
    shim.order_blocks()
    shim.zero()
    shim.reset()
    return {
        "preloaded": shim.is_preloaded(),
        "holds_caches": shim.holds_counters and getattr(shim.method_cache, "can_move", False),
    }


_BLOCK = 512
"""Torch's caching allocator rounds what is asked for up to multiples of so many bytes."""


def _settle_on_stand_ins(torch: Any) -> List[Any]:
    """Set CUDA up, and let children use it; returns what is to be held as long as that.

    Torch refuses that, since what a real device is used through does not outlive a fork.
    """
    torch.cuda._is_in_bad_fork = bool
    torch.cuda.init()
    # Backward in the thread that is counted, in place of one that belongs to the device.
    torch.autograd.set_multithreading_enabled(False)
    # The allocator has free blocks of most sizes, as in a process that has run for long. Else it
    # would split one in each iteration, and look it up by wherever the half lies.
    sizes = [*range(1, 9), *(2**power for power in range(4, 9))]
    holes, held = [], []
    for size in sizes * 8:
        holes.append(torch.empty(size * _BLOCK, dtype=torch.uint8, device="cuda"))
        held.append(torch.empty(_BLOCK, dtype=torch.uint8, device="cuda"))
    return held


def _search_through_links(links: Message) -> None:
    """Search other paths than Python found; a place in its search path tells which."""
    for place, link in links.items():
        sys.path_importer_cache.pop(sys.path[int(place)], None)
        sys.path[int(place)] = link


@contextlib.contextmanager
def _links_not_followed() -> Iterator[None]:
    """Take the links of this folder, through which a build is imported, for its own paths.

    `inspect` keeps the real path of each module, which is as long as the build's own path.
    """
    folder, follow = "%s%s" % (Path.cwd(), os.sep), os.path.realpath

    def realpath(path: Any, *args: Any, **options: Any) -> Any:
        text = os.fspath(path)
        if isinstance(text, str) and text.startswith(folder):
            return os.path.normpath(text)
        return follow(path, *args, **options)

    os.path.realpath = realpath  # type: ignore[assignment]
    try:
        yield
    finally:
        os.path.realpath = follow


def _scatter(layout: int) -> None:
    """Let what is allocated from now on lie in another order, by ``layout``; 0 leaves it.

    Blocks of each size are freed in an order in which no two neighbours follow one another.
    """
    way = 7 + 12 * layout
    for size in range(16, 1024 if layout else 0, 16):
        blocks = [bytes(size) for _ in range(1 << 14 if size < 256 else 1 << 10)]
        for number in range(len(blocks)):
            blocks[number * way % len(blocks)] = b""


def _fill_free_lists() -> None:
    """Leave Python's lists of free objects full, as in a process that has run for long.

    A collection empties them. They would fill up again over a hundred iterations and more, and what
    does not fit costs more to free.
    """
    kept: List[Any] = [[{"key": number}, [number]] for number in range(200)]
    kept.append([tuple(range(length)) for length in range(1, 21) for _ in range(2000)])
    kept.append([float(number) for number in range(200)])


def _import_what_comes_late(torch: Any) -> None:
    # The first optimizer of a process imports torch._dynamo: a second, and under Callgrind half a
    # minute, in each child that makes one.
    with contextlib.suppress(Exception):
        torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1).step()


def _rehearse(torch: Any, shim: Shim, *, backward: bool) -> None:
    """Run once what every child will run, so that children inherit it ready; always the same."""
    end = ".backward()" if backward else ""
    case = {
        "stmt": "z = torch.mm(x + y, y)\nz[0, 1:].sum().item()\n(w * x).relu().sum()" + end,
        "setup": "x, y = torch.ones(4, 4), torch.ones(4, 4)\nw = torch.ones(4, requires_grad=True)",
        "num_threads": 1,
        "language": "Python",
    }
    # Below the folder of the server: it is removed also where the server is killed.
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "request.json"
        write_whole(path, {"case": case})
        if backward:
            _rehearse_torchscript(torch, str(Path(folder) / "model.pt"))
        for _ in range(2):
            request = json.loads(path.read_text(encoding="utf-8"))
            with_artefact(request["case"], folder)
            torch.set_num_threads(1)
            loop = PythonLoop(case, shim.idle_hooks)
            with shim.after_each_window(lambda _: None):
                loop.run([1, 3, 2], shim.idle_hooks, CodeSeen())
            describe(ValueError("rehearsed"), {})
            answer = as_value(lambda one: {"windows": [shim.allocations(0)], **one}, request)
            write_whole(path, answer)


_REHEARSED_MODEL = """\
import torch

def f(x, w):
    y = torch.relu(x * w)
    return torch.mm(y, x) + 1.0

save = torch.jit.script(f).save
"""


def _rehearse_torchscript(torch: Any, path: str) -> None:
    try:
        make_artefact(_REHEARSED_MODEL, path)
    except MeasurementError:
        return  # a torch without TorchScript
    x, w = torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)
    for inputs in ((x, x), (x, w)):
        model = torch.jit.load(path)
        for _ in range(5):
            y = model(*inputs).sum()
            if y.requires_grad:
                y.backward()


def write_whole(path: Path, message: Message) -> None:
    """Write a message to a file that its reader sees whole, or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(message), encoding="utf-8")
    partial.replace(path)


def _child(request_path: str, shim: Shim, base: int) -> NoReturn:
    """Carry out one request and leave; whatever happens here costs this case alone.

    All names in a request are relative to ``base``, the folder of the server, and of equal length
    from case to case: a longer path would move what is allocated after it.
    """
    code = 1
    try:
        # What the server freed last lies elsewhere, by turns.
        shim.order_blocks()
        os.setsid()
        request = json.loads(Path(request_path).read_text(encoding="utf-8"))
        _confine(request)
        request["base"] = base
        if "caches" in request["case"]:
            # By a name that is the same for every case: Dynamo and Inductor hash what lies there.
            Path(request["case"]["caches"]).mkdir(exist_ok=True)
            os.chdir(request["case"]["caches"])
            os.environ[CACHES] = "."
        answer = as_value(lambda one: task_of(one)(one, shim), request)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the case may have closed it
                stream.flush()
        os.fchdir(base)  # wherever the case went
        write_whole(Path(request["result"]), answer)
        code = 0
    finally:
        os._exit(code)


def _confine(request: Message) -> None:
    _die_with_parent()
    pin(request["cores"])
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    limit = request["max_file_bytes"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        # Under memory pressure this child goes first, never its server.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")


_NEW_OBJECTS = 1000


def _call_deeper(levels: int, function: Callable[[], None]) -> None:
    """Call ``function`` with the stack some hundred bytes further down for each of ``levels``."""
    if levels:
        list(map(_call_deeper, [levels - 1], [function]))
    else:
        function()


def count_in_child(request: Message, shim: Shim) -> Message:
    """Instructions of a case: windows of its loop, the last ones of which are dumped to files.

    The first windows are the pilot, which tells what a run costs, and so how long to warm up and
    how many runs a window can have. It is counted, not timed: the same build decides the same.
    """
    import torch

    gc.disable()
    # The interpreter counts objects that are new to the collector, but not below zero: to free more
    # than are new would cost less. Sets, because no list of free objects keeps them.
    new_objects: List[Set[Any]] = [set() for _ in range(_NEW_OBJECTS)]  # noqa: F841
    layout = request["layout"]
    if layout:
        shim.use_layout(layout)
    case = with_artefact(request["case"], "")
    torch.set_num_threads(case["num_threads"])
    if case["language"] == "C++":
        loop: Any = CompiledLoop(case)
    else:
        loop = PythonLoop(case, shim.idle_hooks, emptied=shim.emptied(case))
        shim.settle_from(len(request["pilot_runs"]))
    pilot, pattern = request["pilot_runs"], request["pattern"]
    runs = [*pilot, 0, *(0 for _ in pattern)]
    lengths = (ctypes.c_uint64 * len(runs))(*runs)

    def decide(window: int) -> None:
        if window < len(pilot) - 1:
            shim.drain_counters()  # what missed once waits for its turn to be specialised
        else:
            shim.settle_interpreter(specialised=window >= len(pilot))
        if window == len(pilot) - 1:
            per_run = shim.instructions(window) // pilot[-1]
            warm_up, unit = next(
                (warm_up, unit)
                for limit, warm_up, unit in request["schedule"]
                if per_run <= (limit or per_run)
            )
            lengths[window + 1 :] = [warm_up, *(unit * factor for factor in pattern)]

    # Which runs are counted. What changes types in each of them costs more than the lightest cases.
    _, warm_up, unit = request["schedule"][1]
    soonest = sum(pilot) + _RUNS_SEEN + warm_up
    counted = soonest, soonest + sum(pattern) * unit

    def run() -> None:
        if isinstance(loop, CompiledLoop):
            loop.run(lengths, shim.count_hooks)
        else:
            loop.run(
                lengths,
                shim.count_hooks,
                # What was specialised for types that have other versions now takes long to notice.
                CodeSeen(shim.know_counters, shim.drain_counters),
                lambda: shim.method_cache.separate(request["lookups"], counted, layout),
                [shim.method_cache.watch, shim.begin_counting] if shim.starts_in_children else (),
            )

    # One dump more: zeroing costs in its place would leave some of them.
    first_dumped = len(lengths) - 1 - request["dumped"]
    shim.count_from(len(pilot) - 1, first_dumped, request["base"], request["dumps"])
    with shim.after_each_window(decide):
        _call_deeper(layout, run)
    windows = range(len(pilot) + 1, len(lengths))
    if not all(map(shim.instructions, windows)):
        message = "Callgrind does not say what it counted (monitor command: status internal)"
        raise MeasurementError({"kind": "refused", "message": message})
    dumps = "%s.%d" % (request["dumps"], os.getpid())
    parts = {number: part for part, number in enumerate(range(first_dumped, len(lengths)), 1)}
    return {
        "windows": [
            {
                "runs": lengths[number],
                "instructions": shim.instructions(number),
                "dump": "%s.%d" % (dumps, parts[number]) if number > first_dumped else None,
                "allocations": shim.allocations(number),
            }
            for number in windows
        ],
        "pid": os.getpid(),
        "runs": sum(lengths),
    }


def _module_beside(name: str) -> Any:
    """A module that takes part in counting, from the folder of the server."""
    spec = importlib.util.spec_from_file_location("%s.%s" % (PACKAGE, name), name + ".py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------------------------------------
# Loops
# ---------------------------------------------------------------------------------------------


class CompiledLoop:
    """A C++ case: a shared object whose entry point runs the setup, then windows of the loop."""

    def __init__(self, case: Message) -> None:
        library = ctypes.CDLL(case["library"])
        self._entry = library.instruction_counts_case
        if case.get("artefact"):
            model = (ctypes.c_char * 4096).in_dll(library, "instruction_counts_model")
            model.value = case["artefact"].encode()

    def run(self, lengths: Any, hooks: Sequence[Any]) -> None:
        """Run the setup, then a window for each number of runs in the C array ``lengths``."""
        begin, end = (ctypes.cast(hook, ctypes.c_void_p) for hook in hooks)
        error = ctypes.create_string_buffer(4096)
        sizes = ctypes.c_uint64(len(lengths)), ctypes.c_uint64(len(error))
        if self._entry(lengths, sizes[0], begin, end, error, sizes[1]) != 0:
            message = "C++ exception: " + error.value.decode(errors="replace")
            raise MeasurementError({"kind": "exception", "message": message})


_LOOP = """\
def ic_case(ic_windows, ic_repeat):
{setup}
    for ic_runs, ic_begin, ic_end in ic_windows:
        ic_begin()
        for ic_runs in ic_repeat(None, ic_runs):
{stmt}
        ic_end()
{after}"""
# How often the loop over the windows itself runs idle first, to be as specialised as it gets.
_IDLE_WINDOWS = 40


# In the first run of a statement, code runs that no further run needs, and the other way round.
_RUNS_SEEN = 2
# So many let torch compile, and the interpreter specialise what was compiled; the last ones tell
# how many versions of types an iteration takes (`method_cache.RUNS_WATCHED`).
_RUNS_TO_COMPILE = 40, 10


class CodeSeen:
    """The code objects that are entered while this is.

    At the end ``found`` learns of each, then ``all_found`` is called.
    """

    def __init__(
        self,
        found: Callable[[Any], None] = lambda _: None,
        all_found: Callable[[], Any] = lambda: None,
    ) -> None:
        self._found, self._all_found = found, all_found
        # Held, so that no other object gets the place of one.
        self._codes: Dict[int, Any] = {}
        self._tool = 0

    def add(self, code: Any, *_: Any) -> None:
        """Take in a code object."""
        self._codes[id(code)] = code

    def __enter__(self) -> None:
        if sys.version_info < (3, 12):
            sys.setprofile(self._entered)
            return
        # sys.setprofile would undo the specialisation of every call.
        monitoring = vars(sys)["monitoring"]
        self._tool = next(tool for tool in range(6) if monitoring.get_tool(tool) is None)
        monitoring.use_tool_id(self._tool, "instruction-counts")
        monitoring.register_callback(self._tool, monitoring.events.PY_START, self.add)
        monitoring.set_events(self._tool, monitoring.events.PY_START)

    def __exit__(self, *_: object) -> None:
        if sys.version_info < (3, 12):
            sys.setprofile(None)
        else:
            monitoring = vars(sys)["monitoring"]
            monitoring.set_events(self._tool, 0)
            monitoring.free_tool_id(self._tool)
        for code in self._codes.values():
            self._found(code)
        self._all_found()

    def _entered(self, frame: Any, event: str, _: Any) -> None:
        if event == "call":
            self.add(frame.f_code)


def _indented(code: str, columns: int) -> str:
    """``code`` as a block; of a string over several lines, which is what it is, the first moves."""
    margin = " " * columns
    if not any(mark in code for mark in ("'''", '"""', "\\\n")):
        return textwrap.indent(code, margin)
    import ast

    kept: Set[int] = set()
    with contextlib.suppress(SyntaxError):  # it is raised where the case is compiled
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, (ast.Constant, ast.JoinedStr)):
                kept.update(range(node.lineno, node.end_lineno or 0))  # all but its first line
    lines = code.split("\n")
    return "\n".join(
        line if number in kept or not line.strip() else margin + line
        for number, line in enumerate(lines)
    )


class PythonLoop:
    """A Python case: one function that runs the setup, then windows of the loop, as timeit does."""

    def __init__(
        self,
        case: Message,
        idle_hooks: Sequence[Any],
        *,
        pausing: bool = False,
        emptied: Sequence[str] = (),
    ) -> None:
        setup = _indented(case["setup"] or "pass", 4)
        stmt = _indented(case["stmt"], 12)
        after = [*("%s = None" % name for name in emptied), *(["yield"] if pausing else [])]
        lines = "".join("        %s\n" % line for line in after)
        text = _LOOP.format(setup=setup, stmt=stmt, after=lines)
        setup_lines = setup.count("\n") + 1
        parts = {"setup": (2, setup_lines), "stmt": (5 + setup_lines, stmt.count("\n") + 1)}
        self._sources = {"<case>": Source(text, parts)}
        self.statement = parts["stmt"]
        namespace: Dict[str, Any] = {}
        try:
            for name in case.get("imports", TORCH):
                exec("import " + name, namespace)
            exec(compile(text, "<case>", "exec", dont_inherit=True), namespace)
        except SyntaxError as error:
            raise MeasurementError(describe(error, self._sources)) from error
        self._function = namespace["ic_case"]
        self._idle_hooks = tuple(idle_hooks)
        self._paused: Optional[Iterator[None]] = None

    def run(
        self,
        lengths: Any,
        hooks: Sequence[Any],
        seen: Optional[CodeSeen] = None,
        before: Callable[[], Any] = lambda: None,
        after_some: Sequence[Callable[[], None]] = (),
    ) -> None:
        """Run the setup, then a window for each number of runs in ``lengths``, read as it comes.

        ``before`` is called after the setup, and after what is called ``after_some`` runs each.
        ``seen`` gets to know the code that runs, from two further runs before the windows.
        """

        def windows() -> Iterator[Tuple[Any, ...]]:
            for runs, function in zip(_RUNS_TO_COMPILE, after_some):
                yield (runs, *self._idle_hooks)
                function()
            before()
            for _ in range(_IDLE_WINDOWS):
                yield (0, *self._idle_hooks)
            if seen is not None:
                seen.add(self._function.__code__)
                with seen:
                    yield (_RUNS_SEEN, *self._idle_hooks)
            for number in range(len(lengths)):
                yield (lengths[number], *hooks)

        try:
            # Called from C, it has a C frame of its own: Callgrind, which starts to look inside it,
            # would take that of its caller for whatever function was called there last.
            functools.partial(self._function, windows(), itertools.repeat)()
        except BaseException as error:
            raise MeasurementError(describe(error, self._sources)) from error

    def run_window(self, windows: Iterator[Tuple[Any, ...]]) -> None:
        """Run the setup where it has not run yet, then one of ``windows``; of a pausing loop."""
        if self._paused is None:
            self._paused = self._function(windows, itertools.repeat)
        try:
            next(self._paused)
        except BaseException as error:
            raise MeasurementError(describe(error, self._sources)) from error


if __name__ == "__main__":
    sys.exit(main())
