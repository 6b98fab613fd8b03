/* The gate: hooks of an interpreter do nothing while its start-up code, the `site` module, runs. */
#ifndef FG_CPYTHON_GATE_H
#define FG_CPYTHON_GATE_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/interp.h"
#include "arch/cpython/hook/slow_path.h"
#include "engine/base/compiler.h"

/**
 * fg_gate_wait_for_site() - Shut the gate until site.main() returns.
 *
 * Does nothing if site.main() is not among the caller's callers.
 */
void fg_gate_wait_for_site(void);

/* Opens the gate for good. */
void fg_gate_open(struct fg_interp *interp);

FG_COLD bool fg_gate_check_slow(PyThreadState *tstate);

/**
 * fg_gate_check() - Check whether the gate is shut; open it if start-up code has ended.
 * @tstate: the calling thread's
 *
 * Return: true if the gate is shut: do not trace the call.
 */
static inline bool fg_gate_check(PyThreadState *tstate)
{
    return fg_slow_path_is_forced() && fg_gate_check_slow(tstate);
}

#endif
