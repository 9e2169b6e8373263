/* cuBLAS: a handle with what it was told, and products, whose results stay on the device. */
#include "stand_in.h"

struct handle {
    void *stream;
    int pointer_mode, math_mode;
};

CREATES(cublasCreate_v2, sizeof(struct handle))
DESTROYS(cublasDestroy_v2)

status cublasSetStream_v2(struct handle *handle, void *stream)
{
    handle->stream = stream;
    return SUCCESS;
}

status cublasSetPointerMode_v2(struct handle *handle, int mode)
{
    handle->pointer_mode = mode;
    return SUCCESS;
}

status cublasGetPointerMode_v2(struct handle *handle, int *mode)
{
    *mode = handle->pointer_mode;
    return SUCCESS;
}

status cublasSetMathMode(struct handle *handle, int mode)
{
    handle->math_mode = mode;
    return SUCCESS;
}

status cublasGetMathMode(struct handle *handle, int *mode)
{
    *mode = handle->math_mode;
    return SUCCESS;
}

SUCCEEDS(cublasSetWorkspace_v2)
SUCCEEDS(cublasSetSmCountTarget)

/* Of each type: single and double precision, real and complex. */
#define IN_EACH_TYPE(name) \
    WORKS(cublasS##name)   \
    WORKS(cublasD##name)   \
    WORKS(cublasC##name)   \
    WORKS(cublasZ##name)

IN_EACH_TYPE(gemm_v2)
IN_EACH_TYPE(gemmBatched)
IN_EACH_TYPE(gemmStridedBatched)
IN_EACH_TYPE(gemv_v2)
IN_EACH_TYPE(axpy_v2)
IN_EACH_TYPE(scal_v2)
IN_EACH_TYPE(copy_v2)
IN_EACH_TYPE(trmm_v2)
IN_EACH_TYPE(trsm_v2)
IN_EACH_TYPE(trsmBatched)
WORKS(cublasSgemmEx)
WORKS(cublasGemmEx)
WORKS(cublasGemmStridedBatchedEx)

/* Of these, torch lets the device have the result (its pointer mode). */
WORKS(cublasSdot_v2)
WORKS(cublasDdot_v2)
WORKS(cublasCdotu_v2)
WORKS(cublasCdotc_v2)
WORKS(cublasZdotu_v2)
WORKS(cublasZdotc_v2)
WORKS(cublasDotEx)
