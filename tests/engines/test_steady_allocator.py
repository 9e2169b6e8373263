"""The libraries of counted processes, with a real compiler and Valgrind."""

import ctypes
import errno
import itertools
import os
import re
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.engines.compiled_c import NEEDS_GCC, PROGRAMS, compile_c
from tests.process import ROOT
from tests.real import NEEDS_VALGRIND
from worker.cpython import facts
from worker.main import Shim

SOURCE = ROOT / "instruction_counts" / "engines" / "native" / "steady.c"

KIB = 1 << 10
MIB = 1 << 20

pytestmark = NEEDS_GCC

SIZES = [1, 15, 16, 17, 1000, KIB, KIB + 1, 1152, 1153, 65_000, MIB, MIB + 1, 3 * MIB]


class Library:
    """The compiled library, called through ctypes."""

    def __init__(self, path: Path) -> None:
        """Declare what does not return a plain number."""
        self.path = path
        self.c = ctypes.CDLL(str(path), use_errno=True)
        for name in (
            *("malloc", "calloc", "realloc", "reallocarray"),
            *("memalign", "aligned_alloc", "valloc", "pvalloc", "malloc_usable_size"),
        ):
            getattr(self.c, name).restype = ctypes.c_void_p
        self.c.steady_clock_s.restype = ctypes.c_double

    def get(self, name: str, *arguments: int | None) -> int:
        """Address of a new block, 0 if there is none; ``errno`` says why, whatever the function."""
        ctypes.set_errno(0)
        numbers = [ctypes.c_uint64(argument or 0) for argument in arguments]
        if name != "posix_memalign":
            return getattr(self.c, name)(*numbers) or 0
        out = ctypes.c_void_p()
        error = self.c.posix_memalign(ctypes.byref(out), *numbers)
        assert 0 == ctypes.get_errno(), "posix_memalign returns its error and leaves errno alone"
        ctypes.set_errno(error)
        return out.value or 0

    def in_window(self, *sizes: int) -> list[int]:
        """Blocks of these sizes, got while it is counted."""
        self.c.steady_count_begin()
        blocks = [self.get("malloc", size) for size in sizes]
        self.c.steady_count_end()
        return blocks

    def free(self, *blocks: int | None) -> None:
        """Give blocks back."""
        for block in blocks:
            self.c.free(ctypes.c_void_p(block))

    def counted(self, action: Callable[[], object]) -> tuple[int, ...]:
        """Calls, bytes and frees of an action."""
        before, after = ((ctypes.c_uint64 * 3)() for _ in range(2))
        self.c.steady_allocations(before)
        action()
        self.c.steady_allocations(after)
        return tuple(now - then for now, then in zip(after, before, strict=True))


