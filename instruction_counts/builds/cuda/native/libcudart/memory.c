/* Memory: that of the device is the host's, mapped when it is asked for and filled when written.
 *
 * What a copy between host and device moves is moved, so that what goes there comes back. What the
 * device would move or compute by itself is not: nothing changes its memory but these copies.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include "runtime.h"

enum kind { NONE = 0, HOST = 1, DEVICE = 2, MANAGED = 3 };

struct block {
    char *start;
    size_t bytes, mapped;
    enum kind kind;
};

enum { MOST_BLOCKS = 1 << 16 };
static const size_t alignment = (size_t)2 << 20;
static struct block blocks[MOST_BLOCKS];
static size_t number_of_blocks, device_bytes;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static struct block *block_with(const void *address)
{
    for (struct block *block = blocks; block < blocks + number_of_blocks; block++)
        if ((const char *)address >= block->start && (const char *)address < block->start + block->bytes)
            return block;
    return NULL;
}

/* Aligned, within a mapping that is larger by the alignment; what is left over is given back. */
static char *map(size_t bytes)
{
    size_t whole = bytes + alignment;
    char *start = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    char *aligned = (char *)(((uintptr_t)start + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (aligned > start)
        munmap(start, (size_t)(aligned - start));
    if (start + whole > aligned + bytes)
        munmap(aligned + bytes, (size_t)(start + whole - aligned - bytes));
    return aligned;
}

static status add(char *start, size_t bytes, size_t mapped, enum kind kind)
{
    if (start == NULL || number_of_blocks == MOST_BLOCKS)
        return failed_with(OUT_OF_MEMORY);
    blocks[number_of_blocks++] = (struct block){start, bytes, mapped, kind};
    if (kind != HOST)
        device_bytes += mapped;
    return SUCCESS;
}

static status allocate(const char *name, void **found, size_t bytes, enum kind kind)
{
    note("allocation", name);
    *found = NULL;
    if (bytes == 0)
        return SUCCESS;
    size_t mapped = (bytes + alignment - 1) & ~(alignment - 1);
    pthread_mutex_lock(&changing);
    status result = OUT_OF_MEMORY;
    if (kind == HOST || mapped <= DEVICE_MEMORY_BYTES - device_bytes) {
        *found = map(mapped);
        result = add(*found, bytes, mapped, kind);
    }
    pthread_mutex_unlock(&changing);
    return result == SUCCESS ? SUCCESS : failed_with(result);
}

static status release(const char *name, void *address)
{
    note("allocation", name);
    if (address == NULL)
        return SUCCESS;
    pthread_mutex_lock(&changing);
    struct block *block = block_with(address);
    if (block != NULL) {
        if (block->mapped)
            munmap(block->start, block->mapped);
        if (block->kind != HOST)
            device_bytes -= block->mapped;
        *block = blocks[--number_of_blocks];
    }
    pthread_mutex_unlock(&changing);
    return block != NULL ? SUCCESS : failed_with(INVALID_VALUE);
}

status cudaMalloc(void **found, size_t bytes)
{
    return allocate(__func__, found, bytes, DEVICE);
}

status cudaMallocHost(void **found, size_t bytes)
{
    return allocate(__func__, found, bytes, HOST);
}

status cudaFree(void *address) { return release(__func__, address); }
status cudaFreeHost(void *address) { return release(__func__, address); }

status cudaMallocAsync(void **found, size_t bytes, void *stream)
{
    (void)stream;
    return allocate(__func__, found, bytes, DEVICE);
}

status cudaFreeAsync(void *address, void *stream)
{
    (void)stream;
    return release(__func__, address);
}

status cudaHostAlloc(void **found, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate(__func__, found, bytes, HOST);
}

status cudaMallocManaged(void **found, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate(__func__, found, bytes, MANAGED);
}

status cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
    (void)flags;
    note("allocation", __func__);
    pthread_mutex_lock(&changing);
    status result = add(address, bytes, 0, HOST);
    pthread_mutex_unlock(&changing);
    return result;
}

status cudaHostUnregister(void *address) { return release(__func__, address); }

status cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes)
{
    *all_bytes = DEVICE_MEMORY_BYTES;
    *free_bytes = DEVICE_MEMORY_BYTES - device_bytes;
    return SUCCESS;
}

