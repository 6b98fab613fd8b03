/* A backend: one way of hooking CPython's functions. A build has one, monitoring.c (3.12 and later) or
 * evalframe.c (3.11). */
#ifndef FG_CPYTHON_BACKEND_H
#define FG_CPYTHON_BACKEND_H

#include "arch/cpython/base/compat/python.h"
#include "arch/cpython/base/interp.h"

struct fg_func;

/* All of these are for one interpreter, which the caller is in. */
struct fg_hook_backend {
    const char *name;
    /* -1 with an exception, and then nothing is installed. */
    int (*install)(struct fg_interp *interp);
    void (*remove)(struct fg_interp *interp);
    /* The interpreter ends: frees what the backend keeps of it. It is not installed. */
    void (*end)(struct fg_interp *interp);
    /* From now on each hook follows the running greenlet (greenlet.h) before it does anything else. */
    void (*follow_greenlets)(struct fg_interp *interp);
    /* The sys.monitoring tool id in use, or -1. */
    int (*tool_id)(const struct fg_interp *interp);
    /* Makes the function's hooks match its users and probes. Under FG_LOCK_EVENTS. */
    void (*sync)(PyCodeObject *code, struct fg_func *func);
    /* The same, after a kprobe came: events at places within the function that answered DISABLE come
     * again. -1 with an exception: they do not. Under FG_LOCK_EVENTS. */
    int (*listen)(PyCodeObject *code, struct fg_func *func);
    /* Turns hooks for calls of C functions on or off in the whole interpreter, as interp->hears_c_calls
     * says. Under FG_LOCK_EVENTS. */
    void (*hear_c_calls)(struct fg_interp *interp);
};

/* The backend of this build. */
extern const struct fg_hook_backend fg_built_backend;

#endif
