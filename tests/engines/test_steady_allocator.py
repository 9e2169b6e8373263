"""The library that is preloaded into the counted process, with a real compiler and Valgrind."""

import ctypes
import errno
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest
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

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "instruction_counts" / "engines" / "native" / "steady.c"

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind is not installed"
)
pytestmark = needs_compiler

SIZES = [1, 15, 16, 17, 1000, KIB, KIB + 1, 1152, 1153, 65_000, MIB, MIB + 1, 3 * MIB]
PASTS = [1, 2, 3]

DECLARATIONS = """
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void steady_allocations(uint64_t out[3]);
void steady_start(void);
void steady_zero(void);
void steady_count_begin(void);
void steady_count_end(void);
uint64_t steady_windows(void);
void steady_window(uint64_t number, uint64_t out[3]);
void steady_reset(void);

static inline long resident_kib(void)
{
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (fscanf(statm, "%*s %ld", &pages) != 1)
        abort();
    fclose(statm);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static inline unsigned next_random(unsigned *state)
{
    return (*state = *state * 1664525u + 1013904223u) >> 8;
}
"""

FOREIGN_FREES = """
static void *frees_all(void *blocks)
{
    for (int i = 0; i < 20000; i++)
        free(((void **)blocks)[i]);
    return NULL;
}

int main(void)
{
    static void *blocks[20000];
    pthread_t thread;
    long before = 0;
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 20000; i++)
            memset(blocks[i] = malloc(i % 900 + 1), round, i % 900 + 1);
        pthread_create(&thread, NULL, frees_all, blocks);
        pthread_join(thread, NULL);
        if (round == 9)
            before = resident_kib();
    }
    printf("%ld\\n", resident_kib() - before);
}
"""

ONE_WAY_TRAFFIC = """
enum { ROOM = 64, BLOCKS = 20000, SIZE = 20000 };
static void *volatile ring[ROOM];

static void *frees_what_comes(void *unused)
{
    for (int i = 0; i < BLOCKS; i++) {
        void *block;
        while (!(block = __atomic_exchange_n(&ring[i % ROOM], NULL, __ATOMIC_ACQ_REL)))
            sched_yield();
        free(block);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, frees_what_comes, NULL);
    for (int i = 0; i < BLOCKS; i++) {
        while (__atomic_load_n(&ring[i % ROOM], __ATOMIC_ACQUIRE))
            sched_yield();
        void *block = malloc(SIZE);
        memset(block, i, SIZE);
        __atomic_store_n(&ring[i % ROOM], block, __ATOMIC_RELEASE);
    }
    pthread_join(thread, NULL);
    printf("%ld\\n", resident_kib());
}
"""

MANY_SHORT_THREADS = """
static void *short_life(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed;
    void *blocks[200];
    for (int i = 0; i < 200; i++)
        memset(blocks[i] = malloc(next_random(&random) % 3000 + 1), i, 1);
    for (int i = 0; i < 200; i++)
        free(blocks[i]);
    return NULL;
}

int main(void)
{
    long before = 0;
    for (uintptr_t round = 0; round < 3000; round++) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, short_life, (void *)(2 * round + i));
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        if (round == 500)
            before = resident_kib();
    }
    printf("%ld\\n", resident_kib() - before);
}
"""

LATE_DESTRUCTORS = """
static pthread_key_t key;

static void allocates_late(void *block)
{
    void *blocks[12];
    memset(block, 1, malloc_usable_size(block));
    free(block);
    for (size_t i = 0; i < 12; i++)
        memset(blocks[i] = malloc(500 * i + 1), 2, 500 * i + 1);
    for (size_t i = 0; i < 12; i++)
        free(blocks[i]);
}

static void *leaves_a_block(void *unused)
{
    pthread_setspecific(key, malloc(100));
    return unused;
}

int main(void)
{
    long before = 0;
    pthread_key_create(&key, allocates_late);
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, leaves_a_block, NULL);
        pthread_join(thread, NULL);
        if (i == 99)
            before = resident_kib();
    }
    printf("%ld\\n", resident_kib() - before);
}
"""

