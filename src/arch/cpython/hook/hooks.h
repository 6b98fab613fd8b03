/* What a way of hooking CPython provides, and making a function's hooks match its users. Two ways stand behind one interface:
 * monitoring.c (3.12+) and evalframe.c (3.11). */
#ifndef FG_CPYTHON_HOOKS_H
#define FG_CPYTHON_HOOKS_H

#include "arch/cpython/base/compat/python.h"
#include "arch/cpython/base/interp.h"
#include "engine/graph/fgraph.h"

struct fg_cpython_hooks {
    const char *name;
    /* All for one interpreter, which the caller is in. -1 with an exception, and then nothing is installed. */
    int (*install)(struct fg_interp *interp);
    void (*remove)(struct fg_interp *interp);
    /* Lets go of what it keeps. Not installed. */
    void (*end)(struct fg_interp *interp);
    /* From now on each hook looks who runs (greenlet.h) before it does anything. */
    void (*follow_greenlets)(struct fg_interp *interp);
    int (*tool_id)(const struct fg_interp *interp); /* the sys.monitoring id in use, or -1 */
    /* What is heard of a function to what is wanted. Under FG_LOCK_EVENTS. */
    void (*sync)(PyCodeObject *code, struct fg_func *func);
    /* The same, after a probe came: places within the function that were given up are heard of again. -1 with an
     * exception: they are not. */
    int (*listen)(PyCodeObject *code, struct fg_func *func);
    /* Calls of C functions are heard wherever they are made, as interp->hears_c_calls says from now on, or no more. Under
     * FG_LOCK_EVENTS. */
    void (*hear_c_calls)(struct fg_interp *interp);
};

extern const struct fg_cpython_hooks fg_cpython_hooks;

/* As struct fg_arch_ops asks: begin takes FG_LOCK_EVENTS, under which a function's sync is, and end gives it back. */
void fg_cpython_sync_begin(void);
void fg_cpython_sync_end(void);
void fg_cpython_sync_func(struct fg_func *func);

/* From now on functions' hooks are set, or no more. */
void fg_cpython_set_installed(struct fg_interp *interp, bool on);

/* Makes the hooks of a function that was just met. */
void fg_cpython_sync_new(PyCodeObject *code, struct fg_func *func);
void fg_cpython_sync_new_c(struct fg_func *func);
/* What the way of hooking does, for a function that may end meanwhile. */
void fg_cpython_sync(struct fg_func *func);
int fg_cpython_listen(struct fg_func *func);

/* C functions are traced for the callers of this function: some user of it wants them. */
bool fg_cpython_wants_c_calls(struct fg_func *func);
/* A call of a C function by this one (NULL: it was not met yet) has to be told: some user wants it wherever it is called,
 * or what the caller calls. */
bool fg_cpython_wants_c_call(struct fg_func *func, struct fg_func *caller);

#endif
