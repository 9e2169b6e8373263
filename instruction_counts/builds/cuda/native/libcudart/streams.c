/* Streams, events and graphs: all that a stream is given is done at once. */
#include "runtime.h"

INTERNAL void *new_handle(void)
{
    static uintptr_t last = 0x1000;
    return (void *)__atomic_add_fetch(&last, 16, __ATOMIC_RELAXED);
}

static status make(void **handle)
{
    *handle = new_handle();
    return SUCCESS;
}

/* Streams */

status cudaStreamCreate(void **stream) { return make(stream); }
status cudaStreamCreateWithFlags(void **stream) { return make(stream); }
status cudaStreamCreateWithPriority(void **stream) { return make(stream); }
SUCCEEDS(cudaStreamDestroy)
SUCCEEDS(cudaStreamQuery)
SYNCHRONISES(cudaStreamSynchronize)
SUCCEEDS(cudaStreamWaitEvent)

status cudaStreamGetPriority(void *stream, int *priority)
{
    (void)stream;
    *priority = 0;
    return SUCCESS;
}

status cudaDeviceGetStreamPriorityRange(int *lowest, int *highest)
{
    if (lowest != NULL)
        *lowest = 0;
    if (highest != NULL)
        *highest = -5;
    return SUCCESS;
}

status cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data)
{
    (void)stream;
    function(data);
    return SUCCESS;
}

status cudaStreamAddCallback(void *stream, void (*function)(void *, status, void *), void *data)
{
    function(stream, SUCCESS, data);
    return SUCCESS;
}

/* Events */

status cudaEventCreate(void **event) { return make(event); }
status cudaEventCreateWithFlags(void **event) { return make(event); }
SUCCEEDS(cudaEventDestroy)
SUCCEEDS(cudaEventQuery)
SUCCEEDS(cudaEventRecord)
SUCCEEDS(cudaEventRecordWithFlags)
SYNCHRONISES(cudaEventSynchronize)

status cudaEventElapsedTime(float *time_ms, void *start, void *end)
{
    (void)start, (void)end;
    *time_ms = 1.0F; /* invented: nothing takes time on this device */
    return SUCCESS;
}

/* Graphs: one stream is captured at a time. */

struct graph {
    size_t nodes;
};

static void *const no_stream = (void *)-1;
static void *captured = (void *)-1;
static struct graph *growing;
static unsigned long long captures;

INTERNAL void did_work(void)
{
    if (growing != NULL)
        growing->nodes++;
}

static status begin(void *stream, struct graph *graph)
{
    if (growing != NULL || graph == NULL)
        return failed_with(INVALID_VALUE);
    captured = stream;
    growing = graph;
    captures++;
    return SUCCESS;
}

status cudaStreamBeginCapture(void *stream, int mode)
{
    (void)mode;
    return begin(stream, calloc(1, sizeof(struct graph)));
}

status cudaStreamBeginCaptureToGraph(void *stream, struct graph *graph)
{
    return begin(stream, graph);
}

status cudaStreamEndCapture(void *stream, struct graph **graph)
{
    *graph = stream == captured ? growing : NULL;
    if (*graph == NULL)
        return failed_with(INVALID_VALUE);
    captured = no_stream;
    growing = NULL;
    return SUCCESS;
}

status cudaStreamIsCapturing(void *stream, int *is_capturing)
{
    *is_capturing = stream == captured;
    return SUCCESS;
}

status cudaStreamGetCaptureInfo(void *stream, int *is_capturing, unsigned long long *number,
                                struct graph **graph, void **nodes, void **edges, size_t *count)
{
    if (is_capturing != NULL)
        *is_capturing = stream == captured;
    if (number != NULL)
        *number = captures;
    if (graph != NULL)
        *graph = growing;
    if (nodes != NULL)
        *nodes = NULL;
    if (edges != NULL)
        *edges = NULL;
    if (count != NULL)
        *count = 0;
    return SUCCESS;
}

status cudaThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int current;
    int before = current;
    current = *mode;
    *mode = before;
    return SUCCESS;
}

status cudaGraphGetNodes(struct graph *graph, void **nodes, size_t *count)
{
    if (nodes == NULL)
        *count = graph->nodes;
    for (size_t number = 0; nodes != NULL && number < *count; number++)
        nodes[number] = new_handle();
    return SUCCESS;
}

status cudaGraphInstantiate(void **executable) { return make(executable); }
status cudaGraphInstantiateWithFlags(void **executable) { return make(executable); }

status cudaGraphLaunch(void)
{
    note("launch", "a graph");
    return SUCCESS;
}

DESTROYS(cudaGraphDestroy)
SUCCEEDS(cudaGraphExecDestroy)
SUCCEEDS(cudaGraphRetainUserObject)
SUCCEEDS(cudaUserObjectRelease)
SUCCEEDS(cudaDeviceSetGraphMemAttribute)

status cudaUserObjectCreate(void **object) { return make(object); }