OWN_PATTERNS = """
static void *keeps_patterns(void *seed)
{
    enum { LIVE = 300 };
    static __thread unsigned char *blocks[LIVE];
    static __thread unsigned sizes[LIVE];
    unsigned random = (unsigned)(uintptr_t)seed;
    uintptr_t broken = 0;
    for (int i = 0; i < 60000; i++) {
        unsigned slot = next_random(&random) % LIVE;
        for (unsigned k = 0; k < sizes[slot]; k += 97)
            broken += blocks[slot][k] != (unsigned char)(slot + (uintptr_t)seed);
        free(blocks[slot]);
        sizes[slot] = next_random(&random) % 2000 + 1;
        blocks[slot] = malloc(sizes[slot]);
        memset(blocks[slot], (int)(slot + (uintptr_t)seed), sizes[slot]);
    }
    return (void *)broken;
}

int main(void)
{
    pthread_t threads[4];
    uintptr_t broken = 0;
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, keeps_patterns, (void *)(i * 50));
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        broken += (uintptr_t)result;
    }
    printf("%lu\\n", (unsigned long)broken);
}
"""

COUNTS_OF_THREADS = """
static pthread_barrier_t barrier;

static void *allocates_and_frees(void *unused)
{
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 200000; i++)
        free(malloc(10));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

int main(void)
{
    uint64_t before[3], after[3];
    pthread_t threads[4];
    pthread_barrier_init(&barrier, NULL, 5);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, allocates_and_frees, NULL);
    steady_allocations(before);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    steady_allocations(after);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++)
        printf("%lu\\n", (unsigned long)(after[i] - before[i]));
}
"""

FORK_WHILE_OTHERS_ALLOCATE = """
static volatile int stop;
static pthread_key_t key;

/* A thread that has given back its lists takes the lock for each call. */
static void allocates_at_its_end(void *unused)
{
    while (!stop)
        free(malloc(100));
    (void)unused;
}

static void *ends(void *unused)
{
    pthread_setspecific(key, malloc(100));
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_key_create(&key, allocates_at_its_end);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, ends, NULL);
    int well = 0;
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (!child) {
            alarm(5);
            for (size_t size = 1; size < 1000000; size += 1000)
                free(memalign(64, size));
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        well += status == 0;
        if (status)
            break;
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\\n", well);
}
"""

EARLY_FORK_HANDLER = """
static void allocates(void)
{
    for (size_t i = 0; i < 140; i++)
        free(malloc(i * 4000));
}

static void registers(void)
{
    pthread_atfork(allocates, NULL, NULL);
}

/* runs before the constructors of all libraries */
__attribute__((section(".preinit_array"), used)) static void (*first)(void) = registers;

int main(void)
{
    alarm(10);
    pid_t child = fork();
    if (!child)
        _exit(7);
    int status;
    waitpid(child, &status, 0);
    printf("%d\\n", WEXITSTATUS(status));
}
"""

COST_OF_CALLS = """
static const size_t sizes[] = {1, 16, 100, 1000, 1280, 65536, 900000, 3000000};
static void *past[4000];

static void live_through(unsigned seed)
{
    unsigned random = seed;
    for (int i = 0; seed && i < 40000; i++) {
        unsigned slot = next_random(&random) % 4000, kind = next_random(&random) % 100;
        size_t size = kind < 60   ? next_random(&random) % 2000
                      : kind < 65 ? next_random(&random) % 200000
                                  : sizes[next_random(&random) % (kind < 98 ? 6 : 8)];
        free(past[slot]);
        past[slot] = kind % 2 ? malloc(size) : memalign(64, size);
    }
    for (unsigned i = 0; i < 4000; i++)
        if (i % 3 != seed % 3)
            free(past[i]);
}

static void calls(int kind, size_t size)
{
    void *block = NULL;
    switch (kind) {
    case 0: block = malloc(size); break;
    case 1: block = calloc(1, size); break;
    case 2: block = memalign(64, size); break;
    case 3: block = memalign(4096, size); break;
    case 4: block = realloc(malloc(size), 2 * size); break;
    }
    free(block);
}

int main(int count, char **arguments)
{
    live_through(count > 1 ? (unsigned)atoi(arguments[1]) : 0);
    steady_start();
    for (int kind = 0; kind < 5; kind++)
        for (int i = 0; i < 8; i++) {
            calls(kind, sizes[i]);
            steady_zero();
            steady_count_begin();
            calls(kind, sizes[i]);
            steady_count_end();
        }
}
"""

