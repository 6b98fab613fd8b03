/* The Python callback that runs in this thread. */
#ifndef FG_BINDING_CALLBACK_H
#define FG_BINDING_CALLBACK_H

#include "arch/cpython/base/callback.h"
#include "engine/core/function.h"
#include "engine/core/regs.h"

struct fg_buffer;
struct fg_client;
struct ftrace_graph_ent;
struct ftrace_graph_ret;

/* Lives on the C stack of the thread. A thread runs one callback at a time, except that a signal handler
 * that interrupts a callback may make calls which run another. */
struct fg_callback {
    struct fg_client *self;
    struct fg_func *func;
    struct ftrace_graph_ent *entry;     /* FgraphOps: the entry; NULL in a return callback */
    const struct ftrace_graph_ret *end; /* FgraphOps: the return; NULL in an entry callback */
    bool is_entry;
    struct ftrace_regs *regs;
    PyThreadState *tstate;
    fg_pyframe *newest;        /* the thread's newest frame when the callback began */
    struct fg_buffer *buffers; /* the views handed to it, latest first */
    struct fg_callback_scope scope;
};

/* The innermost callback of this thread that is a user's, or NULL. */
static inline struct fg_callback *fg_callback_current(void)
{
    return fg_callback_scope ? fg_callback_scope->holder : NULL;
}

#endif
