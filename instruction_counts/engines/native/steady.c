/* steady: what is preloaded into the process that is counted under Callgrind.
 *
 * It holds five things, of which the first four know each other through the counters alone:
 *   1. an allocator whose instruction cost does not depend on the past;
 *   2. exact counters of allocation calls, requested bytes and frees;
 *   3. memcmp, whose cost depends on what is compared and not on where it lies;
 *   4. plain C functions that open and close a measured window;
 *   5. a way to keep the interpreter from specialising bytecodes again.
 *
 * The allocator
 * -------------
 * A general allocator walks, splits and merges whatever earlier code left behind, so the price of
 * one call depends on the history of the process.  Here every block belongs for ever to one size
 * class (steps of 16 bytes up to 1 KiB, then eight classes per power of two up to 1 MiB), a thread
 * keeps one last-in-first-out list of free blocks per class, and nothing is split or merged:
 * malloc takes the first block, free puts it back.  Alignments of 32 and 64 bytes have lists of
 * their own, a larger alignment is cut out of a larger block, and a block above 1 MiB is a mapping
 * of its own.  Blocks are zeroed and copied by loops of this file, because those of the C library
 * choose their path by the offset of an address in its page.
 *
 * What still depends on the past, all of it rare:
 *   - a list that is empty is refilled, with 64 KiB of fresh blocks at a time (at least four);
 *   - a list that has grown by 16 MiB of free blocks (at least 64) is put aside, and handed to the
 *     other threads when that happens twice, so that a thread which only frees hoards nothing;
 *   - the first call of a thread sets up its lists, and its end gives them back;
 *   - addresses differ, and code outside this file may look at them.
 * Memory goes back to the system for blocks above 1 MiB only.  After a fork the child keeps the
 * lists of the thread that forked; the free blocks of the others are lost to it.
 *
 * Nothing in here calls malloc, stdio or dlsym, so it may run before the constructors do.
 */

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "callgrind.h"

#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define slow_path __attribute__((noinline, cold))

enum {
    SMALL_CLASSES = 64,              /* 16, 32, ... 1024 bytes */
    LARGE_CLASSES = 80,              /* eight for each power of two from 1 KiB to 1 MiB */
    CLASSES = SMALL_CLASSES + LARGE_CLASSES,
    LISTS = 2 * CLASSES,             /* the second half holds the blocks aligned to 64 bytes */
    MAPPED = LISTS,                  /* in place of a list: the block is a mapping of its own */
    INSIDE = LISTS + 1,              /* in place of a list: the block lies inside another one */

    HEADER = 16,                     /* bytes before each block */
    ALIGNED = 64,                    /* alignment of the second set of lists and of mappings */
    LARGEST_LISTED = 1 << 20,
    REFILL_BYTES = 64 << 10,
    REFILL_BLOCKS = 4,
    ASIDE_BYTES = 16 << 20,
    ASIDE_BLOCKS = 64,
    PLACES = 16,                     /* for steady_allocate_at() */
    BLOCKS_PLACED = 64,
    BLOCKS_SEARCHED = 4096,          /* for those that were placed: they were freed last */
    BLOCKS_ORDERED = 64,             /* of each small class, before a window */
    CHUNK_BYTES = 64 << 20,          /* address space taken from the system at a time */
    MAPPING_UNIT = 4096,
    NAMES_APART = 32 << 10,          /* distance at which names share a slot of the method cache */
    NAME_UNITS = 1 << 20             /* of 16 bytes, for all names */
};

/* What stands in the 16 bytes before a block. */
struct header {
    uint32_t list;                   /* a list, MAPPED or INSIDE */
    uint32_t lost;                   /* INSIDE: bytes of the outer block that alignment may cost */
    union {
        size_t length;               /* MAPPED: of the mapping */
        void *outer;                 /* INSIDE: the block that holds this one */
        size_t count;                /* first block of a chain in the pool: blocks in that chain */
    };
};

/* What stands in a block while it is free. */
struct block {
    struct block *next;
    struct block *next_chain;        /* first block of a chain in the pool only */
};

struct list {
    struct block *head;
    struct block *aside;             /* either empty or exactly most_blocks() long */
    size_t room;                     /* blocks that still fit before the list is put aside */
};

/* The free lists of one thread; idle ones wait for the next thread. */
struct lists {
    struct list of[LISTS];
    struct lists *next_idle;
};