def output_of(*command: str | Path, **environment: str) -> str:
    """What a command prints, in an environment of nothing else."""
    variables = {"PATH": os.environ["PATH"], "LD_BIND_NOW": "1", **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    return done.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The library, compiled from its source."""
    headers = Path(torch.__file__).parent / "utils" / "benchmark" / "utils" / "valgrind_wrapper"
    path = tmp_path_factory.mktemp("steady") / "steady.so"
    compile_c("-O2", "-shared", "-fPIC", "-I", headers, "-o", path, SOURCE)
    return Library(path)


Build = Callable[[str], Path]


@pytest.fixture(scope="module")
def build(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a program of tests/fixtures/steady and link it with the library."""
    folder = tmp_path_factory.mktemp("programs")

    @cache
    def program(name: str) -> Path:
        options = ["-O1", "-fno-builtin", "-Wno-unused-result", f"-Wl,-rpath,{library.path.parent}"]
        compile_c(*options, "-o", folder / name, PROGRAMS / f"{name}.c", library.path)
        return folder / name

    return program


Windows = dict[str, int]


def windows_of(program: Path, folder: Path, *arguments: str) -> tuple[str, Windows]:
    """What a program prints under Callgrind, and the total of each dump by its label."""
    folder.mkdir(exist_ok=True)
    options = ["--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no", "--vgdb=no"]
    options += [f"--callgrind-out-file={folder}/cg", f"--log-file={folder}/log.%p.log"]
    printed = output_of("valgrind", *options, program, *arguments)
    windows = {}
    for dump in folder.glob("cg.*"):
        text = dump.read_text()
        label = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
        total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
        if label and total:
            windows[label[1]] = int(total[1])
    return printed, windows


# ---- blocks -------------------------------------------------------------------------------------


PAGE = os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize(
    ("name", "arguments", "alignment"),
    [
        ("malloc", (), 16),  # any type may be stored in a block
        *(
            (name, (alignment,), alignment)
            for name in ("memalign", "aligned_alloc", "posix_memalign")
            for alignment in (8, 16, 32, 64, 128, 4096, 2 * MIB)
        ),
        ("valloc", (), PAGE),
        ("pvalloc", (), PAGE),
    ],
)
def test_blocks_have_the_alignment_asked_for(
    library: Library, name: str, arguments: tuple[int, ...], alignment: int
) -> None:
    """Whatever the size, and for several live blocks at once; each has an address of its own."""
    sizes = [0, 0, *SIZES]
    blocks = [library.get(name, *arguments, size) for size in sizes]
    misaligned = [block % alignment for block in blocks]
    library.free(*blocks)
    assert len(sizes) == len({*blocks} - {0})
    assert [0] * len(sizes) == misaligned


@pytest.mark.parametrize(
    ("name", "alignment"),
    [
        *itertools.product(["memalign", "aligned_alloc"], [0, 3, 24, 100]),
        *itertools.product(["posix_memalign"], [0, 1, 2, 4, 12, 24]),
    ],
)
def test_an_invalid_alignment_is_refused(library: Library, name: str, alignment: int) -> None:
    """No power of two; for posix_memalign, no multiple of a pointer either."""
    assert 0 == library.get(name, alignment, 100)
    assert errno.EINVAL == ctypes.get_errno()


@pytest.mark.parametrize("size", [1 << 47, (1 << 60) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        *((name, (), ()) for name in ("malloc", "pvalloc")),
        *(("calloc", (count,), ()) for count in (1, 1 << 32)),
        ("realloc", (None,), ()),
        *(("memalign", (alignment,), ()) for alignment in (64, 4096)),
        ("posix_memalign", (64,), ()),
        *(("reallocarray", (None,), (count,)) for count in (1, 1 << 32)),
    ],
)
def test_an_absurd_size_fails_with_enomem(
    library: Library, size: int, name: str, before: tuple[Any, ...], after: tuple[int, ...]
) -> None:
    """No arithmetic wraps around: a small block in place of a huge one would be overrun."""
    assert 0 == library.get(name, *before, size, *after)
    assert errno.ENOMEM == ctypes.get_errno()


@pytest.mark.parametrize("name", ["malloc", "memalign"])
@pytest.mark.parametrize("size", SIZES)
def test_a_freed_block_is_the_next_one_of_its_class(library: Library, name: str, size: int) -> None:
    """Last in, first out: a loop that allocates touches the same memory."""
    alignment = (64,) if name == "memalign" else ()
    first = library.get(name, *alignment, size)
    library.free(first)
    second = library.get(name, *alignment, size)
    library.free(second)
    assert first == second


@pytest.mark.parametrize(
    ("name", "arguments", "usable"),
    [
        ("malloc", (1153,), 1280),
        ("realloc", (None, 100), 112),
        ("calloc", (10, 10), 112),
        ("pvalloc", (1,), PAGE),
        ("memalign", (4096, MIB), MIB),
        ("malloc", (100 * MIB,), 100 * MIB),
    ],
)
def test_the_usable_size_covers_the_request(
    library: Library, name: str, arguments: tuple[int | None, ...], usable: int
) -> None:
    """All of it can be written without touching a neighbour; 1153 to 1280 bytes are one class."""
    blocks = [library.get(name, *arguments) for _ in range(2)]
    sizes = [library.get("malloc_usable_size", block) for block in blocks]
    for block in blocks:
        ctypes.memset(block, 1, min(usable, MIB))
        ctypes.memset(block + usable - 1, 1, 1)
    library.free(*blocks)

    assert sizes[0] == sizes[1] >= usable
    assert sizes[0] == usable or usable >= PAGE


def test_the_first_blocks_of_a_window_lie_where_they_have_to(library: Library) -> None:
    """At a remainder of a distance, for each size of which that was asked."""
    for size, remainder in ((70, 16), (200, 32752)):
        library.free(library.get("malloc", size))
        library.c.steady_allocate_at(*map(ctypes.c_uint64, (size, remainder, 32768)))
    found = library.in_window(*[70] * 64, *[200] * 64)

    assert [16] * 64 + [32752] * 64 == [at % 32768 for at in found]
    assert 128 == len({*found})
    library.free(*found)


def test_such_blocks_are_the_same_in_each_window(library: Library) -> None:
    """In whatever order they were freed, among others of their size: code looks at addresses."""
    library.c.steady_allocate_at(*map(ctypes.c_uint64, (300, 48, 32768)))
    found = []
    for order in ((4, 0, 2, 1, 3), (0, 1, 2, 3, 4)):
        found.append(library.in_window(*[300] * 5))
        library.free(*(found[-1][at] for at in order))
        library.free(*[library.get("malloc", 300) for _ in range(100)])

    assert found[0] == found[1] == sorted(found[0])


INTERN = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
OVERHEAD = 41
"""Of a string of Python, with the NUL behind it."""


def interned(library: Library, names: Sequence[str], known: Collection[str] = ()) -> dict[str, int]:
    """Where names lie that are made by the library; of those that are ``known`` none is kept."""
    found = {}

    def make(name: bytes) -> int:
        found[name.decode()] = block = library.get("malloc", OVERHEAD + len(name))
        if name.decode() in known:
            library.free(block)
        return block

    data = b"".join(name.encode() + b"\0" for name in names)
    library.c.steady_intern(data, *map(ctypes.c_uint64, (len(data), OVERHEAD)), INTERN(make))
    return found


@given(st.lists(st.text("abc_", min_size=2, max_size=90), unique=True, max_size=40))
def test_names_lie_where_their_text_decides(library: Library, names: list[str]) -> None:
    """Modulo the distance at which they share a slot, whatever lies there and comes before."""
    first, second = interned(library, names), interned(library, names[::-1])

    assert {name: at % 32768 for name, at in first.items()} == {
        name: at % 32768 for name, at in second.items()
    }
    blocks = sorted(
        (at, OVERHEAD + len(name)) for made in (first, second) for name, at in made.items()
    )
    assert all(at + size <= behind for (at, size), (behind, _) in pairwise(blocks))
    library.free(*first.values(), *second.values())


def test_a_name_that_is_known_takes_no_place(library: Library) -> None:
    """Its block was freed at once: nothing else gets it."""
    names = ["known_before", "made_now"]
    for _ in range(3):
        before = interned(library, names[:1], names)
        assert before["known_before"] != library.get("malloc", OVERHEAD + len("known_before"))
    first, second = (interned(library, names, names) for _ in range(2))

    assert first == second == {**before, "made_now": first["made_now"]}


def test_names_that_python_makes_otherwise_are_left_out(library: Library) -> None:
    """One letter is there from the start, and letters beyond ASCII take more blocks."""
    assert ["fine"] == [*interned(library, ["a", "größe", "", "fine"])]


@pytest.mark.parametrize("size", [1, 1024])
def test_a_window_begins_with_the_lowest_blocks(library: Library, size: int) -> None:
    """However the window before freed them."""
    blocks = [library.get("malloc", size) for _ in range(9)]
    library.free(*(blocks[at] for at in (4, 0, 8, 2, 6, 1, 7, 5, 3)))
    found = library.in_window(*[size] * 9)
    library.free(*found)

    assert sorted(found) == found


@pytest.mark.parametrize("size", [1, 100, 5000])
def test_another_layout_hands_out_other_blocks(library: Library, size: int) -> None:
    """Also those that were free before; they come back with no layout."""
    freed = library.get("malloc", size)
    library.free(freed)
    found = [freed]
    for number in (1, 2):
        library.c.steady_use_layout(ctypes.c_uint64(number))
        found += [library.get("malloc", size) for _ in range(600)]
    library.c.steady_use_layout(ctypes.c_uint64(0))

    assert 1201 == len(set(found))
    library.free(*found[1:])


def test_realloc_stays_in_place_within_a_class(library: Library) -> None:
    """To nothing it frees; where it fails the caller still owns the block."""
    block = library.get("malloc", 1153)
    moved = library.get("realloc", block, 1280)
    failed = library.get("realloc", block, 1 << 62)
    library.get("realloc", block, 0)
    again = library.get("malloc", 1153)
    library.free(again)

    assert (block, 0, block) == (moved, failed, again)


class LiveBlocks(RuleBasedStateMachine):
    """Blocks of all kinds live side by side, each filled with a byte of its own."""

    blocks = Bundle("blocks")
    sizes = st.one_of(
        st.integers(0, 300),
        st.integers(KIB - 20, KIB + 300),
        st.integers(0, 40 * KIB),
        st.integers(MIB - 40, MIB + 40),
    )

    library: ClassVar[Library]

    def __init__(self) -> None:
        """Start with no live block."""
        super().__init__()
        self.live: dict[int, tuple[int, int]] = {}
        self.fill = 0

    def owned(self, block: int, size: int) -> int:
        """Fill a new block and remember it."""
        self.fill = self.fill % 255 + 1
        ctypes.memset(block, self.fill, size)
        self.live[block] = size, self.fill
        return block

    @rule(target=blocks, size=sizes, power=st.none() | st.integers(3, 13))
    def allocate(self, size: int, power: int | None) -> int:
        """Aligned, or by ``malloc``."""
        name, alignment = ("memalign", (1 << power,)) if power else ("malloc", ())
        block = self.library.get(name, *alignment, size)
        assert 0 == block % (1 << (power or 4))
        return self.owned(block, size)

    @rule(target=blocks, size=sizes)
    def calloc(self, size: int) -> int:
        """Allocate zeroes."""
        block = self.library.get("calloc", size, 1)
        assert bytes(size) == ctypes.string_at(block, size)
        return self.owned(block, size)

    @rule(target=blocks, block=consumes(blocks), size=sizes.filter(bool))
    def realloc(self, block: int, size: int) -> int:
        """Change the size."""
        old_size, fill = self.live.pop(block)
        kept = min(old_size, size)
        moved = self.library.get("realloc", block, size)
        assert bytes([fill]) * kept == ctypes.string_at(moved, kept)
        return self.owned(moved, size)

    @rule(block=consumes(blocks))
    def free(self, block: int) -> None:
        """Give back."""
        del self.live[block]
        self.library.free(block)

    @invariant()
    def blocks_do_not_overlap(self) -> None:
        """Each ends before the header of the next."""
        ordered = sorted((block, size) for block, (size, _) in self.live.items())
        for (block, size), (following, _) in pairwise(ordered):
            assert block + size <= following - 16

    @invariant()
    def blocks_keep_their_content(self) -> None:
        """Nobody else writes into a live block."""
        for block, (size, fill) in self.live.items():
            assert bytes([fill]) * size == ctypes.string_at(block, size)

    def teardown(self) -> None:
        """Free what is left."""
        self.library.free(*self.live)


def test_live_blocks_never_overlap_and_keep_their_content(library: Library) -> None:
    """Whatever the order of calls."""
    LiveBlocks.library = library
    checks = list(HealthCheck)
    options = settings(max_examples=40, stateful_step_count=40, suppress_health_check=checks)
    run_state_machine_as_test(LiveBlocks, settings=options)


# ---- counters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "requested"),
    [
        *(("malloc", (size,), size) for size in (0, 100, 3 * MIB)),
        ("calloc", (7, 11), 77),
        ("realloc", (None, 50), 50),
        ("reallocarray", (None, 3, 5), 15),
        *(("memalign", (alignment, 10), 10) for alignment in (64, 4096)),
        ("aligned_alloc", (32, 10), 10),
        ("valloc", (10,), 10),
        ("pvalloc", (10,), 4096),
        ("posix_memalign", (64, 10), 10),
    ],
)
def test_each_call_counts_once_with_the_bytes_it_asks_for(
    library: Library, name: str, arguments: tuple[int | None, ...], requested: int
) -> None:
    """Not with what its class or alignment takes."""
    blocks: list[int] = []
    counted = library.counted(lambda: blocks.append(library.get(name, *arguments)))
    library.free(*blocks)
    assert (1, requested, 0) == counted


