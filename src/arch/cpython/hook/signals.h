/* Calls of signal handlers, which CPython makes between two instructions of the main thread. Handlers are
 * found by replacing _signal.signal(), which sets each of them. */
#ifndef FG_CPYTHON_SIGNALS_H
#define FG_CPYTHON_SIGNALS_H

#include "arch/cpython/base/compat/python.h"
#include "engine/core/function.h"
#include "engine/core/regs.h"

/* Marks functions that are handlers now, and those that become one until fg_signals_unwatch()
 * (fg_func_set_irq). In the main interpreter. */
void fg_signals_watch(void);
void fg_signals_unwatch(void);

/* At an entry: CPython makes this call of a handler, for a signal. */
bool fg_signals_is_irq(const struct ftrace_regs *regs);

#endif
