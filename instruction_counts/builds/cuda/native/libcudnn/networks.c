/* cuDNN: descriptors of what a network does, plans that carry it out, and normalisation.
 *
 * What a descriptor is told is not kept: each plan is found, and needs no workspace.
 */
#include "stand_in.h"

enum { DESCRIPTOR_BYTES = 256 };

size_t cudnnGetVersion(void) { return CUDNN_VERSION; }
size_t cudnnGetCudartVersion(void) { return CUDA_VERSION; }

status cudnnGetProperty(int which, int *value)
{
    const int version[] = {CUDNN_VERSION / 10000, CUDNN_VERSION / 100 % 100, CUDNN_VERSION % 100};
    *value = version[which % 3];
    return SUCCESS;
}

const char *cudnnGetErrorString(status error) { return error == SUCCESS ? "no error" : "error"; }

void cudnnGetLastErrorString(char *text, size_t bytes)
{
    if (bytes > 0)
        *text = 0;
}

/* Descriptors */

CREATES(cudnnCreate, DESCRIPTOR_BYTES)
SUCCEEDS(cudnnSetStream)

#define DESCRIPTOR(what)                                        \
    CREATES(cudnnCreate##what##Descriptor, DESCRIPTOR_BYTES) \
    DESTROYS(cudnnDestroy##what##Descriptor)

DESCRIPTOR(Activation)
DESCRIPTOR(Convolution)
DESCRIPTOR(CTCLoss)
DESCRIPTOR(Dropout)
DESCRIPTOR(Filter)
DESCRIPTOR(Pooling)
DESCRIPTOR(RNN)
DESCRIPTOR(RNNData)
DESCRIPTOR(SpatialTransformer)
DESCRIPTOR(Tensor)

SUCCEEDS(cudnnSetActivationDescriptor)
SUCCEEDS(cudnnSetConvolutionGroupCount)
SUCCEEDS(cudnnSetConvolutionMathType)
SUCCEEDS(cudnnSetConvolutionNdDescriptor)
SUCCEEDS(cudnnSetFilterNdDescriptor)
SUCCEEDS(cudnnSetPooling2dDescriptor)
SUCCEEDS(cudnnSetSpatialTransformerNdDescriptor)
SUCCEEDS(cudnnSetTensorNdDescriptor)

/* Plans of the back end */

enum { INT64 = 3, RESULTS_OF_HEURISTICS = 202, PLAN_TO_JSON = 300, PLAN_OF_ENGINE = 301 };

status cudnnBackendCreateDescriptor(int kind, void **made)
{
    (void)kind;
    return (*made = calloc(1, DESCRIPTOR_BYTES)) == NULL;
}

DESTROYS(cudnnBackendDestroyDescriptor)
SUCCEEDS(cudnnBackendSetAttribute)
SUCCEEDS(cudnnBackendFinalize)
SUCCEEDS(cudnnBackendExecute)

/* One configuration is found; whatever else is a number, such as a size, is 0. */
status cudnnBackendGetAttribute(
    void *of, int name, int type, int64_t most, int64_t *count, void *values)
{
    (void)of;
    int64_t found = name == RESULTS_OF_HEURISTICS || name == PLAN_OF_ENGINE || name == PLAN_TO_JSON;
    if (!found && type == INT64 && most == 1 && values != NULL) {
        *(int64_t *)values = 0;
        found = 1;
    }
    if (count != NULL)
        *count = found;
    return SUCCESS;
}

/* Convolutions by the functions that came before plans */

SUCCEEDS(cudnnConvolutionForward)
SUCCEEDS(cudnnConvolutionBackwardData)
SUCCEEDS(cudnnConvolutionBackwardFilter)
SUCCEEDS(cudnnConvolutionBiasActivationForward)

/* Pooling and normalisation */

SUCCEEDS(cudnnPoolingForward)
SUCCEEDS(cudnnBatchNormalizationForwardInference)
SUCCEEDS(cudnnBatchNormalizationForwardTrainingEx)
SUCCEEDS(cudnnBatchNormalizationBackwardEx)

status cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    void *handle, int mode, int operation, void *x, void *z, void *y, void *scale,
    void *activation, size_t *bytes)
{
    (void)handle, (void)mode, (void)operation, (void)x, (void)z, (void)y, (void)scale;
    (void)activation;
    *bytes = 0;
    return SUCCESS;
}

status cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    void *handle, int mode, int operation, void *x, void *y, void *dy, void *dz, void *dx,
    void *scale, void *activation, size_t *bytes)
{
    (void)handle, (void)mode, (void)operation, (void)x, (void)y, (void)dy, (void)dz, (void)dx;
    (void)scale, (void)activation;
    *bytes = 0;
    return SUCCESS;
}

status cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    void *handle, int mode, int operation, void *activation, void *x, size_t *bytes)
{
    (void)handle, (void)mode, (void)operation, (void)activation, (void)x;
    *bytes = 0;
    return SUCCESS;
}

/* Sampling of grids */

SUCCEEDS(cudnnSpatialTfGridGeneratorForward)
SUCCEEDS(cudnnSpatialTfGridGeneratorBackward)
SUCCEEDS(cudnnSpatialTfSamplerForward)
SUCCEEDS(cudnnSpatialTfSamplerBackward)
