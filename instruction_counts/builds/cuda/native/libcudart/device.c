/* The one device, its versions, and errors. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "attributes.h"
#include "runtime.h"

static _Thread_local status last_error;

status failed_with(status error)
{
    last_error = error;
    return error;
}

status cudaGetLastError(void)
{
    status error = last_error;
    last_error = SUCCESS;
    return error;
}

status cudaPeekAtLastError(void) { return last_error; }

const char *cudaGetErrorName(status error)
{
    switch (error) {
    case SUCCESS: return "cudaSuccess";
    case INVALID_VALUE: return "cudaErrorInvalidValue";
    case OUT_OF_MEMORY: return "cudaErrorMemoryAllocation";
    case INVALID_DEVICE: return "cudaErrorInvalidDevice";
    default: return "cudaErrorUnknown";
    }
}

const char *cudaGetErrorString(status error)
{
    switch (error) {
    case SUCCESS: return "no error";
    case INVALID_VALUE: return "invalid argument";
    case OUT_OF_MEMORY: return "out of memory";
    case INVALID_DEVICE: return "invalid device ordinal";
    default: return "unknown error";
    }
}

status cudaGetDeviceCount(int *count)
{
    *count = 1;
    return SUCCESS;
}

status cudaGetDevice(int *device)
{
    *device = 0;
    return SUCCESS;
}

status cudaSetDevice(int device) { return device == 0 ? SUCCESS : failed_with(INVALID_DEVICE); }

status cudaDriverGetVersion(int *version)
{
    *version = CUDA_VERSION;
    return SUCCESS;
}

status cudaRuntimeGetVersion(int *version)
{
    *version = CUDA_VERSION;
    return SUCCESS;
}

status cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    (void)device, (void)peer;
    *can = 0;
    return SUCCESS;
}

status cudaDeviceGetPCIBusId(char *text, int length, int device)
{
    (void)device;
    snprintf(text, (size_t)length, "0000:01:00.0");
    return SUCCESS;
}

status cudaDeviceGetAttribute(int *value, int number, int device)
{
    (void)device;
    *value = device_attribute(number);
    return SUCCESS;
}

/* As CUDA 13 lays it out. */
struct properties {
    char name[256], uuid[16], luid[8];
    unsigned luid_mask;
    size_t memory_bytes, shared_bytes_per_block;
    int registers_per_block, warp_size;
    size_t largest_pitch;
    int threads_per_block, block_size[3], grid_size[3];
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int multiprocessors, is_integrated, maps_host_memory, textures[39];
    size_t surface_alignment;
    int runs_concurrent_kernels, has_ecc, pci_bus, pci_device, pci_domain, is_tcc, copy_engines;
    int has_one_address_space, memory_bus_bits, l2_bytes, persisting_l2_bytes;
    int threads_per_multiprocessor, has_stream_priorities, caches_globals, caches_locals;
    size_t shared_bytes_per_multiprocessor;
    int registers_per_multiprocessor, has_managed_memory, more[5];
    int preempts, uses_host_pointers, launches_cooperatively;
    size_t shared_bytes_per_block_optin;
    int page_tables[2], blocks_per_multiprocessor, window_bytes;
    size_t reserved_shared_bytes;
    int registers_host_memory, arrays[3], has_memory_pools, others[15];
    int reserved[56];
};
_Static_assert(sizeof(struct properties) == 1008, "as large as CUDA 13 has it");
_Static_assert(offsetof(struct properties, l2_bytes) == 596, "laid out as CUDA 13 has it");
_Static_assert(offsetof(struct properties, blocks_per_multiprocessor) == 688, "the same");

status cudaGetDeviceProperties(struct properties *found, int device)
{
    (void)device;
    *found = (struct properties){
        .name = DEVICE_NAME,
        .uuid = "no real device",
        .memory_bytes = DEVICE_MEMORY_BYTES,
        .shared_bytes_per_block = DEVICE_SHARED_BYTES_PER_BLOCK,
        .registers_per_block = DEVICE_REGISTERS,
        .warp_size = DEVICE_WARP_SIZE,
        .largest_pitch = 2147483647,
        .threads_per_block = DEVICE_THREADS_PER_BLOCK,
        .block_size = {DEVICE_THREADS_PER_BLOCK, DEVICE_THREADS_PER_BLOCK, 64},
        .grid_size = {2147483647, 65535, 65535},
        .constant_bytes = 65536,
        .major = DEVICE_MAJOR,
        .minor = DEVICE_MINOR,
        .texture_alignment = 512,
        .texture_pitch_alignment = 32,
        .multiprocessors = DEVICE_MULTIPROCESSORS,
        .maps_host_memory = 1,
        .surface_alignment = 512,
        .runs_concurrent_kernels = 1,
        .has_ecc = 1,
        .pci_bus = 1,
        .copy_engines = 3,
        .has_one_address_space = 1,
        .memory_bus_bits = DEVICE_MEMORY_BUS_BITS,
        .l2_bytes = DEVICE_L2_BYTES,
        .threads_per_multiprocessor = DEVICE_THREADS_PER_MULTIPROCESSOR,
        .has_stream_priorities = 1,
        .caches_globals = 1,
        .caches_locals = 1,
        .shared_bytes_per_multiprocessor = DEVICE_SHARED_BYTES_PER_MULTIPROCESSOR,
        .registers_per_multiprocessor = DEVICE_REGISTERS,
        .has_managed_memory = 1,
        .preempts = 1,
        .launches_cooperatively = 1,
        .shared_bytes_per_block_optin = DEVICE_SHARED_BYTES_PER_BLOCK_OPTIN,
        .blocks_per_multiprocessor = DEVICE_BLOCKS_PER_MULTIPROCESSOR,
        .reserved_shared_bytes = 1024,
        .registers_host_memory = 1,
        .has_memory_pools = 1,
    };
    return SUCCESS;
}

/* A function of the driver, by its name: from the stand-in for that. */
status cudaGetDriverEntryPointByVersion(
    const char *name, void **function, unsigned version, unsigned long long flags, int *found)
{
    (void)version, (void)flags;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *function = driver == NULL ? NULL : dlsym(driver, name);
    if (found != NULL)
        *found = *function == NULL; /* 1: there is no such symbol */
    return SUCCESS;
}

SYNCHRONISES(cudaDeviceSynchronize)
SUCCEEDS(cudaProfilerStart)
SUCCEEDS(cudaProfilerStop)
