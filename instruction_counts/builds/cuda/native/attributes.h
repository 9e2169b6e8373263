/* What the device says of itself, by the numbers that runtime and driver have in common. */
#pragma once
#include "stand_in.h"

static inline int device_attribute(int number)
{
    switch (number) {
    case 1: case 2: case 3: return DEVICE_THREADS_PER_BLOCK; /* and in x and y */
    case 4: return 64;
    case 5: return 2147483647; /* of a grid, in x, y and z */
    case 6: case 7: return 65535;
    case 8: return DEVICE_SHARED_BYTES_PER_BLOCK;
    case 9: return 65536; /* constant memory */
    case 10: return DEVICE_WARP_SIZE;
    case 12: case 82: return DEVICE_REGISTERS; /* of a block, of a multiprocessor */
    case 16: return DEVICE_MULTIPROCESSORS;
    case 19: case 31: case 41: return 1; /* maps host memory, concurrent kernels, one address space */
    case 37: return DEVICE_MEMORY_BUS_BITS;
    case 38: return DEVICE_L2_BYTES;
    case 39: return DEVICE_THREADS_PER_MULTIPROCESSOR;
    case 75: return DEVICE_MAJOR;
    case 76: return DEVICE_MINOR;
    case 78: case 83: return 1; /* priorities of streams, managed memory */
    case 81: return DEVICE_SHARED_BYTES_PER_MULTIPROCESSOR;
    case 95: return 1; /* cooperative launches */
    case 97: return DEVICE_SHARED_BYTES_PER_BLOCK_OPTIN;
    case 99: return 1; /* host memory can be registered */
    case 106: return DEVICE_BLOCKS_PER_MULTIPROCESSOR;
    case 111: return 1024; /* shared memory that the driver keeps */
    case 115: return 1; /* pools of memory */
    default: return 0;
    }
}

static inline int blocks_that_fit(int threads)
{
    int fit = DEVICE_THREADS_PER_MULTIPROCESSOR / (threads > 0 ? threads : 1);
    if (fit < 1)
        return 1;
    return fit < DEVICE_BLOCKS_PER_MULTIPROCESSOR ? fit : DEVICE_BLOCKS_PER_MULTIPROCESSOR;
}