@pytest.mark.parametrize("alignment", [16, 64, 4096])
@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (lambda library, block: library.get("realloc", block, 101), (1, 101, 0)),
        (lambda library, block: library.get("realloc", block, 5000), (1, 5000, 0)),
        (lambda library, block: library.get("realloc", block, 3 * MIB), (1, 3 * MIB, 0)),
        (lambda library, block: library.get("realloc", block, 0), (0, 0, 1)),
        (lambda library, block: library.free(block), (0, 0, 1)),
        (lambda library, _: library.free(None), (0, 0, 0)),
        (lambda library, _: library.get("malloc", 1 << 62), (0, 0, 0)),
    ],
    ids=["stay", "move", "map", "realloc to nothing", "free", "free no block", "fail"],
)
def test_what_happens_to_a_block_counts_once(
    library: Library, alignment: int, action: Callable[[Library, int], object], expected: Any
) -> None:
    """A realloc is a call and no free, unless to nothing; what does nothing does not count."""
    block = library.get("memalign", alignment, 100)
    assert expected == library.counted(lambda: action(library, block))


# ---- threads and forks --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "kib"),
    [
        # Blocks that another thread frees are used again: a hundred rounds take as much as ten.
        ("foreign_frees", 8 * KIB),
        # A thread that only frees does not hoard: 400 MB flow one way.
        ("one_way_traffic", 120 * KIB),
        # The lists of thousands of short threads go back to the pool when they end.
        ("many_short_threads", 16 * KIB),
        # Destructors may allocate after their thread has given its lists back.
        ("late_destructors", 2 * KIB),
    ],
)
def test_threads_keep_little_memory(build: Build, program: str, kib: int) -> None:
    """What stays resident after many rounds."""
    assert int(output_of(build(program))) < kib


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        # Four threads find their own pattern in each block: none is broken.
        ("own_patterns", "0\n"),
        # The calls, bytes and frees of all threads add up, though they count at the same time.
        ("counts_of_threads", "800000\n8000000\n800000\n"),
        # All of 200 children allocate and end well, though they fork while others allocate.
        ("fork_while_others_allocate", "200\n"),
        # A fork handler that was registered earlier prepares later, under the lock.
        ("early_fork_handler", "7\n"),
    ],
)
def test_threads_and_forks_do_not_disturb_each_other(
    build: Build, program: str, printed: str
) -> None:
    """Each program says what it found."""
    assert printed == output_of(build(program))


