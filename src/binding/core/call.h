/* How a Python callback begins and ends, and what its result means. All of this runs at each call of a
 * traced function. */
#ifndef FG_BINDING_CALL_H
#define FG_BINDING_CALL_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/reference.h"
#include "arch/cpython/base/tstate.h"
#include "binding/core/callback.h"
#include "binding/core/client.h"
#include "binding/core/view.h"
#include "engine/core/task.h"

#define FG_ALWAYS_INLINE __attribute__((always_inline)) static inline

/* The callback may unregister and drop its own object: the reference taken here keeps the object until
 * the callback ends.
 *
 * The caller sets `entry` and `end` if anything reads them. */
static inline void fg_callback_enter(struct fg_callback *callback, struct fg_client *self,
                                     struct fg_func *func, struct ftrace_regs *regs, bool is_entry)
{
    /* Member by member: clearing the whole struct costs more than all of this. */
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
        fg_views_settle(callback);
    fg_callback_end(&callback->scope, callback->tstate);
    fg_object_release((PyObject *)callback->self);
}

/* What a callback's result means. Both steal the reference; NULL means that the callback raised. Return:
 * -1 with an exception. */

FG_ALWAYS_INLINE int fg_truth_of(PyObject *result)
{
    int truth;

    if (fg_unlikely(!result))
        return -1;
    if (fg_likely(result == Py_True)) {
        fg_singleton_release(result);
        return 1;
    }
    truth = result == Py_False || result == Py_None ? 0 : PyObject_IsTrue(result);
    Py_DECREF(result);
    return truth;
}

FG_ALWAYS_INLINE int fg_nothing_of(PyObject *result)
{
    if (fg_unlikely(!result))
        return -1;
    Py_DECREF(result);
    return 0;
}

/* A thread that ends has detached its thread state, so the hook has no thread state to give: a callback
 * must attach one first (fg_callback_attach). */
static inline bool fg_callback_needs_attach(const struct fg_task *task, const struct ftrace_regs *regs)
{
    return fg_unlikely(!regs->thread) && task->exiting;
}

#endif
