/* The current task of this thread, and how the thread hides from hooks of native functions: while it is in
 * the middle of what a traced call needs, the native calls that it makes are the engine's, and not traced. */
#ifndef FG_SELF_H
#define FG_SELF_H

#include <stdatomic.h>
#include <stddef.h>

struct fg_task;

/* initial-exec: one load instead of a call. */
extern _Thread_local struct fg_task *fg_task_self __attribute__((tls_model("initial-exec")));
/* The same for hooks of native functions: NULL also while the thread hides. */
extern _Thread_local struct fg_task *fg_native_task __attribute__((tls_model("initial-exec")));
/* How often the thread hides: once for each mutex that it holds (mutex.h), and while it is in code of the
 * arch of native functions (arch/native/call.c). */
extern _Thread_local unsigned fg_native_holds __attribute__((tls_model("initial-exec")));

/* The order of the two steps matters to handlers of signals, which may do the same between any two
 * instructions. */
static inline void fg_self_set(struct fg_task *task)
{
    fg_task_self = task;
    atomic_signal_fence(memory_order_seq_cst);
    fg_native_task = fg_native_holds ? NULL : task;
}

/* A handler that runs between the steps finds the thread as it was, but for the slow path of hooks: nothing
 * is held yet. */
static inline void fg_native_hide(void)
{
    fg_native_holds++;
    atomic_signal_fence(memory_order_seq_cst);
    fg_native_task = NULL;
    atomic_signal_fence(memory_order_seq_cst);
}

static inline void fg_native_show(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    fg_native_holds--;
    atomic_signal_fence(memory_order_seq_cst);
    if (!fg_native_holds)
        fg_native_task = fg_task_self;
}

#endif
