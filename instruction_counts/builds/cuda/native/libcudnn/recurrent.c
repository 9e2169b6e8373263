/* Recurrent networks: how large their weights are, and where each of them lies.
 *
 * All weights of all layers come first, then all biases. Projections are unknown here.
 */
#include "descriptors.h"

enum { BAD_PARAMETER = 2000 };
enum { LSTM = 2, GRU = 3 };                  /* kinds of cells; others have one gate */
enum { HALF = 2, DOUBLE = 1, BFLOAT16 = 9 }; /* types; others have 4 bytes */

struct network {
    int cell, has_bias, is_bidirectional, type, inputs, hidden, layers;
};

CREATES(cudnnCreateRNNDescriptor, sizeof(struct network))
DESTROYS(cudnnDestroyRNNDescriptor)

status cudnnSetRNNDescriptor_v8(struct network *network, int algorithm, int cell, int bias,
                                int direction, int input_mode, int type, int precision,
                                int math_type, int inputs, int hidden, int projected, int layers,
                                void *dropout, unsigned flags)
{
    (void)algorithm, (void)input_mode, (void)precision, (void)math_type, (void)dropout, (void)flags;
    if (projected != hidden)
        return BAD_PARAMETER;
    *network = (struct network){cell, bias != 0, direction, type, inputs, hidden, layers};
    return SUCCESS;
}

static size_t element_bytes(const struct network *network)
{
    switch (network->type) {
    case HALF: case BFLOAT16: return 2;
    case DOUBLE: return 8;
    default: return 4;
    }
}

static int gates(const struct network *network)
{
    return network->cell == LSTM ? 4 : network->cell == GRU ? 3 : 1;
}

static int directions(const struct network *network) { return network->is_bidirectional ? 2 : 1; }

static int inputs_of(const struct network *network, int layer)
{
    return layer < directions(network) ? network->inputs : network->hidden * directions(network);
}

/* Elements in the matrices of the layers before one: of each direction, which count as layers. */
static size_t elements_before(const struct network *network, int layer)
{
    size_t elements = 0;
    for (int before = 0; before < layer; before++)
        elements += (size_t)(inputs_of(network, before) + network->hidden);
    return elements * (size_t)(gates(network) * network->hidden);
}

static size_t elements_of_matrices(const struct network *network)
{
    return elements_before(network, network->layers * directions(network));
}

status cudnnGetRNNWeightSpaceSize(void *handle, const struct network *network, size_t *bytes)
{
    (void)handle;
    size_t biases = network->has_bias ? (size_t)(network->layers * directions(network)) : 0;
    biases *= 2 * (size_t)(gates(network) * network->hidden);
    *bytes = (elements_of_matrices(network) + biases) * element_bytes(network);
    return SUCCESS;
}

/* Describe what lies at a place in the weights, to who asked for it. */
static void tell(const struct network *network, char *weights, size_t element, int rows,
                 int columns, struct tensor *tensor, char **address)
{
    if (tensor != NULL)
        *tensor = (struct tensor){
            network->type, 3, {1, rows, columns}, {rows * columns, columns, 1}};
    if (address != NULL)
        *address = rows > 0 ? weights + element * element_bytes(network) : NULL;
}

/* Of the gates, those of the input come first, then those of the hidden state. */
status cudnnGetRNNWeightParams(void *handle, const struct network *network, int layer,
                               size_t bytes, char *weights, int which, struct tensor *matrix,
                               char **matrix_address, struct tensor *bias, char **bias_address)
{
    (void)handle, (void)bytes;
    int hidden = network->hidden, inputs = inputs_of(network, layer);
    int of_input = which < gates(network) ? which : gates(network);
    int of_hidden = which - of_input;
    size_t before = elements_before(network, layer);
    before += (size_t)hidden * (size_t)(of_input * inputs + of_hidden * hidden);
    int columns = which < gates(network) ? inputs : hidden;
    tell(network, weights, before, hidden, columns, matrix, matrix_address);
    before = elements_of_matrices(network);
    before += (size_t)hidden * (size_t)(layer * 2 * gates(network) + which);
    tell(network, weights, before, network->has_bias ? hidden : 0, 1, bias, bias_address);
    return SUCCESS;
}

status cudnnGetRNNTempSpaceSizes(void *handle, void *network, int mode, void *input,
                                 size_t *workspace_bytes, size_t *reserved_bytes)
{
    (void)handle, (void)network, (void)mode, (void)input;
    if (workspace_bytes != NULL)
        *workspace_bytes = 0;
    if (reserved_bytes != NULL)
        *reserved_bytes = 0;
    return SUCCESS;
}

status cudnnDropoutGetStatesSize(void *handle, size_t *bytes)
{
    (void)handle;
    *bytes = 0;
    return SUCCESS;
}

SUCCEEDS(cudnnSetDropoutDescriptor)
SUCCEEDS(cudnnRestoreDropoutDescriptor)
SUCCEEDS(cudnnSetRNNDataDescriptor)
WORKS(cudnnRNNForward)
WORKS(cudnnRNNBackwardData_v8)
WORKS(cudnnRNNBackwardWeights_v8)