COST_OF_COMPARING = """
static volatile int kept;

int main(void)
{
    char *pages = valloc(16384);
    memset(pages, 7, 16384);
    int places[] = {0, 1, 15, 2000, 4079, 4089, 4095};
    steady_start();
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 7; k++) {
            kept = memcmp(pages + places[i], pages + 8192 + places[k], 40);
            steady_zero();
            steady_count_begin();
            kept = memcmp(pages + places[i], pages + 8192 + places[k], 40);
            steady_count_end();
        }
}
"""

WINDOWS = """
#define NOPS(count) __asm__ volatile(".rept " #count "\\n nop\\n .endr")

static void times_two(int runs)
{
    for (int i = 0; i < runs; i++) {
        void *block = malloc(50);
        block = realloc(block, 5000);
        free(block);
    }
}

int main(int count, char **arguments)
{
    (void)arguments;
    steady_start();
    steady_zero();
    steady_count_begin();
    NOPS(1000);
    steady_count_end();
    malloc(1);
    steady_count_begin();
    NOPS(2000);
    steady_count_end();
    times_two(1);
    for (int runs = 10; runs <= 40; runs *= 2) {
        steady_count_begin();
        times_two(runs);
        steady_count_end();
    }
    for (int i = 0; count > 1 && i < 95; i++) {
        steady_count_begin();
        steady_count_end();
    }
    uint64_t all = steady_windows(), window[3];
    printf("%lu", (unsigned long)all);
    for (uint64_t k = 0; k < all; k++) {
        steady_window(k, window);
        printf(" %lu,%lu,%lu", (unsigned long)window[0], (unsigned long)window[1],
               (unsigned long)window[2]);
    }
    steady_reset();
    printf(" %lu\\n", (unsigned long)steady_windows());
}
"""


class Library:
    """The compiled library, called through ctypes."""

    def __init__(self, path: Path) -> None:
        """Declare what is called below."""
        self.path = path
        self.c = ctypes.CDLL(str(path), use_errno=True)
        size, address = ctypes.c_size_t, ctypes.c_void_p
        for name, arguments in {
            "malloc": [size],
            "calloc": [size, size],
            "realloc": [address, size],
            "reallocarray": [address, size, size],
            "memalign": [size, size],
            "aligned_alloc": [size, size],
            "valloc": [size],
            "pvalloc": [size],
        }.items():
            function = getattr(self.c, name)
            function.argtypes, function.restype = arguments, address
        self.c.memcmp.argtypes = [address, address, size]
        self.c.free.argtypes, self.c.free.restype = [address], None
        self.c.malloc_usable_size.argtypes = [address]
        self.c.malloc_usable_size.restype = size
        self.c.posix_memalign.argtypes = [ctypes.POINTER(address), size, size]
        self.c.steady_clock_s.restype = ctypes.c_double

    def get(self, name: str, *arguments: int | None) -> int:
        """Address of a new block, 0 if there is none."""
        ctypes.set_errno(0)
        return getattr(self.c, name)(*arguments) or 0

    def posix_memalign(self, alignment: int, size: int) -> tuple[int, int]:
        """The error number and the address of the block."""
        out = ctypes.c_void_p()
        return self.c.posix_memalign(ctypes.byref(out), alignment, size), out.value or 0

    def free(self, *blocks: int | None) -> None:
        """Give blocks back."""
        for block in blocks:
            self.c.free(block)

    def usable(self, block: int | None) -> int:
        """Bytes that may be used of a block."""
        return int(self.c.malloc_usable_size(block))

    def counters(self) -> tuple[int, ...]:
        """Calls, bytes and frees so far."""
        out = (ctypes.c_uint64 * 3)()
        self.c.steady_allocations(out)
        return tuple(out)

    def counted(self, *actions: Callable[[], object]) -> tuple[int, ...]:
        """Calls, bytes and frees of some actions."""
        before = self.counters()
        for action in actions:
            action()
        return tuple(now - then for now, then in zip(self.counters(), before, strict=True))


