/* See signal_stack.h. */
#define _GNU_SOURCE
#include "engine/core/signal_stack.h"

#include <sys/mman.h>

/* mmap(2) takes no lock of the C library. A second signal may arrive before the first one's handler has
 * stored its mapping. */
struct fg_signal_stack *fg_signal_stack_make(struct fg_signal_stack **place)
{
    void *mapping;

    if (*place)
        return *place;
    mapping = mmap(NULL, FG_SIGNAL_STACK_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    if (!*place)
        *place = mapping;
    else
        munmap(mapping, FG_SIGNAL_STACK_BYTES);
    return *place;
}

void fg_signal_stack_free(struct fg_signal_stack *stack)
{
    if (stack)
        munmap(stack, FG_SIGNAL_STACK_BYTES);
}
