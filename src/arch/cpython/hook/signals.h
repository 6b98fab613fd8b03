/* Calls of signal handlers. CPython makes them in the main thread, between two instructions. Handlers
 * are found by replacing _signal.signal(), which installs every one of them. */
#ifndef FG_CPYTHON_SIGNALS_H
#define FG_CPYTHON_SIGNALS_H

#include "arch/cpython/base/compat/python.h"

#include "engine/core/function.h"
#include "engine/core/regs.h"

/* Marks the functions that are handlers now, and those that become one before fg_signals_unwatch()
 * (fg_func_set_irq). Call in the main interpreter. */
void fg_signals_watch(void);
void fg_signals_unwatch(void);

/* At an entry: true if CPython makes this call of a handler because of a signal. */
bool fg_signals_is_irq(const struct ftrace_regs *regs);

/* In a callback: true if a handler that interrupted it runs. @regs: of a call that begins or is resumed,
 * or NULL. */
bool fg_signals_is_in_handler(const struct ftrace_regs *regs);

#endif
