/* What a static event tells at a hit: the values that its name and `$argN` stand for. */
#ifndef FG_CPYTHON_FETCH_EVENT_VALUES_H
#define FG_CPYTHON_FETCH_EVENT_VALUES_H

#include "arch/cpython/read/regs.h"
#include "arch/cpython/value/fetched.h"

/* The regs of a hit (fg_event_values_regs_ops). */
struct fg_event_values {
    struct ftrace_regs regs;
    uint32_t n;
    const struct fg_fetched *values;
};

static inline bool fg_regs_has_event_values(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_event_values_regs_ops;
}

/* Value @n, from 0. */
static inline struct fg_fetched fg_event_value(const struct ftrace_regs *regs, int64_t n)
{
    const struct fg_event_values *event = (const struct fg_event_values *)regs;

    return n >= 0 && n < event->n ? event->values[n] : fg_fetched_fault();
}

#endif
