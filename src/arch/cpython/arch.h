/* The CPython arch: turns "this Python function is entered, returns, gives way, runs again" into engine calls.
 * Two ways to do it stand behind one interface: monitoring.c (3.12+) and evalframe.c (3.11). */
#ifndef FG_CPYTHON_ARCH_H
#define FG_CPYTHON_ARCH_H

#include "compat.h"
#include "engine/fgraph.h"
#include "interp.h"
#include "lock.h"

/* What a way of hooking provides. */
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
    /* Calls of C functions are heard wherever they are made, as interp->hears_c_calls says from now on, or no more. Under
     * FG_LOCK_EVENTS. */
    void (*hear_c_calls)(struct fg_interp *interp);
    /* The same, after a probe came: places within the function that were given up are heard of again. -1 with an
     * exception: they are not. */
    int (*listen)(PyCodeObject *code, struct fg_func *func);
};

extern const struct fg_cpython_hooks fg_cpython_hooks;

/* Brings up the engine, if it is not: functions can have records. -1 with an exception. Under FG_LOCK_CONTROL, as the next
 * two. */
int fg_cpython_init(struct fg_interp *interp);
/* And the hooks in this interpreter. */
int fg_cpython_start(struct fg_interp *interp);
/* Takes the hooks out when no user of this interpreter needs them any more. */
void fg_cpython_stop(struct fg_interp *interp);
int fg_cpython_tool_id(void);
/* This interpreter, which is not the main one, is ending; its users have left. */
void fg_cpython_end(struct fg_interp *interp);

/* Hooks do nothing while the `site` module's start-up code, which the caller must be in, is running. */
void fg_cpython_wait_for_site(void);

/* How many reasons there are for a further look at each call: interpreters that have a shut gate. And with the frame
 * evaluator's hook (3.11): interpreters that have it beside another, where code objects of frozen modules are one for
 * all interpreters; greenlets; a user that wants C functions. While there is one, no call is plain (fgraph.h). */
extern _Atomic unsigned fg_cpython_needs_look;
void fg_cpython_look(void); /* one more */
void fg_cpython_look_no_more(void);
FG_COLD bool fg_cpython_gate_is_shut(PyThreadState *tstate);

static inline bool fg_cpython_looks(void)
{
    return fg_unlikely(atomic_load_explicit(&fg_cpython_needs_look, memory_order_relaxed) != 0);
}

/* True while nothing is to be traced yet. */
static inline bool fg_cpython_gated(PyThreadState *tstate)
{
    return fg_cpython_looks() && fg_cpython_gate_is_shut(tstate);
}

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

void fg_cpython_task_name(struct fg_task *task, char *out, size_t room);
/* Names a thread that was just met by the frame it is about to run, where that is not linked to it yet (3.11). */
void fg_cpython_task_name_first(struct fg_task *task, fg_pyframe *frame);

#endif
