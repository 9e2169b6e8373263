/* cuDNN: descriptors of what a network does, plans that carry it out, and normalisation.
 *
 * Of what a descriptor is told, only sizes are kept: each plan is found, and needs no workspace.
 */
#include "descriptors.h"

enum { DESCRIPTOR_BYTES = 256, UNSUPPORTED = 3000 };

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

struct handle {
    void *stream;
};

CREATES(cudnnCreate, sizeof(struct handle))

status cudnnSetStream(struct handle *handle, void *stream)
{
    handle->stream = stream;
    return SUCCESS;
}

status cudnnGetStream(struct handle *handle, void **stream)
{
    *stream = handle->stream;
    return SUCCESS;
}

#define DESCRIPTOR(what)                                        \
    CREATES(cudnnCreate##what##Descriptor, DESCRIPTOR_BYTES) \
    DESTROYS(cudnnDestroy##what##Descriptor)

DESCRIPTOR(Activation)
DESCRIPTOR(Convolution)
DESCRIPTOR(CTCLoss)
DESCRIPTOR(Dropout)
DESCRIPTOR(Filter)
DESCRIPTOR(Pooling)
DESCRIPTOR(RNNData)
DESCRIPTOR(SpatialTransformer)

CREATES(cudnnCreateTensorDescriptor, sizeof(struct tensor))
DESTROYS(cudnnDestroyTensorDescriptor)

SUCCEEDS(cudnnSetActivationDescriptor)
SUCCEEDS(cudnnSetConvolutionGroupCount)
SUCCEEDS(cudnnSetConvolutionMathType)
SUCCEEDS(cudnnSetConvolutionNdDescriptor)
SUCCEEDS(cudnnSetFilterNdDescriptor)
SUCCEEDS(cudnnSetPooling2dDescriptor)
SUCCEEDS(cudnnSetSpatialTransformerNdDescriptor)

status cudnnSetTensorNdDescriptor(
    struct tensor *tensor, int type, int dimensions, const int *sizes, const int *strides)
{
    if (dimensions < 0 || dimensions > MOST_DIMENSIONS)
        return UNSUPPORTED;
    *tensor = (struct tensor){.type = type, .dimensions = dimensions};
    memcpy(tensor->sizes, sizes, (size_t)dimensions * sizeof *sizes);
    memcpy(tensor->strides, strides, (size_t)dimensions * sizeof *strides);
    return SUCCESS;
}

status cudnnGetTensorNdDescriptor(
    const struct tensor *tensor, int most, int *type, int *dimensions, int *sizes, int *strides)
{
    int given = tensor->dimensions < most ? tensor->dimensions : most;
    *type = tensor->type;
    *dimensions = tensor->dimensions;
    memcpy(sizes, tensor->sizes, (size_t)given * sizeof *sizes);
    memcpy(strides, tensor->strides, (size_t)given * sizeof *strides);
    return SUCCESS;
}

/* Plans of the back end */

enum { INT64 = 3, INT32 = 23 };                          /* types of attributes */
enum { RESULTS_OF_HEURISTICS = 202, ENGINE_OF_CONFIGURATION = 300 }; /* attributes */

status cudnnBackendCreateDescriptor(int kind, void **made)
{
    (void)kind;
    return (*made = calloc(1, DESCRIPTOR_BYTES)) == NULL;
}

DESTROYS(cudnnBackendDestroyDescriptor)
SUCCEEDS(cudnnBackendSetAttribute)
SUCCEEDS(cudnnBackendFinalize)
WORKS(cudnnBackendExecute)

/* One configuration is found; whatever is a number, such as a size, is 0. */
status cudnnBackendGetAttribute(
    void *of, int name, int type, int64_t most, int64_t *count, void *values)
{
    (void)of;
    int is_number = (type == INT64 || type == INT32) && most == 1 && values != NULL;
    if (is_number)
        memset(values, 0, type == INT64 ? sizeof(int64_t) : sizeof(int32_t));
    if (count != NULL)
        *count = is_number || name == RESULTS_OF_HEURISTICS || name == ENGINE_OF_CONFIGURATION;
    return SUCCESS;
}

/* Convolutions by the functions that came before plans */

WORKS(cudnnConvolutionForward)
WORKS(cudnnConvolutionBackwardData)
WORKS(cudnnConvolutionBackwardFilter)
WORKS(cudnnConvolutionBiasActivationForward)

/* Pooling and normalisation */

WORKS(cudnnPoolingForward)
WORKS(cudnnBatchNormalizationForwardInference)
WORKS(cudnnBatchNormalizationForwardTrainingEx)
WORKS(cudnnBatchNormalizationBackwardEx)

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

WORKS(cudnnSpatialTfGridGeneratorForward)
WORKS(cudnnSpatialTfGridGeneratorBackward)
WORKS(cudnnSpatialTfSamplerForward)
WORKS(cudnnSpatialTfSamplerBackward)