def compile_c(*arguments: str | Path) -> None:
    """Compile with every warning an error."""
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", *map(str, arguments)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def output_of(*command: str | Path, **environment: str) -> str:
    """What a command prints, in an environment of nothing else."""
    finished = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        env={"PATH": os.environ["PATH"], "LD_BIND_NOW": "1", **environment},
    )
    return finished.stdout


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The library, compiled from its source."""
    torch = find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        pytest.skip("torch ships the headers of Valgrind and is not installed")
    headers = Path(torch.submodule_search_locations[0], "utils/benchmark/utils/valgrind_wrapper")
    path = tmp_path_factory.mktemp("steady") / "steady.so"
    compile_c("-O2", "-shared", "-fPIC", "-I", headers, "-o", path, SOURCE)
    return Library(path)


Build = Callable[[str], Path]


@pytest.fixture(scope="module")
def build(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile and link a C program with the library."""

    @cache
    def program(source: str) -> Path:
        folder = tmp_path_factory.mktemp("program")
        (folder / "program.c").write_text(DECLARATIONS + source)
        options = ["-O1", "-fno-builtin", "-Wno-unused-result", f"-Wl,-rpath,{library.path.parent}"]
        compile_c(*options, "-o", folder / "program", folder / "program.c", library.path)
        return folder / "program"

    return program


Windows = dict[str, int]


