/* fresh: gives memory that is allocated a known content, in a process that already runs.
 *
 * What a statement computes is a function of its inputs only if it is the same whatever fresh memory
 * holds.  The C library can fill memory itself (M_PERTURB), but not all of it: not what its caches
 * hand out, and from glibc 2.41 on no aligned blocks, which is what tensors lie in.
 *
 * So each object that is loaded gets other functions in place of the C library's: fresh_fill() goes
 * through the relocations of all of them, and where one names malloc or one of its kin, it writes
 * the address of a function of this file there.  That function calls the former one, which may be
 * that of a preloaded allocator, and fills the block.  calloc keeps its zeros.
 *
 * Objects that are loaded later are not known: fresh_fill() can be called again.  It is for a
 * process with one thread.
 */

#define _GNU_SOURCE

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int content;

/* The whole block, of which `kept` bytes are no fresh ones. */
static void *filled(void *block, size_t kept)
{
    size_t size = block ? malloc_usable_size(block) : 0;
    if (size > kept)
        memset((char *)block + kept, content, size - kept);
    return block;
}

static void *filled_malloc(size_t size)
{
    return filled(malloc(size), 0);
}

static void *filled_realloc(void *block, size_t size)
{
    size_t kept = malloc_usable_size(block);
    return filled(realloc(block, size), kept);
}

static void *filled_reallocarray(void *block, size_t count, size_t size)
{
    size_t kept = malloc_usable_size(block);
    return filled(reallocarray(block, count, size), kept);
}

static void *filled_memalign(size_t alignment, size_t size)
{
    return filled(memalign(alignment, size), 0);
}

static void *filled_aligned_alloc(size_t alignment, size_t size)
{
    return filled(aligned_alloc(alignment, size), 0);
}

static int filled_posix_memalign(void **out, size_t alignment, size_t size)
{
    int error = posix_memalign(out, alignment, size);
    if (!error)
        filled(*out, 0);
    return error;
}

static void *filled_valloc(size_t size)
{
    return filled(valloc(size), 0);
}

#define REPLACED(name) {#name, (uintptr_t)name, (uintptr_t)filled_##name}

static const struct replaced {
    const char *name;
    uintptr_t former, replacement;
} *replaced_function(const char *name)
{
    static const struct replaced all[] = {
        REPLACED(malloc), REPLACED(realloc), REPLACED(reallocarray), REPLACED(memalign),
        REPLACED(aligned_alloc), REPLACED(posix_memalign), REPLACED(valloc),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(name, all[i].name))
            return &all[i];
    return NULL;
}

/* What the dynamic section of an object says of its relocations. */
struct object {
    uintptr_t base;
    const ElfW(Sym) *symbols;
    const char *names;
};

static void write_slot(uintptr_t *slot, uintptr_t value)
{
    /* Relocations are often read-only once they are made. */
    uintptr_t page = (uintptr_t)slot & -(uintptr_t)getpagesize();
    if (!mprotect((void *)page, (size_t)getpagesize(), PROT_READ | PROT_WRITE))
        *slot = value;
}

/* A slot of calls may not be resolved yet; any other one holds the address of what it names. */
static void replace(const struct object *in, const ElfW(Rela) *entries, size_t size, int are_calls)
{
    for (const ElfW(Rela) *entry = entries; size >= sizeof *entry; size -= sizeof *entry, entry++) {
        const ElfW(Sym) *symbol = &in->symbols[ELF64_R_SYM(entry->r_info)];
        if (symbol->st_shndx != SHN_UNDEF || !symbol->st_name)
            continue;
        const struct replaced *found = replaced_function(in->names + symbol->st_name);
        uintptr_t *slot = (uintptr_t *)(in->base + entry->r_offset);
        if (found && (are_calls || *slot == found->former))
            write_slot(slot, found->replacement);
    }
}

/* The C library has made addresses of most of these, though not on every machine. */
static const void *address(const struct object *in, uintptr_t value)
{
    return (const void *)(value < in->base ? in->base + value : value);
}

static void replace_in(const ElfW(Dyn) *section, uintptr_t base)
{
    struct object in = {.base = base};
    const ElfW(Rela) *others = NULL, *calls = NULL;
    size_t others_size = 0, calls_size = 0;
    int calls_have_addends = 1;
    for (const ElfW(Dyn) *entry = section; entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_val;
        switch (entry->d_tag) {
        case DT_SYMTAB: in.symbols = address(&in, value); break;
        case DT_STRTAB: in.names = address(&in, value); break;
        case DT_RELA: others = address(&in, value); break;
        case DT_RELASZ: others_size = value; break;
        case DT_JMPREL: calls = address(&in, value); break;
        case DT_PLTRELSZ: calls_size = value; break;
        case DT_PLTREL: calls_have_addends = value == DT_RELA; break;
        }
    }
    if (!in.symbols || !in.names)
        return;
    if (others)
        replace(&in, others, others_size, 0);
    if (calls && calls_have_addends)
        replace(&in, calls, calls_size, 1);
}

static int replace_in_object(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    /* _DYNAMIC is the section of this object, which has to reach the former functions. */
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        const ElfW(Dyn) *section = (const ElfW(Dyn) *)(object->dlpi_addr + header->p_vaddr);
        if (header->p_type == PT_DYNAMIC && section != _DYNAMIC)
            replace_in(section, object->dlpi_addr);
    }
    return 0;
}

/* From now on each block that the loaded objects allocate holds `byte` in all its bytes. */
void fresh_fill(int byte)
{
    content = byte;
    dl_iterate_phdr(replace_in_object, NULL);
}
