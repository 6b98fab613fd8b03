/* A task's second shadow stack, for the calls that a handler of a signal makes. The handler may have
 * interrupted the thread at any instruction, also in the middle of a push on the task's own stack. */
#ifndef FG_SIGNAL_STACK_H
#define FG_SIGNAL_STACK_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/core/root.h"

#define FG_SIGNAL_STACK_BYTES (64u << 10) /* touched only as used */
#define FG_SENTINEL_WORDS 8u              /* at least the words of one frame */

struct fg_signal_stack {
    /* By the user's slot: records of handlers that were lost since the thread last took a sub-buffer. */
    _Atomic uint64_t lost[FG_MAX_USERS];
    uint64_t zeros[FG_SENTINEL_WORDS]; /* no descriptor, as below a task's own stack */
    uint64_t words[];
};

static inline uint64_t *fg_signal_stack_end(struct fg_signal_stack *stack)
{
    return (uint64_t *)((char *)stack + FG_SIGNAL_STACK_BYTES);
}

/* Makes the current task's at the first call, and stores it in *place. NULL: no memory. Also in a handler
 * of a signal. */
struct fg_signal_stack *fg_signal_stack_make(struct fg_signal_stack **place);
void fg_signal_stack_free(struct fg_signal_stack *stack);

#endif
