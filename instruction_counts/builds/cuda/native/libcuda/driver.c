/* The driver: what torch asks it past the runtime. */
#include "attributes.h"

static char context;

SUCCEEDS(cuInit)

status cuDriverGetVersion(int *version)
{
    *version = CUDA_VERSION;
    return SUCCESS;
}

status cuDeviceGetCount(int *count)
{
    *count = 1;
    return SUCCESS;
}

status cuDeviceGet(int *device, int number)
{
    *device = number;
    return SUCCESS;
}

status cuDeviceGetAttribute(int *value, int number, int device)
{
    (void)device;
    *value = device_attribute(number);
    return SUCCESS;
}

status cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active)
{
    (void)device;
    *flags = 0;
    *is_active = 1;
    return SUCCESS;
}

status cuDevicePrimaryCtxRetain(void **found, int device)
{
    (void)device;
    *found = &context;
    return SUCCESS;
}

status cuCtxGetCurrent(void **found)
{
    *found = &context;
    return SUCCESS;
}

SUCCEEDS(cuCtxSetCurrent)

status cuGetErrorString(status error, const char **text)
{
    *text = error == SUCCESS ? "no error" : "unknown error";
    return SUCCESS;
}

status cuLogsRegisterCallback(void *function, void *data, void **handle)
{
    (void)function, (void)data;
    if (handle != NULL)
        *handle = &context;
    return SUCCESS;
}

SUCCEEDS(cuLogsUnregisterCallback)

/* Kernels that torch compiles itself */

status cuModuleLoadData(const void **module, const void *code)
{
    *module = code;
    return SUCCESS;
}

status cuModuleLoadDataEx(const void **module, const void *code)
{
    *module = code;
    return SUCCESS;
}

status cuModuleGetFunction(const void **function, const void *module, const char *name)
{
    (void)module;
    *function = name;
    return SUCCESS;
}

status cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, const void *function, int threads, size_t shared_bytes)
{
    (void)function, (void)shared_bytes;
    *blocks = blocks_that_fit(threads);
    return SUCCESS;
}

SUCCEEDS(cuModuleUnload)

static status launch(void)
{
    note("launch", "a kernel compiled while running"); /* whose name is not kept */
    return SUCCESS;
}

status cuLaunchKernel(void) { return launch(); }
status cuLaunchCooperativeKernel(void) { return launch(); }
SUCCEEDS(cuFuncSetAttribute)
SUCCEEDS(cuFuncSetCacheConfig)
