"""What the stand-in for CUDA's runtime answers: one device, memory that can run out, graphs."""

import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instruction_counts.builds.cuda.stand_ins import Library
from tests.builds.cuda.test_stand_ins import compiled
from tests.engines.compiled_c import NEEDS_GCC

pytestmark = NEEDS_GCC

MEMORY_BYTES = 16 << 20
HOST, DEVICE, NONE = 1, 2, 0
TO_DEVICE, FROM_DEVICE, WITHIN_DEVICE = 1, 2, 3
OUT_OF_MEMORY = 2


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, for a device of little memory."""
    little = f"#undef DEVICE_MEMORY_BYTES\n#define DEVICE_MEMORY_BYTES {MEMORY_BYTES}ull\n"
    runtime = Library("libcudart.so.13", ("neverHeardOf",))
    return compiled(tmp_path_factory.mktemp("runtime"), runtime, little)


@pytest.fixture
def runtime(library: Path, tmp_path: Path) -> Any:
    """The library as a process finds it that has used nothing: a copy has a state of its own."""
    made = ctypes.CDLL(shutil.copy(library, tmp_path / "libcudart.so"))
    address, size = ctypes.c_void_p, ctypes.c_size_t
    made.cudaMalloc.argtypes, made.cudaFree.argtypes = [address, size], [address]
    made.cudaHostAlloc.argtypes = [address, size, ctypes.c_uint]
    made.cudaMemcpy.argtypes = [address, address, size, ctypes.c_int]
    return made


def allocated(runtime: Any, size: int, function: str = "cudaMalloc") -> int:
    """The address of new memory."""
    found = ctypes.c_void_p()
    flags = [0] if function == "cudaHostAlloc" else []
    assert getattr(runtime, function)(ctypes.byref(found), size, *flags) == 0
    return found.value or 0


def kind_of(runtime: Any, address: int) -> int:
    """Whose memory is at an address: the first number of what CUDA says of it."""
    found = (ctypes.c_int * 22)()
    runtime.cudaPointerGetAttributes(found, ctypes.c_void_p(address))
    return found[0]


def free_bytes(runtime: Any) -> int:
    """How much memory the device has left."""
    free, whole = ctypes.c_size_t(), ctypes.c_size_t()
    runtime.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(whole))
    return free.value


def test_another_device_is_an_error_that_is_told_once(runtime: Any) -> None:
    """As CUDA does: who asks for the last error forgets it."""
    runtime.cudaSetDevice(1)

    assert [101, 101, 0] == [
        runtime.cudaPeekAtLastError(),
        runtime.cudaGetLastError(),
        runtime.cudaGetLastError(),
    ]


def test_memory_runs_out(runtime: Any) -> None:
    """At what the description of the device has."""
    found = ctypes.c_void_p()

    assert OUT_OF_MEMORY == runtime.cudaMalloc(ctypes.byref(found), MEMORY_BYTES + 1)


def test_what_is_given_back_can_be_had_again(runtime: Any) -> None:
    """Else a long run would end in an error that no device gives; pinned memory is the host's."""
    before = free_bytes(runtime)
    allocated(runtime, 1 << 20, "cudaHostAlloc")
    with_pinned = free_bytes(runtime)
    address = allocated(runtime, 3 << 20)
    during = free_bytes(runtime)
    runtime.cudaFree(address)

    assert [before, before - (4 << 20), before] == [with_pinned, during, free_bytes(runtime)]


def test_a_pointer_is_told_by_where_it_points(runtime: Any) -> None:
    """Also into the middle of a block; torch asks whether memory is pinned."""
    on_device = allocated(runtime, 1 << 20)
    pinned = allocated(runtime, 1 << 20, "cudaHostAlloc")
    elsewhere = ctypes.create_string_buffer(8)

    assert [DEVICE, HOST, NONE] == [
        kind_of(runtime, on_device + 100),
        kind_of(runtime, pinned + 100),
        kind_of(runtime, ctypes.addressof(elsewhere)),
    ]


def test_what_is_copied_to_the_device_comes_back(runtime: Any) -> None:
    """A program may look at it. Within the device nothing is: it would cost the CPU."""
    first, second = allocated(runtime, 5), allocated(runtime, 5)
    runtime.cudaMemcpy(first, ctypes.create_string_buffer(b"here"), 5, TO_DEVICE)
    runtime.cudaMemcpy(second, first, 5, WITHIN_DEVICE)
    received = [ctypes.create_string_buffer(5) for _ in range(2)]
    for target, source in zip(received, (first, second), strict=True):
        runtime.cudaMemcpy(target, source, 5, FROM_DEVICE)

    assert [b"here", b""] == [text.value for text in received]


