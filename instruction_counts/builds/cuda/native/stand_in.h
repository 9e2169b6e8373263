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

#define INTERNAL __attribute__((visibility("hidden")))

/* Who hears what is asked of the device; nobody, where instructions are counted. Each library has
 * its own, which its `stand_in_listen` sets. What is heard is a text, of a kernel the function that
 * launches it.
 */
typedef void listener(const char *kind, const void *what);
INTERNAL extern listener *listening;

static inline void note(const char *kind, const void *what)
{
    if (listening != NULL)
        listening(kind, what);
}

/* A function that only asks the device to do something, or to be told something. */
#define SUCCEEDS(name) \
    status name(void) { return SUCCESS; }

/* The same, where that is heard: work that a library gives the device, and waiting for it. */
#define HEARD(name, kind)     \
    status name(void)         \
    {                         \
        note(kind, #name); \
        return SUCCESS;       \
    }
#define WORKS(name) HEARD(name, "library")
#define SYNCHRONISES(name) HEARD(name, "synchronisation")

/* Functions that make and remove what their library alone looks into. */
#define CREATES(name, bytes) \
    status name(void **made) { return (*made = calloc(1, bytes)) == NULL; }
#define DESTROYS(name)     \
    status name(void *made) \
    {                      \
        free(made);        \
        return SUCCESS;    \
    }
