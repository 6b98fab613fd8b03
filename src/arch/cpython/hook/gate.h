/* Reasons for a further look at each call, and the one of them that all ways of hooking have: the gate, which is shut while an
 * interpreter's start-up code runs. */
#ifndef FG_CPYTHON_GATE_H
#define FG_CPYTHON_GATE_H

#include "arch/cpython/base/compat/python.h"
#include "arch/cpython/base/interp.h"
#include "engine/core/compiler.h"

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

/* The gate is open for good. */
void fg_cpython_open_gate(struct fg_interp *interp);

#endif