_Static_assert(sizeof(struct header) == HEADER, "a header must keep blocks aligned to 16 bytes");
_Static_assert(sizeof(struct block) <= 16, "the links must fit into the smallest block");
_Static_assert(HEADER <= ALIGNED, "a header must fit before an aligned block");

static __thread struct lists *mine __attribute__((tls_model("initial-exec")));
static __thread int departed __attribute__((tls_model("initial-exec")));

/* ---- allocation counters -------------------------------------------------------------------- */

static _Atomic uint64_t calls, bytes, frees;

static inline void *counted(void *block, size_t size)
{
    if (unlikely(!block)) {
        errno = ENOMEM;
        return NULL;
    }
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, size, memory_order_relaxed);
    return block;
}

static inline void count_free(void)
{
    atomic_fetch_add_explicit(&frees, 1, memory_order_relaxed);
}

static void read_counters(uint64_t out[3])
{
    out[0] = atomic_load_explicit(&calls, memory_order_relaxed);
    out[1] = atomic_load_explicit(&bytes, memory_order_relaxed);
    out[2] = atomic_load_explicit(&frees, memory_order_relaxed);
}

/* Calls that succeeded, bytes they asked for, blocks given back.  A realloc is one call with its
 * new size and no free, whether the block moves or not; realloc(block, 0) is a free alone. */
void steady_allocations(uint64_t out[3])
{
    read_counters(out);
}

/* ---- arithmetic of classes ------------------------------------------------------------------ */

static inline uintptr_t round_up(uintptr_t value, uintptr_t power_of_two)
{
    return (value + power_of_two - 1) & -power_of_two;
}

/* For sizes up to LARGEST_LISTED; an empty block is one of a single byte. */
static inline uint32_t class_of(size_t size)
{
    size_t last = size - (size != 0);
    if (last < 1024)
        return (uint32_t)(last >> 4);
    uint32_t power = 63 - (uint32_t)__builtin_clzll(last);
    return SMALL_CLASSES + (power - 10) * 8 + (uint32_t)(last >> (power - 3)) - 8;
}

static inline size_t class_size(uint32_t class)
{
    if (class < SMALL_CLASSES)
        return ((size_t)class + 1) * 16;
    uint32_t large = class - SMALL_CLASSES;
    return (size_t)(large % 8 + 9) << (large / 8 + 7);
}

static inline size_t block_size(uint32_t list)
{
    return class_size(list < CLASSES ? list : list - CLASSES);
}

static size_t most_blocks(uint32_t list)
{
    size_t blocks = ASIDE_BYTES / block_size(list);
    return blocks > ASIDE_BLOCKS ? blocks : ASIDE_BLOCKS;
}

static inline struct header *header_of(const void *block)
{
    return (struct header *)((uintptr_t)block - HEADER);
}

/* ---- what all threads share ----------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(const void *) holder; /* the thread that holds the mutex, by an address of its own */
static unsigned depth;

static struct block *pool[LISTS];    /* chains of free blocks that threads gave back */
static struct lists *idle;
static uintptr_t chunk, chunk_end;   /* address space not yet cut into blocks */

static pthread_key_t at_exit_key;
static int at_exit_key_exists;

/* Recursive by address, not by thread number: a fork holds it while the fork handlers of others
 * may allocate, and the number is another one in the child that releases it. */
static void enter(void)
{
    if (atomic_load_explicit(&holder, memory_order_relaxed) == &mine) {
        depth++;
        return;
    }
    pthread_mutex_lock(&mutex);
    atomic_store_explicit(&holder, &mine, memory_order_relaxed);
    depth = 1;
}

static void leave(void)
{
    if (--depth)
        return;
    atomic_store_explicit(&holder, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&mutex);
}

