/* Domains: where functions come from, and which users see them.
 *
 * Each function belongs to a domain: that of one Python interpreter, or that of the process's native
 * functions. A domain names its scope and its arch, which hooks its functions. A user has a scope as
 * well, and sees the functions of
 *
 *     - domains of its own scope (a Python interpreter is a scope: subinterpreters stay apart);
 *     - domains that are global, whatever the user's scope.
 *
 * So one user can trace functions of several arches in one call graph. */
#ifndef FG_DOMAIN_H
#define FG_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>

struct fg_func;
struct ftrace_regs;
struct fg_domain;

/* What the engine calls in an arch. */
struct fg_arch_ops {
    const char *name;
    /* Makes a function's hooks match its users. Called without the engine's locks, between sync_begin and
     * sync_end. Meanwhile the record may have been reused for another function of this arch. */
    void (*sync)(struct fg_func *func);
    void (*sync_begin)(void);
    void (*sync_end)(void);
    /* Optional. Releases an object that fgraph_reserve_object() or a function record of that domain kept.
     * Any thread, at any time, without locks. */
    void (*drop_object)(void *object, struct fg_domain *domain);
    /* Optional. Asked when a call begins while a callback runs. True if the callback itself is called;
     * false if the callback makes the call. */
    bool (*is_own_call)(const struct ftrace_regs *regs);
    /* Optional. True if the interpreter makes the call that begins in order to handle a signal. Asked
     * only for functions that it may call for a signal (fg_func.irq). */
    bool (*is_irq)(const struct ftrace_regs *regs);
};

/* A domain outlives the records of its functions, and every frame that keeps an object of one. */
struct fg_domain {
    const struct fg_arch_ops *arch;
    const void *scope; /* only compared, never dereferenced */
    bool is_global;
};

static inline bool fg_domain_is_seen(const struct fg_domain *domain, const void *scope)
{
    return domain->scope == scope || domain->is_global;
}

/* Releases an object of the domain's arch. Call without locks. */
static inline void fg_domain_drop_object(struct fg_domain *domain, void *object)
{
    if (domain->arch->drop_object)
        domain->arch->drop_object(object, domain);
}

#endif
