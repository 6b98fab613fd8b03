/* The interpreter lock, as take_gil() in CPython's Python/ceval_gil.c waits for it. */
#ifndef FG_CPYTHON_GIL_H
#define FG_CPYTHON_GIL_H

#include <pthread.h>

#include "arch/cpython/base/compat/python.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"

struct fg_gil {
    const struct _gil_runtime_state *state;
    PyInterpreterState *interp;
};

/* The one that this thread holds. -ENOTSUP, with *why: there is none, or it does not look as it should. */
int fg_gil_find(struct fg_gil *gil, const char **why);

static inline const pthread_cond_t *fg_gil_cond(const struct fg_gil *gil)
{
    return &gil->state->cond;
}

/* ---- all of these with the lock's own mutex held, as around a wait for `cond` */

/* Somebody holds it. */
static inline bool fg_gil_is_locked(const struct fg_gil *gil)
{
    return __atomic_load_n((const int *)&gil->state->locked, __ATOMIC_RELAXED) > 0;
}

/* Who holds it, or held it last. The thread state may be gone. */
static inline const PyThreadState *fg_gil_last_holder(const struct fg_gil *gil)
{
    return __atomic_load_n((PyThreadState *const *)&gil->state->last_holder, __ATOMIC_RELAXED);
}

/* Nobody holds it, and it stays so until the caller lets go of the mutex: what the interpreter's threads
 * run cannot change. The thread state is one of its, and was not freed. */
bool fg_gil_knows(const struct fg_gil *gil, const PyThreadState *tstate);

#endif
