/* A backend: one way of hooking CPython's functions. A build has exactly one: monitoring.c (3.12 and
 * later) or evalframe.c (3.11). */
#ifndef FG_CPYTHON_BACKEND_H
#define FG_CPYTHON_BACKEND_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/interp.h"

struct fg_func;

/* All members act on one interpreter, which the caller is in. */
struct fg_hook_backend {
    const char *name;
    /* Return: 0; -1 with an exception, and nothing is installed. */
    int (*install)(struct fg_interp *interp);
    void (*remove)(struct fg_interp *interp);
    /* Called when the interpreter ends: frees the backend's data. The hooks are removed already. */
    void (*end)(struct fg_interp *interp);
    /* Makes each hook follow the running greenlet (greenlet.h) before anything else, from now on. */
    void (*follow_greenlets)(struct fg_interp *interp);
    /* The sys.monitoring tool id in use, or -1. */
    int (*tool_id)(const struct fg_interp *interp);
    /* Makes the function's hooks match its users and probes. Under FG_LOCK_EVENTS. */
    void (*sync)(PyCodeObject *code, struct fg_func *func);
    /* Like sync, after a kprobe was added: also enables events again at places of the function where
     * the callback has returned DISABLE. Return: 0; -1 with an exception: the places stay disabled.
     * Under FG_LOCK_EVENTS. */
    int (*listen)(PyCodeObject *code, struct fg_func *func);
    /* Switches the hooks for calls of C functions on or off in the whole interpreter, as
     * interp->hooks_c_calls says. Under FG_LOCK_EVENTS. */
    void (*hook_c_calls)(struct fg_interp *interp);
    /* Reports exceptions, or no longer, as interp->raises says. Return: 0; -1 with an exception. Under
     * FG_LOCK_EVENTS. */
    int (*follow_raises)(struct fg_interp *interp);
};

/* The backend of this build. */
extern const struct fg_hook_backend fg_built_backend;

#endif