def test_a_graph_has_a_node_for_each_launch_in_its_capture(runtime: Any) -> None:
    """Torch warns of a graph without any."""
    stream, graph, count = ctypes.c_void_p(7), ctypes.c_void_p(), ctypes.c_size_t()
    runtime.cudaLaunchKernel()
    runtime.cudaStreamBeginCapture(stream, 0)
    runtime.cudaLaunchKernel()
    runtime.cudaMemsetAsync()
    runtime.cudaStreamEndCapture(stream, ctypes.byref(graph))
    runtime.cudaLaunchKernel()
    runtime.cudaGraphGetNodes(graph, None, ctypes.byref(count))

    assert 2 == count.value


def test_only_the_stream_that_is_captured_says_so(runtime: Any) -> None:
    """Others go on."""
    is_capturing = [ctypes.c_int(), ctypes.c_int()]
    runtime.cudaStreamBeginCapture(ctypes.c_void_p(7), 0)
    for stream, found in zip((7, 8), is_capturing, strict=True):
        runtime.cudaStreamIsCapturing(ctypes.c_void_p(stream), ctypes.byref(found))

    assert [1, 0] == [found.value for found in is_capturing]


def test_what_the_device_says_of_itself_is_what_its_description_has(runtime: Any) -> None:
    """By the numbers of attributes: multiprocessors, and the two of the generation."""
    found = [ctypes.c_int() for _ in range(3)]
    for value, number in zip(found, (16, 75, 76), strict=True):
        runtime.cudaDeviceGetAttribute(ctypes.byref(value), number, 0)

    assert [132, 9, 0] == [value.value for value in found]


# What the stand-in tells who listens

_LISTENER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)


def heard(runtime: Any, ask: Callable[[], object]) -> list[tuple[str, str]]:
    """What is told while ``ask`` runs, and no longer."""
    found: list[tuple[str, str]] = []

    def hear(kind: bytes, what: int) -> None:
        found.append((kind.decode(), str(ctypes.string_at(what), "ascii")))

    listener = _LISTENER(hear)
    runtime.stand_in_listen(listener)
    ask()
    runtime.stand_in_listen(_LISTENER())
    runtime.cudaDeviceSynchronize()
    return found


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (
            lambda runtime: runtime.cudaStreamSynchronize(),
            [("synchronisation", "cudaStreamSynchronize")],
        ),
        (lambda runtime: runtime.cudaMemsetAsync(), [("copy", "cudaMemsetAsync")]),
        (lambda runtime: runtime.cudaGraphLaunch(), [("launch", "a graph")]),
        # A warm iteration of torch neither takes nor gives memory.
        (
            lambda runtime: runtime.cudaFree(allocated(runtime, 8)),
            [("allocation", "cudaMalloc"), ("allocation", "cudaFree")],
        ),
    ],
    ids=["synchronisation", "copy", "launch", "allocation"],
)
def test_what_is_asked_of_the_device_is_told(
    runtime: Any, ask: Callable[[Any], object], expected: list[tuple[str, str]]
) -> None:
    """By its kind, to who listens."""
    assert expected == heard(runtime, lambda: ask(runtime))


def test_a_copy_is_told_with_where_it_goes_and_what_memory_the_host_has(runtime: Any) -> None:
    """From pageable memory it cannot run beside other work."""
    device, pinned = allocated(runtime, 8), allocated(runtime, 8, "cudaHostAlloc")
    pageable = ctypes.create_string_buffer(8)

    def copy_each_way() -> None:
        runtime.cudaMemcpy(device, pageable, 8, TO_DEVICE)
        runtime.cudaMemcpy(pinned, device, 8, FROM_DEVICE)
        runtime.cudaMemcpy(device, device, 8, WITHIN_DEVICE)

    assert [
        ("copy", "cudaMemcpy to the device, pageable"),
        ("copy", "cudaMemcpy from the device, pinned"),
        ("copy", "cudaMemcpy within the device"),
    ] == heard(runtime, copy_each_way)


def test_a_kernel_has_the_name_that_it_was_registered_by(runtime: Any) -> None:
    """It is launched by a function of the host; one that was never registered has none."""
    runtime.stand_in_kernel.restype = ctypes.c_char_p
    names = [f"kernel_{number}".encode() for number in range(3000)]
    for function, name in enumerate(names, 1):
        runtime.__cudaRegisterFunction(None, ctypes.c_void_p(function), None, name)

    assert [b"kernel_0", b"kernel_2999", None] == [
        runtime.stand_in_kernel(ctypes.c_void_p(function)) for function in (1, 3000, 3001)
    ]
