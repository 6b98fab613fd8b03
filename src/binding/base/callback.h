/* What all callbacks have in common: how one begins and ends, and what a Python function's answer means. Part of the way of
 * each call of a traced function. */
#ifndef FG_FGRAPH_CALLBACK_H
#define FG_FGRAPH_CALLBACK_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/reference.h"
#include "arch/cpython/base/tstate.h"
#include "binding/base/binding.h"

#define FG_ALWAYS_INLINE __attribute__((always_inline)) static inline

/* The client may leave, and go, while its own function runs: a reference is held for as long.
 *
 * `entry` and `end` are the caller's to set if anything reads them. */
static inline void fg_callback_enter(struct fg_callback *callback, struct fg_client *self,
                                     struct fg_func *func, struct ftrace_regs *regs, bool is_entry)
{
    /* Member by member: clearing it as a whole costs more than all of this. */
    callback->tstate = fg_likely(regs->thread != NULL) ? regs->thread : fg_tstate();
    callback->newest = fg_current_pyframe(callback->tstate);
    callback->self = self;
    fg_object_hold((PyObject *)self);
    callback->func = func;
    callback->is_entry = is_entry;
    callback->regs = regs;
    callback->buffers = NULL;
    fg_callback_begin(&callback->scope, callback, callback->tstate, callback->newest);
}

static inline void fg_callback_leave(struct fg_callback *callback)
{
    if (fg_unlikely(callback->buffers != NULL))
        fg_buffers_settle(callback);
    fg_callback_end(&callback->scope, callback->tstate);
    fg_object_release((PyObject *)callback->self);
}

/* What a function's answer means: -1, with an exception, if nothing. Take over the reference; NULL: there is an
 * exception already. */

FG_ALWAYS_INLINE int fg_truth_of(PyObject *answer)
{
    int truth;

    if (fg_unlikely(!answer))
        return -1;
    if (fg_likely(answer == Py_True)) {
        fg_singleton_release(answer);
        return 1;
    }
    truth = answer == Py_False || answer == Py_None ? 0 : PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return truth;
}

FG_ALWAYS_INLINE int fg_nothing_of(PyObject *answer)
{
    if (fg_unlikely(!answer))
        return -1;
    Py_DECREF(answer);
    return 0;
}

/* The thread is ending: it has let go of Python, and nobody knows its thread state. */
static inline bool fg_callback_needs_attach(const struct fg_task *task, const struct ftrace_regs *regs)
{
    return fg_unlikely(!regs->thread) && task->exiting;
}

#endif
