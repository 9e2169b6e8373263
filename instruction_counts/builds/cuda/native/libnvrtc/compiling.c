/* NVRTC: the compiler of kernels that torch writes while it runs. What it makes is empty. */
#include "stand_in.h"

static char program;
enum { CODE_BYTES = 16 };

status nvrtcVersion(int *major, int *minor)
{
    *major = CUDA_VERSION / 1000;
    *minor = CUDA_VERSION % 1000 / 10;
    return SUCCESS;
}

status nvrtcCreateProgram(void **made)
{
    *made = &program;
    return SUCCESS;
}

#define SIZE(name)                        \
    status name(void *of, size_t *bytes) \
    {                                     \
        (void)of;                         \
        *bytes = CODE_BYTES;              \
        return SUCCESS;                   \
    }
#define CODE(name)                       \
    status name(void *of, char *code)   \
    {                                    \
        (void)of;                        \
        memset(code, 0, CODE_BYTES);     \
        return SUCCESS;                  \
    }

SIZE(nvrtcGetCUBINSize)
SIZE(nvrtcGetPTXSize)
SIZE(nvrtcGetProgramLogSize)
CODE(nvrtcGetCUBIN)
CODE(nvrtcGetPTX)
CODE(nvrtcGetProgramLog)
SUCCEEDS(nvrtcAddNameExpression)
SUCCEEDS(nvrtcCompileProgram)
SUCCEEDS(nvrtcDestroyProgram)

status nvrtcGetLoweredName(void *of, const char *expression, const char **name)
{
    (void)of, (void)expression;
    *name = "kernel";
    return SUCCESS;
}

const char *nvrtcGetErrorString(status error) { return error == SUCCESS ? "no error" : "error"; }
