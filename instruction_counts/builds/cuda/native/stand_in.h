/* What all stand-ins for CUDA's libraries have in common.
 *
 * Prototypes are our own, written from the documented interfaces: no header of CUDA is needed, at
 * compile time either. Each function costs the same whenever it is called with the same arguments,
 * and none computes anything: there is no device.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device.h" /* made of the description of the device */

typedef int status;
enum { SUCCESS = 0 }; /* in each of these libraries */

/* A function that only asks the device to do something, or to be told something. */
#define SUCCEEDS(name) \
    status name(void) { return SUCCESS; }

/* Functions that make and remove what their library alone looks into. */
#define CREATES(name, bytes) \
    status name(void **made) { return (*made = calloc(1, bytes)) == NULL; }
#define DESTROYS(name)     \
    status name(void *made) \
    {                      \
        free(made);        \
        return SUCCESS;    \
    }
