/* Descriptors of tensors, which some functions fill and others look into. */
#pragma once
#include "stand_in.h"

enum { MOST_DIMENSIONS = 8 };

struct tensor {
    int type, dimensions;
    int sizes[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
};
