/* cuFFT: plans, and their execution. */
#include "stand_in.h"

status cufftCreate(int *plan)
{
    static int last;
    *plan = ++last;
    return SUCCESS;
}

status cufftXtMakePlanMany(int plan, int rank, long long *sizes, long long *in_embed,
                           long long in_stride, long long in_distance, int in_type,
                           long long *out_embed, long long out_stride, long long out_distance,
                           int out_type, long long batches, size_t *workspace_bytes, int type)
{
    (void)plan, (void)rank, (void)sizes, (void)in_embed, (void)in_stride, (void)in_distance;
    (void)in_type, (void)out_embed, (void)out_stride, (void)out_distance, (void)out_type;
    (void)batches, (void)type;
    *workspace_bytes = 0;
    return SUCCESS;
}

SUCCEEDS(cufftDestroy)
SUCCEEDS(cufftSetAutoAllocation)
SUCCEEDS(cufftSetStream)
SUCCEEDS(cufftSetWorkArea)
WORKS(cufftXtExec)
