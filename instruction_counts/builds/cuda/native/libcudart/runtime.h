/* What the parts of the runtime's stand-in share. */
#pragma once
#include "stand_in.h"

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101 };

INTERNAL status failed_with(status error);

/* A launch or a copy: a graph that is being captured grows by a node. */
INTERNAL void did_work(void);

INTERNAL void *new_handle(void);
