"""What a case asks of CUDA, heard from stand-ins: kernels by name, and all else by kind."""

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from worker.cuda_calls import CudaCalls, demangled

KERNELS = {7: b"_ZN2at4fillIfEEvi"}


class StandIn:
    """A library that tells what it is asked, while somebody listens."""

    listener: Any = None
    stand_in_kernel = staticmethod(lambda function: KERNELS.get(function.value))

    def stand_in_listen(self, listener: Any) -> None:
        """Tell ``listener`` from now on."""
        self.listener = listener

    def ask(self, kind: bytes, what: int) -> None:
        """Ask it for something."""
        if self.listener:
            self.listener(kind, what)


def rows(ask: Callable[[StandIn], None], blocks: int = 0) -> list[tuple[str, str, int]]:
    """What is heard of an iteration that asks, and takes so many blocks."""
    allocated = iter([100, 100 + blocks])
    cuda = SimpleNamespace(memory_stats=lambda: {"allocation.all.allocated": next(allocated)})
    library = StandIn()
    calls = CudaCalls(SimpleNamespace(cuda=cuda), [library])
    library.ask(b"kernel", 7)
    calls.begin()
    ask(library)
    calls.end()
    library.ask(b"kernel", 7)
    return [(row["kind"], row["name"], row["calls"]) for row in calls.rows()]


def test_launches_are_counted_by_kernel_and_all_else_by_name() -> None:
    """Between the ends of the iteration alone."""
    text = ctypes.create_string_buffer(b"cudaStreamSynchronize")

    def ask(library: StandIn) -> None:
        for kernel in (7, 7, 8):
            library.ask(b"kernel", kernel)
        library.ask(b"synchronisation", ctypes.addressof(text))

    assert [
        ("launches", "a kernel without a name", 1),
        ("launches", "void at::fill<float>(int)", 2),
        ("synchronisations", "cudaStreamSynchronize", 1),
    ] == rows(ask)


def test_blocks_of_the_caching_allocator_are_counted_by_torch() -> None:
    """It asks CUDA for memory seldom."""
    assert [("cached_blocks", "block of the caching allocator", 3)] == rows(lambda _: None, 3)


@pytest.mark.parametrize(
    ("name", "expected"),
    [(b"_ZN2at4fillIfEEvi", "void at::fill<float>(int)"), (b"plain", "plain")],
)
def test_a_name_is_as_the_source_has_it(name: bytes, expected: str) -> None:
    """What is no name of C++ stays as it is."""
    assert expected == demangled(name)
