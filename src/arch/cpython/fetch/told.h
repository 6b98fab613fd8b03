/* What a static event tells at a hit: the values that its name and `$argN` stand for. */
#ifndef FG_CPYTHON_FETCH_TOLD_H
#define FG_CPYTHON_FETCH_TOLD_H

#include "arch/cpython/fetch/fetched.h"
#include "arch/cpython/read/regs.h"

/* The regs of a hit (fg_told_regs_ops). */
struct fg_told {
    struct ftrace_regs regs;
    uint32_t n;
    const struct fg_fetched *values;
};

static inline bool fg_regs_is_told(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_told_regs_ops;
}

/* Value @n, from 0. */
static inline struct fg_fetched fg_told_value(const struct ftrace_regs *regs, int64_t n)
{
    const struct fg_told *told = (const struct fg_told *)regs;

    return n >= 0 && n < told->n ? told->values[n] : fg_fetched_fault();
}

#endif
