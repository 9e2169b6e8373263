/* Kernels: their code is registered when torch is loaded, and launching one does nothing. */
#include "attributes.h"
#include "runtime.h"

struct size {
    unsigned x, y, z;
};

/* Registration */

void **__cudaRegisterFatBinary(void *code)
{
    static void *registered;
    (void)code;
    return &registered;
}

void __cudaRegisterFatBinaryEnd(void **registered) { (void)registered; }
void __cudaUnregisterFatBinary(void **registered) { (void)registered; }

/* Kernels by the functions that launch them: as they come, since they are looked up seldom. */
struct kernel {
    const void *function;
    const char *name;
};

static struct kernel *kernels;
static size_t number_of_kernels, room;

void __cudaRegisterFunction(void **code, const void *function, char *on_device, const char *name)
{
    (void)code, (void)on_device;
    if (number_of_kernels == room) {
        size_t more = room == 0 ? 1024 : 2 * room;
        struct kernel *larger = realloc(kernels, more * sizeof *kernels);
        if (larger == NULL)
            return; /* it stays without a name */
        kernels = larger;
        room = more;
    }
    kernels[number_of_kernels++] = (struct kernel){function, name};
}

/* The name of a kernel, as the compiler has it; NULL where it is not known. */
const char *stand_in_kernel(const void *function)
{
    for (size_t number = 0; number < number_of_kernels; number++)
        if (kernels[number].function == function)
            return kernels[number].name;
    return NULL;
}

void __cudaRegisterVar(void) { }

/* A kernel is called by a function of the host, which gets what it was called with from here. */

struct configuration {
    struct size grid, block;
    size_t shared_bytes;
    void *stream;
};

enum { DEEPEST = 16 };
static _Thread_local struct configuration pushed[DEEPEST];
static _Thread_local unsigned number_pushed;

unsigned __cudaPushCallConfiguration(
    struct size grid, struct size block, size_t shared_bytes, void *stream)
{
    pushed[number_pushed++ % DEEPEST] = (struct configuration){grid, block, shared_bytes, stream};
    return SUCCESS;
}

status __cudaPopCallConfiguration(
    struct size *grid, struct size *block, size_t *shared_bytes, void **stream)
{
    struct configuration *top = &pushed[--number_pushed % DEEPEST];
    *grid = top->grid;
    *block = top->block;
    *shared_bytes = top->shared_bytes;
    *stream = top->stream;
    return SUCCESS;
}

status __cudaGetKernel(const void **kernel, const void *function)
{
    *kernel = function;
    return SUCCESS;
}

static status launch(const void *function)
{
    note("kernel", function);
    did_work();
    return SUCCESS;
}

status __cudaLaunchKernel(const void *function) { return launch(function); }
status cudaLaunchKernel(const void *function) { return launch(function); }
status cudaLaunchCooperativeKernel(const void *function) { return launch(function); }

status cudaLaunchKernelExC(const void *configuration, const void *function)
{
    (void)configuration;
    return launch(function);
}

/* As CUDA 13 lays it out. */
struct function_facts {
    size_t shared_bytes, constant_bytes, local_bytes;
    int threads_per_block, registers, ptx_version, binary_version, caches;
    int dynamic_shared_bytes, carveout, cluster[4], more[17];
};
_Static_assert(sizeof(struct function_facts) <= 144, "CUDA 13 has room for so much");

status cudaFuncGetAttributes(struct function_facts *found, const void *function)
{
    (void)function;
    int version = 10 * DEVICE_MAJOR + DEVICE_MINOR;
    *found = (struct function_facts){
        .threads_per_block = DEVICE_THREADS_PER_BLOCK,
        .registers = 32,
        .ptx_version = version,
        .binary_version = version,
        .dynamic_shared_bytes = DEVICE_SHARED_BYTES_PER_BLOCK,
    };
    return SUCCESS;
}

status cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, const void *function, int threads, size_t shared_bytes)
{
    (void)function, (void)shared_bytes;
    *blocks = blocks_that_fit(threads);
    return SUCCESS;
}

status cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *function, int threads, size_t shared_bytes, unsigned flags)
{
    (void)flags;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes);
}

SUCCEEDS(cudaFuncSetAttribute)
SUCCEEDS(cudaKernelSetAttributeForDevice)

/* Variables of the device */

status cudaGetSymbolAddress(void **address, const void *symbol)
{
    static char memory[1 << 20];
    (void)symbol;
    *address = memory;
    return SUCCESS;
}

SUCCEEDS(cudaMemcpyToSymbol)

/* Libraries of kernels */

status cudaLibraryLoadData(const void **library, const void *code)
{
    *library = code;
    return SUCCESS;
}

status cudaLibraryGetKernel(const void **kernel, const void *library, const char *name)
{
    (void)library;
    *kernel = name;
    return SUCCESS;
}

SUCCEEDS(cudaLibraryUnload)
