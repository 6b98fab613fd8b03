/* The interpreters of this process, and the data that the hooks keep for each. A function runs in one
 * interpreter, and only users registered there see it: an interpreter is a scope, with one domain
 * (engine/core/domain.h). */
#ifndef FG_CPYTHON_INTERP_H
#define FG_CPYTHON_INTERP_H

#include "arch/cpython/base/compat/python.h"

#include <stdatomic.h>

#include "engine/base/compiler.h"
#include "engine/core/function.h"

struct fg_c_functions;
struct fg_named_kprobe;
struct fg_orphan;

/* Guarded by the interpreter's GIL, except for atomic members. Outlives the interpreter, because its
 * function records may. */
struct fg_interp {
    /* its functions point here; users registered here have the interpreter as scope */
    struct fg_domain domain;
    struct fg_interp *next;
    _Atomic(PyInterpreterState *) state; /* NULL: it has ended */
    bool is_main;
    bool is_installed;   /* its functions are hooked */
    bool is_ready;       /* its functions can have records, see arch.c */
    bool has_code_index; /* see code.c */
    /* C call events are on for all functions, see hooks.h; under FG_LOCK_EVENTS */
    bool hooks_c_calls;
    unsigned raises[2];                    /* see raises.h; under FG_LOCK_EVENTS */
    bool traces_raises;                    /* see kprobe_trace.c */
    unsigned holds;                        /* threads about to register a user; under FG_LOCK_CONTROL */
    _Atomic(PyCodeObject *) gate;          /* see gate.h; NULL: open */
    _Atomic bool has_ended;                /* an instance has, see ended.h */
    void *hooks;                           /* data of the backend */
    PyObject *events;                      /* list, or NULL: those that are not closed; the binding's */
    PyObject *print_dump;                  /* prints an instance's trace (dump.h), or NULL; the binding's */
    void *native_kprobes;                  /* those of the C API; under FG_LOCK_CONTROL */
    struct fg_named_kprobe *named_kprobes; /* see kprobe_named.h; under FG_LOCK_DISCOVERY */
    _Atomic(struct fg_c_functions *) c_functions; /* see cfunction.c */
    _Atomic(struct fg_orphan *) orphans;          /* see object.c */
};

/* The interpreter that this thread is in, added if necessary. NULL: memory is short. */
struct fg_interp *fg_interp_here(void);
/* The same, but NULL before the first fg_interp_here(). */
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

/* Called when the interpreter is finalized. From now on the returns of its calls in progress are not
 * reported. */
void fg_interp_end(struct fg_interp *interp);

#endif