# ---- comparison ---------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=40),
    change=st.integers(0, 39),
    value=st.integers(0, 255),
    offset=st.integers(0, 9),
)
def test_memcmp_compares_as_bytes_do(
    library: Library, data: bytes, change: int, value: int, offset: int
) -> None:
    """At any address, wherever the first difference lies."""
    other = data[:change] + bytes([value]) + data[change + 1 :] if change < len(data) else data
    left, right = (ctypes.create_string_buffer(b"." * offset + text) for text in (data, other))
    places = (ctypes.c_void_p(ctypes.addressof(text) + offset) for text in (left, right))
    result = library.c.memcmp(*places, ctypes.c_size_t(len(data)))

    assert (data > other, data < other) == (result > 0, result < 0)


# ---- clock --------------------------------------------------------------------------------------


def test_the_clock_measures_seconds(library: Library) -> None:
    """Of real time, asleep or not; the empty window after a long one is short."""
    seconds = []
    for pause in (0.2, 0):
        library.c.steady_clock_begin()
        time.sleep(pause)
        library.c.steady_clock_end()
        seconds.append(library.c.steady_clock_s())
    assert seconds[0] >= 0.2 > seconds[1]
    assert 0 == library.c.steady_running_on_valgrind()


# ---- under Callgrind ----------------------------------------------------------------------------