def windows_of(program: Path, folder: Path, *arguments: str) -> tuple[str, Windows]:
    """What a program prints under Callgrind, and the total of each dump by its label."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        "--collect-atstart=no",
        "--vgdb=no",
        f"--callgrind-out-file={folder}/cg",
    ]
    printed = output_of(*command, program, *arguments)
    windows = {}
    for dump in folder.glob("cg.*"):
        text = dump.read_text()
        label = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
        total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
        if label and total:
            windows[label[1]] = int(total[1])
    return printed, windows


# ---- blocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, *SIZES])
def test_malloc_aligns_every_size_to_16_bytes(library: Library, size: int) -> None:
    """Any type may be stored in a block."""
    blocks = [library.get("malloc", size) for _ in range(5)]
    misaligned = [block % 16 for block in blocks]
    library.free(*blocks)
    assert [0] * 5 == misaligned


@pytest.mark.parametrize("name", ["memalign", "aligned_alloc", "posix_memalign"])
@pytest.mark.parametrize("alignment", [8, 16, 32, 64, 128, 4096, 2 * MIB])
def test_memalign_and_its_kin_give_the_alignment_asked_for(
    library: Library, name: str, alignment: int
) -> None:
    """Whatever the size, and for several live blocks at once."""
    blocks = [
        library.posix_memalign(alignment, size)[1]
        if name == "posix_memalign"
        else library.get(name, alignment, size)
        for size in SIZES
    ]
    misaligned = [block % alignment for block in blocks]
    library.free(*blocks)
    assert 0 not in blocks
    assert [0] * len(SIZES) == misaligned


@pytest.mark.parametrize("name", ["memalign", "aligned_alloc"])
@pytest.mark.parametrize("alignment", [0, 3, 24, 100])
def test_an_alignment_that_is_no_power_of_two_is_invalid(
    library: Library, name: str, alignment: int
) -> None:
    """It is refused rather than rounded."""
    block = library.get(name, alignment, 100)
    assert (0, errno.EINVAL) == (block, ctypes.get_errno())


@pytest.mark.parametrize("alignment", [0, 1, 2, 4, 12, 24])
def test_posix_memalign_returns_einval_for_an_invalid_alignment(
    library: Library, alignment: int
) -> None:
    """It asks for powers of two that are multiples of a pointer."""
    assert (errno.EINVAL, 0) == library.posix_memalign(alignment, 100)


@pytest.mark.parametrize("name", ["valloc", "pvalloc"])
def test_valloc_and_pvalloc_align_to_pages(library: Library, name: str) -> None:
    """Both give whole pages their address."""
    block = library.get(name, 100)
    library.free(block)
    assert 0 == block % os.sysconf("SC_PAGESIZE")


def test_pvalloc_rounds_its_size_up_to_pages(library: Library) -> None:
    """The rest of the last page may be used."""
    block = library.get("pvalloc", 1)
    usable = library.usable(block)
    library.free(block)
    assert usable >= os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("size", [0, *SIZES, 100 * MIB, GIB])
def test_the_first_and_last_byte_of_a_block_can_be_used(library: Library, size: int) -> None:
    """From the empty block to a gigabyte."""
    block = library.get("malloc", size)
    ctypes.memset(block + max(size - 1, 0), 1, min(size, 1))
    ctypes.memset(block, 2, min(size, 1))
    first = ctypes.string_at(block, min(size, 1))
    library.free(block)
    assert b"\2"[: min(size, 1)] == first


def test_empty_blocks_have_addresses_of_their_own(library: Library) -> None:
    """malloc(0) can be told apart and freed."""
    blocks = [library.get("malloc", 0) for _ in range(10)]
    library.free(*blocks)
    assert 10 == len({*blocks} - {0})


@pytest.mark.parametrize("size", [1 << 47, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("malloc", (), ()),
        ("calloc", (1,), ()),
        ("realloc", (None,), ()),
        ("memalign", (64,), ()),
        ("memalign", (4096,), ()),
        ("pvalloc", (), ()),
        ("reallocarray", (None,), (1,)),
    ],
)
def test_an_absurd_size_fails_with_enomem(
    library: Library,
    name: str,
    before: tuple[int | None, ...],
    after: tuple[int, ...],
    size: int,
) -> None:
    """No arithmetic of the allocator wraps around."""
    block = library.get(name, *before, size, *after)
    assert (0, errno.ENOMEM) == (block, ctypes.get_errno())


def test_posix_memalign_returns_enomem_and_leaves_errno_alone(library: Library) -> None:
    """Its error is its return value."""
    ctypes.set_errno(0)
    error, _ = library.posix_memalign(64, 1 << 62)
    assert (errno.ENOMEM, 0) == (error, ctypes.get_errno())


@pytest.mark.parametrize(("name", "before"), [("calloc", ()), ("reallocarray", (None,))])
@pytest.mark.parametrize("count", [1 << 32, (1 << 60) + 1])
def test_a_product_that_overflows_fails_with_enomem(
    library: Library, name: str, before: tuple[None, ...], count: int
) -> None:
    """A small block in place of a huge one would be overrun."""
    block = library.get(name, *before, count, 1 << 32)
    assert (0, errno.ENOMEM) == (block, ctypes.get_errno())


@pytest.mark.parametrize("size", SIZES)
def test_calloc_zeroes_a_block_that_is_used_again(library: Library, size: int) -> None:
    """What an earlier owner wrote is gone."""
    used = library.get("malloc", size)
    ctypes.memset(used, 0xFF, size)
    library.free(used)
    block = library.get("calloc", 1, size)
    content = ctypes.string_at(block, size)
    library.free(block)
    assert bytes(size) == content


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


@pytest.mark.parametrize("size", [0, *SIZES])
@pytest.mark.parametrize("alignment", [16, 64, 4096])
def test_the_usable_size_covers_the_request(library: Library, size: int, alignment: int) -> None:
    """All of it can be written without touching a neighbour."""
    blocks = [library.get("memalign", alignment, size) for _ in range(3)]
    usable = [library.usable(block) for block in blocks]
    for number, block in enumerate(blocks):
        ctypes.memset(block, number, usable[number])
    kept = [ctypes.string_at(block, usable[0]) for block in blocks]
    library.free(*blocks)
    assert min(usable) >= size
    assert [bytes([number]) * usable[0] for number in range(3)] == kept


def test_the_usable_size_of_no_block_is_zero(library: Library) -> None:
    """As in the C library."""
    assert 0 == library.usable(None)


@pytest.mark.parametrize("size", [100, 1000, 5000, MIB, 2 * MIB])
@pytest.mark.parametrize("new_size", [1, 100, 1008, 5000, MIB, MIB + 1, 20 * MIB])
@pytest.mark.parametrize("alignment", [16, 64, 4096])
def test_realloc_keeps_what_both_sizes_hold(
    library: Library, size: int, new_size: int, alignment: int
) -> None:
    """Whether the block grows, shrinks, stays or changes its kind."""
    content = bytes(range(1, 251)) * (size // 250 + 1)
    block = library.get("memalign", alignment, size)
    ctypes.memmove(block, content, size)
    moved = library.get("realloc", block, new_size)
    kept = ctypes.string_at(moved, min(size, new_size))
    library.free(moved)
    assert content[: min(size, new_size)] == kept


def test_realloc_stays_in_place_within_a_class(library: Library) -> None:
    """1153 to 1280 bytes are one class."""
    block = library.get("malloc", 1153)
    moved = library.get("realloc", block, 1280)
    library.free(moved)
    assert block == moved


def test_realloc_of_no_block_allocates(library: Library) -> None:
    """As in the C library."""
    block = library.get("realloc", None, 100)
    usable = library.usable(block)
    library.free(block)
    assert 112 == usable


def test_realloc_to_zero_bytes_frees(library: Library) -> None:
    """The block is the next one of its class again."""
    block = library.get("malloc", 100)
    library.get("realloc", block, 0)
    again = library.get("malloc", 100)
    library.free(again)
    assert block == again


def test_a_failed_realloc_leaves_the_block_alone(library: Library) -> None:
    """The caller still owns it."""
    block = library.get("malloc", 5)
    ctypes.memmove(block, b"hello", 5)
    library.get("realloc", block, 1 << 62)
    kept = ctypes.string_at(block, 5)
    library.free(block)
    assert b"hello" == kept


def test_freeing_no_block_does_nothing(library: Library) -> None:
    """As in the C library."""
    assert (0, 0, 0) == library.counted(lambda: library.free(None))


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

    @rule(target=blocks, size=sizes)
    def malloc(self, size: int) -> int:
        """Allocate."""
        return self.owned(self.library.get("malloc", size), size)

    @rule(target=blocks, size=sizes, power=st.integers(3, 13))
    def memalign(self, size: int, power: int) -> int:
        """Allocate aligned."""
        block = self.library.get("memalign", 1 << power, size)
        assert 0 == block % (1 << power)
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

    class LiveBlocksOfThisLibrary(LiveBlocks):
        pass

    LiveBlocksOfThisLibrary.library = library
    run_state_machine_as_test(
        LiveBlocksOfThisLibrary,
        settings=settings(
            max_examples=40,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# ---- counters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "requested"),
    [
        ("malloc", (100,), 100),
        ("malloc", (0,), 0),
        ("malloc", (3 * MIB,), 3 * MIB),
        ("calloc", (7, 11), 77),
        ("realloc", (None, 50), 50),
        ("reallocarray", (None, 3, 5), 15),
        ("memalign", (64, 10), 10),
        ("memalign", (4096, 10), 10),
        ("aligned_alloc", (32, 10), 10),
        ("valloc", (10,), 10),
        ("pvalloc", (10,), 4096),
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


def test_posix_memalign_counts_once(library: Library) -> None:
    """Like the rest of its family."""
    blocks: list[int] = []
    counted = library.counted(lambda: blocks.append(library.posix_memalign(64, 10)[1]))
    library.free(*blocks)
    assert (1, 10, 0) == counted


@pytest.mark.parametrize("new_size", [101, 5000, 3 * MIB])
def test_a_realloc_counts_as_one_call_and_no_free(library: Library, new_size: int) -> None:
    """Whether the block moves or not."""
    block = library.get("malloc", 100)
    blocks: list[int] = []
    counted = library.counted(lambda: blocks.append(library.get("realloc", block, new_size)))
    library.free(*blocks)
    assert (1, new_size, 0) == counted


def test_a_realloc_to_nothing_counts_as_a_free(library: Library) -> None:
    """It allocates nothing."""
    block = library.get("malloc", 100)
    assert (0, 0, 1) == library.counted(lambda: library.get("realloc", block, 0))


@pytest.mark.parametrize("alignment", [16, 64, 4096])
def test_a_free_counts_once(library: Library, alignment: int) -> None:
    """Also where the block lies inside another one."""
    block = library.get("memalign", alignment, 100)
    assert (0, 0, 1) == library.counted(lambda: library.free(block))


def test_a_call_that_fails_is_not_counted(library: Library) -> None:
    """Nobody got the bytes."""
    assert (0, 0, 0) == library.counted(lambda: library.get("malloc", 1 << 62))


# ---- threads and forks --------------------------------------------------------------------------


def test_blocks_freed_by_another_thread_are_used_again(build: Build) -> None:
    """A hundred rounds take as much memory as ten."""
    assert int(output_of(build(FOREIGN_FREES))) < 8 * KIB


def test_a_thread_that_only_frees_does_not_hoard(build: Build) -> None:
    """400 MB flow one way, and a fraction stays resident."""
    assert int(output_of(build(ONE_WAY_TRAFFIC))) < 120 * KIB


def test_thousands_of_short_threads_leave_nothing_behind(build: Build) -> None:
    """Their lists go back to the pool when they end."""
    assert int(output_of(build(MANY_SHORT_THREADS))) < 16 * KIB


def test_destructors_that_run_late_may_still_allocate_and_free(build: Build) -> None:
    """And leave nothing behind, though the thread has given its lists back by then."""
    assert int(output_of(build(LATE_DESTRUCTORS))) < 2 * KIB


def test_threads_do_not_share_live_blocks(build: Build) -> None:
    """Four threads find their own pattern in each block."""
    assert "0\n" == output_of(build(OWN_PATTERNS))


def test_the_calls_of_all_threads_add_up(build: Build) -> None:
    """Exactly, though they count at the same time."""
    assert "800000\n8000000\n800000\n" == output_of(build(COUNTS_OF_THREADS))


def test_a_fork_while_other_threads_allocate_does_not_hang(build: Build) -> None:
    """All of 200 children allocate and end well."""
    assert "200\n" == output_of(build(FORK_WHILE_OTHERS_ALLOCATE))


def test_a_fork_handler_that_runs_under_the_lock_may_allocate(build: Build) -> None:
    """Handlers that were registered earlier prepare later."""
    assert "7\n" == output_of(build(EARLY_FORK_HANDLER))


# ---- preloaded into programs that know nothing of it --------------------------------------------


def test_a_plain_program_runs_with_it(library: Library, tmp_path: Path) -> None:
    """It serves before any constructor has run."""
    (tmp_path / "file").touch()
    assert "file\n" == output_of("/bin/ls", tmp_path, LD_PRELOAD=str(library.path))


def test_numpy_runs_with_it(library: Library) -> None:
    """A large C extension, its threads and Python's own objects."""
    printed = output_of(
        sys.executable,
        "-c",
        "import numpy; print(numpy.ones((300, 300)).dot(numpy.ones(300)).sum())",
        LD_PRELOAD=str(library.path),
        PYTHONMALLOC="malloc",
    )
    assert "90000.0\n" == printed