/* As CUDA 13 lays it out. */
struct pointer {
    int kind, device;
    void *on_device, *on_host;
    long reserved[8];
};

static enum kind kind_at(const void *address)
{
    pthread_mutex_lock(&changing);
    struct block *block = block_with(address);
    enum kind kind = block == NULL ? NONE : block->kind;
    pthread_mutex_unlock(&changing);
    return kind;
}

status cudaPointerGetAttributes(struct pointer *found, void *address)
{
    enum kind kind = kind_at(address);
    *found = (struct pointer){
        .kind = (int)kind,
        .on_device = kind == NONE ? NULL : address,
        .on_host = kind == DEVICE ? NULL : address,
    };
    return SUCCESS;
}

/* Copies */

enum { HOST_TO_HOST = 0, TO_DEVICE = 1, FROM_DEVICE = 2, WITHIN_DEVICE = 3 };

/* Whether memory of the host is pinned decides whether a copy can run beside other work. */
static void note_copy(const char *name, const char *to, const char *from, int way)
{
    static const char *const ways[] = {"within the host", "to the device", "from the device",
                                       "within the device", "wherever it lies"};
    if (listening == NULL)
        return;
    const char *host = way == TO_DEVICE ? from : way == FROM_DEVICE ? to : NULL;
    const char *memory = host == NULL ? "" : kind_at(host) == HOST ? ", pinned" : ", pageable";
    char text[128];
    snprintf(text, sizeof text, "%s %s%s", name, ways[way < 0 || way > 4 ? 4 : way], memory);
    note("copy", text);
}

static void copy(const char *name, char *to, size_t to_pitch, const char *from, size_t from_pitch,
                 size_t width, size_t rows, int way)
{
    note_copy(name, to, from, way);
    did_work();
    if (way == WITHIN_DEVICE)
        return;
    for (size_t row = 0; row < rows; row++)
        memcpy(to + row * to_pitch, from + row * from_pitch, width);
}

status cudaMemcpy(void *to, const void *from, size_t bytes, int way)
{
    copy(__func__, to, 0, from, 0, bytes, 1, way);
    return SUCCESS;
}

status cudaMemcpyAsync(void *to, const void *from, size_t bytes, int way, void *stream)
{
    (void)stream;
    copy(__func__, to, 0, from, 0, bytes, 1, way);
    return SUCCESS;
}

status cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t rows, int way, void *stream)
{
    (void)stream;
    copy(__func__, to, to_pitch, from, from_pitch, width, rows, way);
    return SUCCESS;
}

static status fill(const char *name)
{
    note("copy", name);
    did_work();
    return SUCCESS;
}

status cudaMemsetAsync(void) { return fill(__func__); }
status cudaMemset(void) { return fill(__func__); }

/* Pools, which keep nothing here. */

status cudaDeviceGetDefaultMemPool(void **pool, int device)
{
    static char pool_of_device;
    (void)device;
    *pool = &pool_of_device;
    return SUCCESS;
}

status cudaMemPoolGetAttribute(void *pool, int attribute, uint64_t *value)
{
    (void)pool;
    enum { USED_NOW = 7, USED_AT_MOST = 8, RESERVED_NOW = 5, RESERVED_AT_MOST = 6 };
    *value = attribute >= RESERVED_NOW && attribute <= USED_AT_MOST ? device_bytes : 0;
    return SUCCESS;
}

SUCCEEDS(cudaMemPoolSetAttribute)
SUCCEEDS(cudaMemPoolSetAccess)
SUCCEEDS(cudaMemPoolTrimTo)