@NEEDS_VALGRIND
def test_a_call_costs_the_same_whatever_happened_before(build: Build, tmp_path: Path) -> None:
    """To the instruction, after 40,000 random calls that left holes: five kinds of eight sizes."""
    without_past, *others = (
        windows_of(build("cost_of_calls"), tmp_path / f"past {past}", *past)[1]
        for past in ([], ["1"], ["2"], ["3"])
    )

    assert 40 == sum(cost > 0 for cost in without_past.values())
    assert [without_past] * 3 == others


@NEEDS_VALGRIND
def test_a_comparison_costs_the_same_wherever_it_lies(build: Build, tmp_path: Path) -> None:
    """Also across the end of a page, where the C library takes another path."""
    assert 1 == len(set(windows_of(build("cost_of_comparing"), tmp_path)[1].values()))


@NEEDS_VALGRIND
def test_windows_count_what_is_in_them(build: Build, tmp_path: Path) -> None:
    """Each is dumped under its number: a thousand no-ops more, then n, 2n and 4n runs.

    It keeps the allocations in it, neither those before it nor those of its own dump; a reset
    forgets them. Of windows before the first that counts, which are not dumped, nothing is in the
    next one's dump; their allocations are kept.
    """
    printed, windows = windows_of(build("windows"), tmp_path / "all")
    fewer = windows_of(build("windows"), tmp_path / "fewer", "from the second")
    later = {label: cost for label, cost in windows.items() if label != "window 0"}
    nothing, thousand, once, twice, four_times = (
        windows.pop(f"window {number}") for number in range(5)
    )
    assert 1000 == thousand - nothing
    assert 2 * (twice - once) == four_times - twice
    assert not windows
    assert (printed, later) == fewer
    assert "5 0,0,0,0 0,0,0,0 20,50500,10,0 40,101000,20,0 80,202000,40,0 0\n" == printed