def test_python_takes_its_objects_from_it(library: Library) -> None:
    """A preloaded library answers to ctypes as well."""
    script = (
        "import ctypes; c = ctypes.CDLL(None); out = (ctypes.c_uint64 * 3)();"
        "c.steady_allocations(out); print(out[0] > 10_000)"
    )
    preload = str(library.path)
    printed = output_of(sys.executable, "-c", script, LD_PRELOAD=preload, PYTHONMALLOC="malloc")
    assert "True\n" == printed


# ---- comparison ---------------------------------------------------------------------------------


def sign(number: int) -> int:
    """-1, 0 or 1."""
    return (number > 0) - (number < 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    one=st.binary(max_size=40),
    change=st.integers(0, 39),
    value=st.integers(0, 255),
    offset=st.integers(0, 9),
)
def test_memcmp_compares_as_bytes_do(
    library: Library, one: bytes, change: int, value: int, offset: int
) -> None:
    """At any address, wherever the first difference lies."""
    other = one[:change] + bytes([value]) + one[change + 1 :] if change < len(one) else one
    left, right = (ctypes.create_string_buffer(b"." * offset + text) for text in (one, other))
    result = library.c.memcmp(
        ctypes.addressof(left) + offset, ctypes.addressof(right) + offset, len(one)
    )

    assert (one > other) - (one < other) == sign(result)


