/* The interpreter lock, as take_gil() in CPython's Python/ceval_gil.c waits for it. */
#ifndef FG_CPYTHON_GIL_H
#define FG_CPYTHON_GIL_H

#include "arch/cpython/base/compat/python.h"

#include <pthread.h>

#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"

struct fg_gil {
    const struct _gil_runtime_state *state;
    PyInterpreterState *interp;
};

/**
 * fg_gil_find() - Find the interpreter lock that this thread holds.
 * @why: set with -ENOTSUP: why the lock cannot be used
 *
 * Return: 0; -ENOTSUP: this process has no such lock, or its layout is not the expected one.
 */
int fg_gil_find(struct fg_gil *gil, const char **why);

static inline const pthread_cond_t *fg_gil_cond(const struct fg_gil *gil)
{
    return &gil->state->cond;
}

/* ---- call the following with the lock's own mutex held, as around a wait for `cond` */

/* True if a thread holds the lock. */
static inline bool fg_gil_is_locked(const struct fg_gil *gil)
{
    return __atomic_load_n((const int *)&gil->state->locked, __ATOMIC_RELAXED) > 0;
}

/* The thread state that holds the lock, or held it last. It may have been freed. */
static inline const PyThreadState *fg_gil_last_holder(const struct fg_gil *gil)
{
    return __atomic_load_n((PyThreadState *const *)&gil->state->last_holder, __ATOMIC_RELAXED);
}

/* True if @tstate is a thread state of the lock's interpreter and was not freed. Call while no thread
 * holds the lock. No thread can take it until the caller releases the mutex, so the interpreter's
 * frames do not change. */
bool fg_gil_knows(const struct fg_gil *gil, const PyThreadState *tstate);

#endif
