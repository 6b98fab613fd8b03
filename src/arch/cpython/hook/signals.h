/* Calls that CPython makes for signals: of handlers, which it calls between two instructions of the main thread. What hears
 * of handlers stands before _signal.signal(), by which each of them comes. */
#ifndef FG_CPYTHON_SIGNALS_H
#define FG_CPYTHON_SIGNALS_H

#include "arch/cpython/base/compat/python.h"
#include "engine/core/function.h"
#include "engine/core/regs.h"

/* Functions that are handlers now, and those that become one, are marked for it (fg_func_set_irq), until the watch ends. In
 * the main interpreter. */
void fg_signals_watch(void);
void fg_signals_unwatch(void);

/* The call that begins is CPython's, of a handler, for a signal that came. */
bool fg_signals_is_irq(const struct ftrace_regs *regs);

#endif