# ---- clock --------------------------------------------------------------------------------------


def test_the_clock_measures_seconds(library: Library) -> None:
    """Of real time, asleep or not."""
    library.c.steady_clock_begin()
    time.sleep(0.02)
    library.c.steady_clock_end()
    assert library.c.steady_clock_s() >= 0.02


def test_the_clock_forgets_the_window_before(library: Library) -> None:
    """The empty one after a long one is short."""
    for seconds in (0.2, 0):
        library.c.steady_clock_begin()
        time.sleep(seconds)
        library.c.steady_clock_end()
    assert library.c.steady_clock_s() < 0.2


def test_outside_valgrind_the_requests_do_nothing(library: Library) -> None:
    """The same code runs natively."""
    library.c.steady_start()
    library.c.steady_stop()
    assert 0 == library.c.steady_running_on_valgrind()


# ---- under Callgrind ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def without_past(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Windows:
    """The cost of each kind of call in a process that did nothing before."""
    return windows_of(build(COST_OF_CALLS), tmp_path_factory.mktemp("no_past"))[1]


@needs_valgrind
def test_every_kind_of_call_is_counted(without_past: Windows) -> None:
    """Five kinds of eight sizes."""
    assert 40 == sum(cost > 0 for cost in without_past.values())


@needs_valgrind
@pytest.mark.parametrize("past", PASTS)
def test_a_call_costs_the_same_whatever_happened_before(
    build: Build, without_past: Windows, past: int, tmp_path: Path
) -> None:
    """To the instruction, after 40,000 random calls that left holes everywhere."""
    assert without_past == windows_of(build(COST_OF_CALLS), tmp_path, str(past))[1]


