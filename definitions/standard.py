"""The standard suite: what PyTorch's framework code costs, from one empty tensor to training.

The tensors are tiny, so that the work around the arithmetic is what is measured. Every statement
can be repeated as often as wanted: none lets memory, values or an autograd graph grow, and none
but those under "Random", or labelled as training with dropout, draws random numbers.
"""

from core.types import FlatIntermediateDefinition
from core.utils import flatten
from definitions import nn, tensors, training, views

BENCHMARKS: FlatIntermediateDefinition = flatten(
    {
        "Empty": tensors.EMPTY,
        "Pointwise": tensors.POINTWISE,
        "Comparison": tensors.COMPARISON,
        "Data movement": tensors.DATA_MOVEMENT,
        "Random": tensors.RANDOM,
        "Reduction": tensors.REDUCTION,
        "Indexing": views.INDEXING,
        "Metadata and views": views.METADATA_AND_VIEWS,
        "Join and split": views.JOIN_AND_SPLIT,
        "Sort and search": views.SORT_AND_SEARCH,
        "MatMul": nn.MATMUL,
        "nn Functional": nn.NN_FUNCTIONAL,
        "nn Modules": nn.NN_MODULES,
        "Losses": nn.LOSSES,
        "Mesoscale": training.MESOSCALE,
        "Training": training.TRAINING,
        "Optimizers": training.OPTIMIZERS,
        "InferenceMode": training.INFERENCE_MODE,
        "Dispatcher": training.DISPATCHER,
    }
)
