/* Interpreters of this process: what the hooks keep for each. A function runs in one of them, and only
 * users that were registered there see it: an interpreter is a scope, with one domain
 * (engine/core/domain.h). */
#ifndef FG_CPYTHON_INTERP_H
#define FG_CPYTHON_INTERP_H

#include <stdatomic.h>

#include "arch/cpython/base/compat/python.h"
#include "engine/core/compiler.h"
#include "engine/core/function.h"

struct fg_c_functions;
struct fg_orphan;

/* Guarded by the interpreter's GIL, except for atomic members. Outlives the interpreter, as its function
 * records may. */
struct fg_interp {
    struct fg_domain domain; /* its functions point here; the interpreter itself is its users' scope */
    struct fg_interp *next;
    _Atomic(PyInterpreterState *) state; /* NULL: it has ended */
    bool is_main;
    bool is_installed;            /* its functions are hooked */
    bool is_ready;                /* functions can have records, see arch.c */
    bool has_code_index;          /* see code.c */
    bool hears_c_calls;           /* of all functions, see hooks.h; under FG_LOCK_EVENTS */
    unsigned holds;               /* threads about to register a user; under FG_LOCK_CONTROL */
    _Atomic(PyCodeObject *) gate; /* see gate.h; NULL: open */
    void *hooks;                  /* what the backend keeps */
    _Atomic(struct fg_c_functions *) c_functions; /* see cfunction.c */
    _Atomic(struct fg_orphan *) orphans;          /* see object.c */
};

/* The interpreter that this thread is in. NULL: memory is short. */
struct fg_interp *fg_interp_here(void);
/* The same; NULL also before the first fg_interp_here(). */
struct fg_interp *fg_interp_known(void);

/* The interpreter that a function runs in. */
static inline struct fg_interp *fg_func_interp(const struct fg_func *func)
{
    return fg_container_of(func->domain, struct fg_interp, domain);
}

static inline bool fg_interp_is_there(const struct fg_interp *interp)
{
    return atomic_load_explicit(&interp->state, memory_order_relaxed);
}

/* The interpreter is being finalized. From now on nobody is told of the calls in progress in it. */
void fg_interp_end(struct fg_interp *interp);

#endif