@needs_valgrind
def test_a_comparison_costs_the_same_wherever_it_lies(build: Build, tmp_path: Path) -> None:
    """Also across the end of a page, where the C library takes another path."""
    assert 1 == len(set(windows_of(build(COST_OF_COMPARING), tmp_path)[1].values()))


@pytest.fixture(scope="module")
def measured(build: Build, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Windows]:
    """What the windows of a small program count."""
    return windows_of(build(WINDOWS), tmp_path_factory.mktemp("windows"))


@needs_valgrind
def test_each_window_is_dumped_under_its_number(measured: tuple[str, Windows]) -> None:
    """From zero on."""
    assert {f"window {number}" for number in range(5)} == measured[1].keys()


@needs_valgrind
def test_a_window_counts_exactly_the_instructions_in_it(measured: tuple[str, Windows]) -> None:
    """A thousand no-ops more are a thousand instructions more."""
    assert 1000 == measured[1]["window 1"] - measured[1]["window 0"]


@needs_valgrind
def test_windows_grow_in_proportion_to_their_runs(measured: tuple[str, Windows]) -> None:
    """From n to 2n costs half of 2n to 4n."""
    once, twice, four_times = (measured[1][f"window {number}"] for number in (2, 3, 4))
    assert 2 * (twice - once) == four_times - twice


@needs_valgrind
def test_a_window_keeps_the_allocations_in_it(measured: tuple[str, Windows]) -> None:
    """Neither those before it nor those of its own dump; a reset forgets them."""
    expected = "5 0,0,0 0,0,0 20,50500,10 40,101000,20 80,202000,40 0\n"
    assert expected == measured[0]


@needs_valgrind
def test_windows_beyond_the_last_slot_are_counted_and_not_kept(
    build: Build, tmp_path: Path
) -> None:
    """Of a hundred, 64 are dumped."""
    printed, windows = windows_of(build(WINDOWS), tmp_path, "many")
    assert ("100", 64) == (printed.split()[0], len(windows))


@needs_valgrind
def test_the_library_knows_that_it_runs_under_valgrind(library: Library) -> None:
    """And what it runs under answers."""
    printed = output_of(
        "valgrind",
        "--tool=none",
        "--vgdb=no",
        "-q",
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import ctypes; print(ctypes.CDLL({str(library.path)!r}).steady_running_on_valgrind())",
    )
    assert "1\n" == printed


# Opening dumps


def open_dump(library: Library, folder: Path, prefix: str, number: int) -> bytes | None:
    """What the library opens, as this process; None where it opens nothing."""
    base = os.open(folder, os.O_RDONLY)
    try:
        descriptor = ctypes.CDLL(str(library.path)).steady_open_dump(
            base, prefix.encode(), ctypes.c_uint64(number)
        )
    finally:
        os.close(base)
    if descriptor < 0:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()


@pytest.mark.parametrize("number", [0, 7, 10, 4_294_967_296])
def test_a_dump_of_this_process_is_opened(library: Library, tmp_path: Path, number: int) -> None:
    """By its number, in the first thread, below the folder."""
    (tmp_path / "dumps").mkdir()
    (tmp_path / "dumps" / f"cg.{os.getpid()}.{number}-01").write_bytes(b"mine")

    assert b"mine" == open_dump(library, tmp_path, "dumps/cg", number)


def test_a_dump_that_does_not_exist_is_not_opened(library: Library, tmp_path: Path) -> None:
    """The caller is told."""
    assert None is open_dump(library, tmp_path, "cg", 1)


def test_a_long_prefix_is_cut_and_harms_nobody(library: Library, tmp_path: Path) -> None:
    """The buffer is of a fixed size."""
    assert None is open_dump(library, tmp_path, "x" * 10_000, 1)