static void *map(size_t length, int flags)
{
    void *start = mmap(NULL, length, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

static void give_chain(uint32_t list, struct block *first, size_t count)
{
    if (!first)
        return;
    header_of(first)->count = count;
    first->next_chain = pool[list];
    pool[list] = first;
}

/* STEADY_LAYOUT=1, 2, ... in the environment gives another memory layout each: fresh blocks lie at
 * other addresses, and are handed out in another order.  It shows how much of a count is an accident
 * of addresses.  Without it, or with 0, blocks are handed out in the order of their addresses. */
static size_t layout_number = SIZE_MAX;

static size_t layout(void)
{
    if (layout_number == SIZE_MAX) {
        const char *text = getenv("STEADY_LAYOUT");
        size_t number = 0;
        while (text && *text >= '0' && *text <= '9' && number < 1000)
            number = number * 10 + (size_t)(*text++ - '0');
        layout_number = number;
    }
    return layout_number;
}

/* An odd way through `count` blocks that meets each of them once; 1 in the layout 0. */
static size_t way_through(size_t count)
{
    size_t way = layout() ? 7 + 12 * layout() : 1;
    for (;; way++) {
        size_t a = way, b = count;
        while (b) {
            size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return way % count;
    }
}

/* Address of the first of some fresh blocks, 0 if the system has no more. */
static uintptr_t reserve(size_t stride, size_t count, size_t alignment)
{
    size_t need = alignment + HEADER + stride * count;
    size_t skipped = layout() * 592 % 4096;
    uintptr_t first = 0;
    need += skipped;
    enter();
    if (chunk_end - chunk < need) {
        size_t length = CHUNK_BYTES;
        void *start = map(length, MAP_NORESERVE);
        if (!start)
            start = map(length = need, 0);
        if (start) {
            chunk = (uintptr_t)start;
            chunk_end = chunk + length;
        }
    }
    if (chunk_end - chunk >= need) {
        first = round_up(chunk + skipped + HEADER, alignment);
        chunk = round_up(first + stride * count - HEADER, 16);
    }
    leave();
    return first;
}

static struct block *cut(uint32_t list, size_t *count)
{
    size_t size = block_size(list), alignment = list < CLASSES ? 16 : ALIGNED;
    size_t stride = round_up(size + HEADER, alignment);
    *count = REFILL_BYTES / size > REFILL_BLOCKS ? REFILL_BYTES / size : REFILL_BLOCKS;
    uintptr_t first = reserve(stride, *count, alignment);
    if (!first)
        return NULL;
    struct block *next = NULL;
    size_t way = way_through(*count), at = 0;
    for (size_t i = *count; i-- > 0;) {
        at = (at + *count - way) % *count;
        struct block *block = (struct block *)(first + at * stride);
        header_of(block)->list = list;
        block->next = next;
        next = block;
    }
    return next;
}

/* Fills an empty list: with the blocks put aside, with those of other threads, with fresh ones. */
static slow_path struct block *refill(struct lists *own, uint32_t list)
{
    struct list *empty = &own->of[list];
    size_t count = most_blocks(list);
    struct block *first = empty->aside;
    empty->aside = NULL;
    if (!first) {
        enter();
        first = pool[list];
        if (first) {
            count = header_of(first)->count;
            pool[list] = first->next_chain;
        }
        leave();
    }
    if (!first)
        first = cut(list, &count);
    if (!first)
        return NULL;
    empty->head = first;
    empty->room = most_blocks(list) - count;
    return first;
}

static slow_path void put_aside(struct lists *own, uint32_t list)
{
    struct list *full = &own->of[list];
    if (full->aside) {
        enter();
        give_chain(list, full->aside, most_blocks(list));
        leave();
    }
    full->aside = full->head;
    full->head = NULL;
    full->room = most_blocks(list);
}

/* ---- threads come, go and fork -------------------------------------------------------------- */

static slow_path struct lists *arrive(void)
{
    enter();
    struct lists *own = idle;
    if (own)
        idle = own->next_idle;
    leave();
    if (!own) {
        own = map(sizeof *own, 0);
        if (!own)
            return NULL;
        for (uint32_t list = 0; list < LISTS; list++)
            own->of[list].room = most_blocks(list);
    }
    mine = own; /* before the next line, which may allocate */
    if (at_exit_key_exists && !departed)
        pthread_setspecific(at_exit_key, own);
    return own;
}

static void depart(void)
{
    struct lists *own = mine;
    enter();
    for (uint32_t list = 0; list < LISTS; list++) {
        struct list *given = &own->of[list];
        size_t most = most_blocks(list);
        give_chain(list, given->head, most - given->room);
        give_chain(list, given->aside, most);
        *given = (struct list){.room = most};
    }
    own->next_idle = idle;
    idle = own;
    leave();
    mine = NULL;
}

/* Changes the layout of a process of one thread: what is free is not handed out again. */
void steady_use_layout(uint64_t number)
{
    enter();
    layout_number = number;
    for (uint32_t list = 0; list < LISTS; list++) {
        pool[list] = NULL;
        if (mine)
            mine->of[list] = (struct list){.room = most_blocks(list)};
    }
    leave();
}

/* What ends after this may still allocate: it then arrives and departs for each call. */
static void at_thread_exit(void *own)
{
    departed = 1;
    if (own == mine)
        depart();
}

__attribute__((constructor)) static void prepare(void)
{
    pthread_atfork(enter, leave, leave);
    at_exit_key_exists = !pthread_key_create(&at_exit_key, at_thread_exit);
    if (at_exit_key_exists && mine)
        pthread_setspecific(at_exit_key, mine);
}

/* ---- blocks --------------------------------------------------------------------------------- */

static inline void *pop(struct lists *own, uint32_t list)
{
    struct list *from = &own->of[list];
    struct block *block = from->head;
    if (unlikely(!block)) {
        block = refill(own, list);
        if (!block)
            return NULL;
    }
    from->head = block->next;
    from->room++;
    return block;
}

static inline void push(struct lists *own, uint32_t list, struct block *block)
{
    struct list *to = &own->of[list];
    block->next = to->head;
    to->head = block;
    if (unlikely(!--to->room))
        put_aside(own, list);
}

/* Sorts the first free blocks of a list by address. They are nearly sorted as a rule. */
static void order_list(struct list *each)
{
    struct block *first[BLOCKS_ORDERED], *rest = each->head;
    size_t count = 0;
    for (; rest && count < BLOCKS_ORDERED; rest = rest->next) {
        size_t at = count++;
        for (; at && first[at - 1] > rest; at--)
            first[at] = first[at - 1];
        first[at] = rest;
    }
    for (size_t i = count; i-- > 0; rest = first[i])
        first[i]->next = rest;
    each->head = rest;
}

/* Lets windows begin alike, in whatever order the one before freed its blocks: code that looks at
 * addresses, as hash tables of pointers do, would cost something else in each.  Other layouts hand
 * blocks out in another order. */
void steady_order_blocks(void)
{
    for (uint32_t list = 0; mine && !layout() && list < SMALL_CLASSES; list++)
        order_list(&mine->of[list]);
}

/* Where blocks lie that a window takes first, by list. */
static struct place {
    uint32_t list;
    uintptr_t remainder, distance, first; /* 0: none was made yet */
} places[PLACES];
static size_t known_places;

/* In each window from now on, the first blocks of up to `size` bytes that this thread takes lie at
 * `remainder` bytes of each `distance`, a power of two. Other blocks, freed since, lie behind them. */
void steady_allocate_at(uint64_t size, uint64_t remainder, uint64_t distance)
{
    if (known_places < PLACES)
        places[known_places++] = (struct place){class_of(size), remainder, distance, 0};
}

static void make_place(struct place *place)
{
    uintptr_t first = reserve(place->distance, BLOCKS_PLACED + 1, place->distance);
    place->first = first ? first + place->remainder : 0;
    for (uintptr_t i = BLOCKS_PLACED; first && i-- > 0;) {
        struct block *block = (struct block *)(place->first + i * place->distance);
        header_of(block)->list = place->list;
        push(mine, place->list, block);
    }
}

/* Puts the free blocks of a place first in their list again, by address. They are the same in all
 * windows: code that looks at addresses would find others in each. */
static void bring_forward(const struct place *place)
{
    struct block *found[BLOCKS_PLACED] = {NULL}, **link = &mine->of[place->list].head;
    for (size_t seen = 0; *link && seen < BLOCKS_SEARCHED; seen++) {
        uintptr_t behind = (uintptr_t)*link - place->first;
        if (behind < BLOCKS_PLACED * place->distance && behind % place->distance == 0) {
            found[behind / place->distance] = *link;
            *link = (*link)->next;
        } else {
            link = &(*link)->next;
        }
    }
    struct block *rest = mine->of[place->list].head;
    for (size_t i = BLOCKS_PLACED; i-- > 0;) {
        if (found[i]) {
            found[i]->next = rest;
            rest = found[i];
        }
    }
    mine->of[place->list].head = rest;
}

static void place_blocks(void)
{
    for (struct place *place = places; mine && place < places + known_places; place++) {
        if (place->first)
            bring_forward(place);
        else
            make_place(place);
    }
}

/* ---- names ---------------------------------------------------------------------------------- */

static uintptr_t names_at;                    /* memory for names; 0: none was needed yet */
static uint64_t names_taken[NAME_UNITS / 64]; /* a bit for each of its units */

/* FNV-1a, of 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/); 0 if it is not ASCII. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) {
        if (*text & 0x80)
            return 0;
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    }
    return hash;
}

static int units_are_free(size_t first, size_t count)
{
    for (size_t unit = first; unit < first + count; unit++)
        if (unit >= NAME_UNITS || names_taken[unit / 64] >> unit % 64 & 1)
            return 0;
    return 1;
}

static void turn_units(size_t first, size_t count)
{
    for (size_t unit = first; unit < first + count; unit++)
        names_taken[unit / 64] ^= (uint64_t)1 << unit % 64;
}

/* Where a name of `units` may lie: at the remainder of NAMES_APART that its hash gives, in units. */
static size_t place_of(uint64_t hash, size_t units)
{
    size_t step = NAMES_APART / 16, unit = hash % step;
    while (unit < NAME_UNITS && !units_are_free(unit, units))
        unit += step;
    return unit;
}

/* Calls `intern` for each of some names, of `length` bytes with the NUL behind each. The block of
 * `overhead` bytes and those of the name that it takes first, and keeps unless it has that name
 * already, lies where the name alone decides, modulo NAMES_APART. Not for those of one letter, which
 * CPython keeps elsewhere, or beyond ASCII, which take more blocks. */
void steady_intern(const char *names, uint64_t length, uint64_t overhead,
                   void *(*intern)(const char *))
{
    if (mine && !names_at)
        names_at = reserve((size_t)NAME_UNITS * 16, 1, NAMES_APART);
    for (const char *name = names; names_at && name < names + length; name += strlen(name) + 1) {
        uint64_t hash = hash_of(name);
        uint32_t list = class_of(overhead + strlen(name));
        size_t units = (HEADER + class_size(list)) / 16, unit = place_of(hash, units);
        if (!hash || strlen(name) < 2 || unit >= NAME_UNITS)
            continue;
        struct block *block = (struct block *)(names_at + unit * 16 + HEADER);
        header_of(block)->list = list;
        push(mine, list, block);
        turn_units(unit, units);
        intern(name);
        if (mine->of[list].head == block) {
            pop(mine, list);
            turn_units(unit, units);
        }
    }
}

static slow_path void *pop_arriving(uint32_t list)
{
    struct lists *own = arrive();
    void *block = own ? pop(own, list) : NULL;
    if (own && departed)
        depart();
    return block;
}

static slow_path void push_arriving(uint32_t list, struct block *block)
{
    struct lists *own = arrive();
    if (!own)
        return;
    push(own, list, block);
    if (departed)
        depart();
}

static slow_path void *map_block(size_t size)
{
    if (size > PTRDIFF_MAX - ALIGNED - MAPPING_UNIT)
        return NULL;
    size_t length = round_up(size + ALIGNED, MAPPING_UNIT);
    void *start = map(length, 0);
    if (!start)
        return NULL;
    void *block = (char *)start + ALIGNED;
    *header_of(block) = (struct header){.list = MAPPED, .length = length};
    return block;
}

/* `first_list` is 0, or CLASSES for a block that is aligned to 64 bytes. */
static inline void *take(size_t size, uint32_t first_list)
{
    if (unlikely(size > LARGEST_LISTED))
        return map_block(size);
    uint32_t list = first_list + class_of(size);
    struct lists *own = mine;
    return unlikely(!own) ? pop_arriving(list) : pop(own, list);
}

static slow_path void release_unlisted(void *block);

static inline void release(void *block)
{
    uint32_t list = header_of(block)->list;
    struct lists *own = mine;
    if (unlikely(list >= LISTS))
        release_unlisted(block);
    else if (unlikely(!own))
        push_arriving(list, block);
    else
        push(own, list, block);
}

static slow_path void release_unlisted(void *block)
{
    struct header *header = header_of(block);
    if (header->list == INSIDE) {
        release(header->outer);
        return;
    }
    int before = errno;
    munmap((char *)block - ALIGNED, header->length);
    errno = before;
}

static slow_path void *take_inside(size_t size, size_t alignment)
{
    if (alignment > UINT32_MAX || size > PTRDIFF_MAX - alignment)
        return NULL;
    void *outer = take(size + alignment, 0);
    if (!outer)
        return NULL;
    void *block = (void *)round_up((uintptr_t)outer + HEADER, alignment);
    *header_of(block) = (struct header){
        .list = INSIDE, .lost = (uint32_t)alignment, .outer = outer};
    return block;
}

static inline void *take_aligned(size_t size, size_t alignment)
{
    if (alignment <= 16)
        return take(size, 0);
    return alignment <= ALIGNED ? take(size, CLASSES) : take_inside(size, alignment);
}

static size_t usable(const void *block)
{
    const struct header *header = header_of(block);
    if (header->list < LISTS)
        return block_size(header->list);
    if (header->list == MAPPED)
        return header->length - ALIGNED;
    return usable(header->outer) - header->lost;
}

/* Both loops move whole pieces of 16 bytes, of which every block is made; the empty assembly keeps
 * the compiler from calling memset and memcpy instead. */
typedef long long piece __attribute__((vector_size(16), may_alias));

static void clear(void *block, size_t size)
{
    piece *to = block;
    for (size_t left = (size + 15) / 16; left; left--) {
        *to++ = (piece){0};
        __asm__ volatile("" : : : "memory");
    }
}

static void copy(void *block, const void *source, size_t size)
{
    piece *to = block;
    const piece *from = source;
    for (size_t left = (size + 15) / 16; left; left--) {
        *to++ = *from++;
        __asm__ volatile("" : : : "memory");
    }
}

static void *take_zeroed(size_t size)
{
    void *block = take(size, 0);
    if (block && size <= LARGEST_LISTED)
        clear(block, size);
    return block;
}

static void *remap(void *block, size_t size)
{
    if (size > PTRDIFF_MAX - ALIGNED - MAPPING_UNIT)
        return NULL;
    size_t length = round_up(size + ALIGNED, MAPPING_UNIT);
    char *start = mremap((char *)block - ALIGNED, header_of(block)->length, length, MREMAP_MAYMOVE);
    if (start == MAP_FAILED)
        return NULL;
    header_of(start + ALIGNED)->length = length;
    return start + ALIGNED;
}

static void *resize(void *block, size_t size)
{
    uint32_t list = header_of(block)->list;
    if (list == MAPPED && size > LARGEST_LISTED)
        return remap(block, size);
    if (list < LISTS && size <= LARGEST_LISTED && block_size(list) == class_size(class_of(size)))
        return block;
    void *moved = take(size, 0);
    if (!moved)
        return NULL;
    size_t kept = usable(block);
    copy(moved, block, kept < size ? kept : size);
    release(block);
    return moved;
}

/* ---- the allocator as the C library declares it ----------------------------------------------
 *
 * These functions never call one another by name: where this file is loaded without being
 * preloaded, the name means the C library's function. */

static inline int is_power_of_two(size_t value)
{
    return value && !(value & (value - 1));
}

static inline void give_back(void *block)
{
    count_free();
    release(block);
}

static void *align(size_t size, size_t alignment)
{
    if (is_power_of_two(alignment))
        return counted(take_aligned(size, alignment), size);
    errno = EINVAL;
    return NULL;
}

static void *reallocate(void *block, size_t size)
{
    if (!block)
        return counted(take(size, 0), size);
    if (size)
        return counted(resize(block, size), size);
    give_back(block);
    return NULL;
}

void *malloc(size_t size)
{
    return counted(take(size, 0), size);
}

void free(void *block)
{
    if (block)
        give_back(block);
}

void *calloc(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        return counted(NULL, 0);
    return counted(take_zeroed(total), total);
}

void *realloc(void *block, size_t size)
{
    return reallocate(block, size);
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        return counted(NULL, 0);
    return reallocate(block, total);
}

void *memalign(size_t alignment, size_t size)
{
    return align(size, alignment);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return align(size, alignment);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) || !is_power_of_two(alignment))
        return EINVAL;
    int before = errno;
    void *block = align(size, alignment);
    errno = before;
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

void *valloc(size_t size)
{
    return align(size, (size_t)getpagesize());
}

void *pvalloc(size_t size)
{
    size_t page = (size_t)getpagesize();
    if (size > PTRDIFF_MAX - page)
        return counted(NULL, 0);
    return align(round_up(size, page), page);
}

size_t malloc_usable_size(void *block)
{
    return block ? usable(block) : 0;
}

/* ---- comparison of memory ------------------------------------------------------------------- */

/* The C library's memcmp looks where in its page each side lies, and takes another path near the end
 * of one: some instructions more or less for the same comparison in another memory layout.  Here
 * the cost depends on the size and on the first byte that differs, and on nothing else. */
int memcmp(const void *one, const void *other, size_t size)
{
    const unsigned char *left = one, *right = other;
    for (; size >= 8; size -= 8, left += 8, right += 8) {
        uint64_t a, b;
        __builtin_memcpy(&a, left, 8);
        __builtin_memcpy(&b, right, 8);
        if (a != b)
            return __builtin_bswap64(a) < __builtin_bswap64(b) ? -1 : 1;
    }
    for (; size; size--, left++, right++)
        if (*left != *right)
            return *left - *right;
    return 0;
}

int bcmp(const void *one, const void *other, size_t size)
{
    return memcmp(one, other, size);
}

/* ---- client requests ------------------------------------------------------------------------ */

unsigned steady_running_on_valgrind(void)
{
    return (unsigned)RUNNING_ON_VALGRIND;
}

void steady_start(void)
{
    CALLGRIND_START_INSTRUMENTATION;
}

void steady_stop(void)
{
    CALLGRIND_STOP_INSTRUMENTATION;
}

void steady_toggle(void)
{
    CALLGRIND_TOGGLE_COLLECT;
}

void steady_zero(void)
{
    CALLGRIND_ZERO_STATS;
}

/* ---- measured windows ----------------------------------------------------------------------- */

/* One thread measures at a time, and collection is switched for that thread alone; allocations are
 * those of all threads.  From MOST_WINDOWS on, windows are counted, but neither kept nor dumped. */
enum { MOST_WINDOWS = 64 };

enum { AMOUNTS = 4 };                /* calls, bytes, frees, and the instructions of the window */

static uint64_t at_begin[3];
static uint64_t kept_windows[MOST_WINDOWS][AMOUNTS];
static uint64_t windows;
static uint64_t first_counted, first_dumped;
static int counts_window;

/* The windows before `counted` are not counted, and those before `dumped` have no dump: it takes tens
 * of milliseconds, as it goes through all that was ever instrumented.  The first dump has all that was
 * counted before, each further one its own window. */
void steady_count_from(uint64_t counted, uint64_t dumped)
{
    first_counted = counted;
    first_dumped = dumped;
}

/* Writes `number` in decimal to `end`, without a terminator; returns where it stops. */
static char *append_number(char *end, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *end++ = digits[--count];
    return end;
}

static void dump_window(uint64_t number)
{
    char label[sizeof "window " + 20] = "window ";
    *append_number(label + sizeof "window " - 1, number) = '\0';
    CALLGRIND_DUMP_STATS_AT(label);
}

static int log_file = -1;            /* what Valgrind writes about this process; -1: nothing is known */

/* Opens `<prefix>.<process>.log` below `folder`.  Without allocating, since process numbers differ in
 * length, and with it what is allocated next to what. */
void steady_read_log(int folder, const char *prefix)
{
    char path[256], *end = path;
    while (*prefix && end < path + 200)
        *end++ = *prefix++;
    *end++ = '.';
    end = append_number(end, (uint64_t)getpid());
    memcpy(end, ".log", sizeof ".log");
    log_file = openat(folder, path, O_RDONLY | O_CLOEXEC);
}

/* The instructions of this thread since its last dump, as Callgrind writes them into the log when it
 * is asked for its state, which costs next to nothing; 0 if they are not there. */
static uint64_t since_dump(void)
{
    static const char name[] = "\nevents-1: ";
    char text[1024];
    struct stat log; /* and no lseek(): a case may have closed it, and opened a file of its own there */
    if (fstat(log_file, &log))
        return 0;
    (void)VALGRIND_MONITOR_COMMAND("status internal");
    ssize_t length = pread(log_file, text, sizeof text - 1, log.st_size);
    text[length < 0 ? 0 : length] = '\0';
    const char *found = strstr(text, name);
    return found ? strtoull(found + sizeof name - 1, NULL, 10) : 0;
}

static __attribute__((noinline)) void keep_window(void)
{
    static uint64_t before;
    uint64_t now[AMOUNTS] = {0}, number = windows++;
    read_counters(now);
    if (number >= MOST_WINDOWS)
        return;
    for (int i = 0; i < 3; i++)
        kept_windows[number][i] = now[i] - at_begin[i];
    now[3] = since_dump();
    kept_windows[number][3] = now[3] > before ? now[3] - before : 0;
    before = now[3];
    if (counts_window && number >= first_dumped) {
        dump_window(number);
        before = 0;
    }
}

/* Called after each window with its number, outside of what is counted: it may, from what the window
 * cost, decide how long the next ones are. */
static void (*after_window)(uint64_t number);

void steady_after_window(void (*function)(uint64_t number))
{
    after_window = function;
}

void steady_fill_counters(void);

/* From that window on, nothing is left to decide, and the interpreter is settled here: Callgrind
 * counts calls outside of windows, too, and Python's would not be as many after each. */
static uint64_t settled_from = UINT64_MAX;
static unsigned int (*clear_method_cache)(void);

void steady_settle_from(uint64_t window, unsigned int (*clear)(void))
{
    settled_from = window;
    clear_method_cache = clear;
}

/* Collection goes on as the last thing here, and off as the first thing below. */
void steady_count_begin(void)
{
    steady_order_blocks();
    place_blocks();
    read_counters(at_begin);
    counts_window = windows >= first_counted;
    if (counts_window)
        CALLGRIND_TOGGLE_COLLECT;
}

void steady_count_end(void)
{
    if (counts_window)
        CALLGRIND_TOGGLE_COLLECT;
    keep_window();
    if (windows > settled_from) {
        steady_fill_counters();
        clear_method_cache();
    } else if (after_window) {
        after_window(windows - 1);
    }
}

uint64_t steady_windows(void)
{
    return windows;
}

/* What window `number` cost; zeros if it was not kept. Instructions are known where a log is read. */
void steady_window(uint64_t number, uint64_t out[AMOUNTS])
{
    int kept = number < windows && number < MOST_WINDOWS;
    for (int i = 0; i < AMOUNTS; i++)
        out[i] = kept ? kept_windows[number][i] : 0;
}

void steady_reset(void)
{
    windows = 0;
}

/* ---- what the interpreter counts down ------------------------------------------------------- */

/* CPython keeps a counter behind each bytecode that it can specialise, and tries to do so, or to do
 * it again, whenever that has run down: hundreds of instructions in an arbitrary window. */
enum { MOST_COUNTERS = 1 << 16 };

static uint16_t full_counter;        /* as worker/cpython.py has it; 0 where none is to be held */
static uint16_t **counters;
static size_t known_counters;

void steady_use_counters(uint64_t full)
{
    full_counter = (uint16_t)full;
}

/* `code` is a piece of bytecode as it was compiled: an opcode and an argument, then zeros in place of
 * each two bytes that belong to the interpreter.  `running` is the same as it is executed. */
void steady_know_counters(const unsigned char *code, uint64_t length, unsigned char *running)
{
    if (!counters)
        counters = map(MOST_COUNTERS * sizeof *counters, MAP_NORESERVE);
    if (!counters || !full_counter)
        return;
    for (uint64_t i = 2; i < length && known_counters < MOST_COUNTERS; i += 2)
        if (code[i - 2] && !code[i])
            counters[known_counters++] = (uint16_t *)(running + i);
}

/* Lets the next miss, or the next try that is put off, be the last one before code is specialised. */
void steady_drain_counters(void)
{
    for (size_t i = 0; i < known_counters; i++)
        *counters[i] = 1;
}

/* Lets them all start again from the top. */
void steady_fill_counters(void)
{
    for (size_t i = 0; i < known_counters; i++)
        *counters[i] = full_counter;
}

/* ---- the same windows by the clock ---------------------------------------------------------- */

static struct timespec clock_begin, clock_end;

void steady_clock_begin(void)
{
    clock_gettime(CLOCK_MONOTONIC, &clock_begin);
}

void steady_clock_end(void)
{
    clock_gettime(CLOCK_MONOTONIC, &clock_end);
}

double steady_clock_s(void)
{
    return (double)(clock_end.tv_sec - clock_begin.tv_sec)
        + (double)(clock_end.tv_nsec - clock_begin.tv_nsec) * 1e-9;
}
