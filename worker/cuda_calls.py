"""What one warm iteration asks of CUDA, as the stand-ins for its libraries hear it.

Each stand-in calls who listens to it; nobody does where instructions are counted. What is heard is
a kind, with the text of what was asked, or of a kernel the function of the host that launches it.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from typing import Any, Sequence

from .executed import Observer, compiled_run, observe
from .main import Message, PythonLoop, Shim, with_artefact

_KINDS = {
    "launch": "launches",
    "library": "library_calls",
    "allocation": "cuda_allocations",
    "copy": "copies",
    "synchronisation": "synchronisations",
}
"""What a stand-in says, and what the program calls it."""

_LISTENER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
_DEMANGLER = "libstdc++.so.6"


def cuda_calls(request: Message, shim: Shim) -> Message:
    """Launches by kernel, calls of libraries, allocations, copies, waiting, and cached blocks."""
    import torch

    case = with_artefact(request["case"], "")
    torch.set_num_threads(case["num_threads"])
    calls = CudaCalls(torch, [ctypes.CDLL(path) for path in shim.stand_ins])
    is_cpp = case["language"] == "C++"
    observe(compiled_run(case) if is_cpp else PythonLoop(case, shim.idle_hooks).run, [calls])
    return {"calls": calls.rows()}


class CudaCalls(Observer):
    """Hears what is asked of the stand-ins, and counts blocks of torch's caching allocator."""

    def __init__(self, torch: Any, libraries: Sequence[Any]) -> None:
        self._torch, self._libraries = torch, libraries
        self._heard: Counter[tuple[str, str]] = Counter()
        self._kernels: Counter[int] = Counter()
        self._blocks = 0
        self._listener = _LISTENER(self._hear)

    def begin(self) -> None:
        """Start to listen."""
        self._blocks = self._allocated()
        self._let_hear(self._listener)

    def end(self) -> None:
        """Stop listening."""
        self._let_hear(_LISTENER())
        self._blocks = self._allocated() - self._blocks

    def rows(self) -> list[Message]:
        """Kind, name and number of what was asked for."""
        found = Counter(
            {(_KINDS[kind], name): calls for (kind, name), calls in self._heard.items()}
        )
        for function, calls in self._kernels.items():
            found[_KINDS["launch"], self._name_of(function)] += calls
        if self._blocks:
            found["cached_blocks", "block of the caching allocator"] = self._blocks
        return [
            {"kind": kind, "name": name, "calls": calls}
            for (kind, name), calls in sorted(found.items())
        ]

    def _let_hear(self, listener: Any) -> None:
        for library in self._libraries:
            library.stand_in_listen(listener)

    def _hear(self, kind: bytes, what: int) -> None:
        if kind == b"kernel":
            self._kernels[what] += 1
        else:
            self._heard[kind.decode(), ctypes.string_at(what).decode()] += 1

    def _allocated(self) -> int:
        statistics: dict[str, int] = self._torch.cuda.memory_stats()
        return statistics["allocation.all.allocated"]

    def _name_of(self, function: int) -> str:
        for library in self._libraries:
            if hasattr(library, "stand_in_kernel"):
                library.stand_in_kernel.restype = ctypes.c_char_p
                name: bytes | None = library.stand_in_kernel(ctypes.c_void_p(function))
                if name:
                    return demangled(name)
        return "a kernel without a name"


def demangled(name: bytes) -> str:
    """The name of a function as its source has it; unchanged where that cannot be told."""
    try:
        demangle = ctypes.CDLL(_DEMANGLER).__cxa_demangle
    except (OSError, AttributeError):
        return name.decode(errors="replace")
    demangle.restype = ctypes.c_char_p
    found: bytes | None = demangle(name, None, None, None)
    return (found or name).decode(errors="replace")
