/* Domains: where functions come from, and which users see them.
 *
 * Each function belongs to a domain: those of one Python interpreter, or the process's native functions.
 * A domain names its arch, which hooks its functions, and its scope. A user has a scope as well, and sees
 * the functions of
 *
 *     - domains of its own scope (a Python interpreter is a scope: subinterpreters stay apart);
 *     - domains that are global, whatever the user's scope.
 *
 * So one user can see functions of several arches, in one nesting. */
#ifndef FG_DOMAIN_H
#define FG_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>

struct fg_func;
struct ftrace_regs;
struct fg_domain;

/* How the engine asks an arch about its functions. */
struct fg_arch_ops {
    const char *name;
    /* Makes a function's hooks match its users. Called without the engine's locks, between sync_begin and
     * sync_end. The record may have been given to another function of this arch meanwhile. */
    void (*sync)(struct fg_func *func);
    void (*sync_begin)(void);
    void (*sync_end)(void);
    /* Optional. Lets go of an object that fgraph_reserve_object() or a function record of that domain
     * kept. Any thread, at any time, without locks. */
    void (*drop_object)(void *object, struct fg_domain *domain);
    /* Optional. A call begins while a callback runs: true if it is the callback's own call, not one that
     * it makes. */
    bool (*is_own_call)(const struct ftrace_regs *regs);
    /* Optional. True if the interpreter itself makes the call that begins, to handle a signal. Asked only
     * for functions that it may call so (fg_func.irq). */
    bool (*is_irq)(const struct ftrace_regs *regs);
};

/* Outlives its functions' records, and every frame with an object of theirs. */
struct fg_domain {
    const struct fg_arch_ops *arch;
    const void *scope; /* only compared */
    bool is_global;
};

static inline bool fg_domain_is_seen(const struct fg_domain *domain, const void *scope)
{
    return domain->scope == scope || domain->is_global;
}

/* Lets go of an object of the domain's arch. Without locks. */
static inline void fg_domain_drop_object(struct fg_domain *domain, void *object)
{
    if (domain->arch->drop_object)
        domain->arch->drop_object(object, domain);
}

#endif