@NEEDS_VALGRIND
def test_what_windows_cost_is_known_without_their_dumps(build: Build, tmp_path: Path) -> None:
    """From the log: as much as a dump says, whether or not there is one of that window."""
    found = []
    for how in ("all dumped", "the last ones dumped"):
        folder = tmp_path / how
        printed, windows = windows_of(build("windows"), folder, how, f"{folder}/log")
        costs = [int(amounts.rpartition(",")[2]) for amounts in printed.split()[1:-1]]
        found.append((costs, [windows.get(f"window {number}") for number in range(5)]))

    (costs, dumped), (same_costs, last_dumped) = found
    assert costs == same_costs == dumped
    # With the dump before it, the last one is that of its own window alone.
    assert [None, None, None, sum(costs[:4]), costs[4]] == last_dumped


@NEEDS_VALGRIND
def test_windows_beyond_the_last_slot_are_not_kept(build: Build, tmp_path: Path) -> None:
    """Of a hundred that are counted, 64 are dumped."""
    printed, windows = windows_of(build("windows"), tmp_path, "many")
    assert ("100", 64) == (printed.split()[0], len(windows))


# ---- what the interpreter counts down -----------------------------------------------------------


def added(value: Any) -> Any:
    """What no single specialisation fits, if the types of values alternate."""
    return value + value


def running(code: Any) -> tuple[list[int], list[bytes]]:
    """The opcodes of some code as they are executed, and the counters behind them."""
    compiled, now = code.co_code, code._co_code_adaptive
    places = range(2, len(compiled), 2)
    opcodes = [now[at] for at in range(0, len(compiled), 2) if compiled[at]]
    counters = [now[at : at + 2] for at in places if compiled[at - 2] and not compiled[at]]
    return opcodes, counters


def test_code_whose_counters_are_full_is_not_specialised_again(library: Library) -> None:
    """Whatever it meets; what it does is the same."""
    shim, code = Shim(str(library.path)), added.__code__
    values: list[Any] = [1, "text", 1.0, ()]
    for _ in range(100):
        added(1)
    forms = []
    shim.hold_counters(facts())
    assert shim.holds_counters is True
    shim.know_counters(code)
    for value in values * 300:
        shim.settle_interpreter(specialised=True)
        assert {b"\xfc\xff"} == {*running(code)[1]}
        assert value + value == added(value)
        forms.append(running(code)[0])

    assert [forms[0]] * len(forms) == forms


def test_counters_stay_as_they_are_where_nothing_is_known_of_them(library: Library) -> None:
    """Somewhere else a write would destroy code."""
    shim, code = Shim(str(library.path)), running.__code__
    before = code._co_code_adaptive  # type: ignore[attr-defined]
    library.c.steady_use_counters(ctypes.c_uint64(0))
    shim.hold_counters(None)
    shim.know_counters(code)
    shim.settle_interpreter(specialised=True)

    assert shim.holds_counters is False
    assert before == code._co_code_adaptive  # type: ignore[attr-defined]


# ---- memory that is filled ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "linking",
    [
        pytest.param(["-Wl,-z,lazy"], id="lazy"),
        pytest.param(["-Wl,-z,now,-z,relro"], id="read-only"),
        pytest.param(["-fno-plt", "-Wl,-z,now,-z,relro"], id="without a table of calls"),
        pytest.param(["-fno-pie", "-no-pie"], id="at a fixed address"),
    ],
)
def test_all_fresh_memory_is_filled(tmp_path: Path, linking: list[str]) -> None:
    """However a program reaches its allocator, and whether a block is new or used again."""
    library, program = tmp_path / "fresh.so", tmp_path / "fills"
    compile_c("-O2", "-shared", "-fPIC", "-o", library, SOURCE.with_name("fresh.c"))
    compile_c("-O1", "-fno-builtin", *linking, "-o", program, PROGRAMS / "fills.c", "-ldl")

    lines = output_of(program, library).splitlines()
    contents = {line.split()[0]: {*line.split()[1:]} for line in lines}

    assert {"zero"} == contents.pop("calloc")
    assert [{"filled"}] * 6 == list(contents.values())
