/* Function records: one for each function that can be traced (the kernel's dyn_ftrace), in one table.
 *
 * A record holds what callbacks and arches read about the function. graph/meet.c and graph/user_list.c
 * decide who its users are; the table only keeps records. */
#ifndef FG_FUNCTION_H
#define FG_FUNCTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/compiler.h"
#include "engine/core/domain.h"
#include "engine/core/func_flags.h"

struct fg_fprobe_list;
struct fg_kprobe_list;
struct fg_patterns;
struct fg_user_list;

/* A record is reused by functions of the same arch, never freed. So a stale pointer to a record (in a
 * frame whose return CPython never reported) always leads to a record of that arch. */
struct fg_func {
    /* user_list.h; never NULL. First, because each call reads it */
    _Atomic(struct fg_user_list *) users;
    _Atomic(struct fg_fprobe_list *) fprobes; /* fprobe.c; NULL: none */
    uint32_t id;
    /* Nonzero if the function's calls can take the plain path (plain_call.c): the offset of its only
     * user's data in a task, plus the user's enum fg_plain_kind and FG_PLAIN_BELOW. Set after `users`. */
    _Atomic uint32_t plain;
    /* The same offset if its only user is that of the fprobes (fprobe_call.c); else 0. */
    _Atomic uint32_t probed;
    uint32_t line;
    uint16_t flags; /* enum fg_func_flags */
    bool live;      /* in the table */
    /* No user wants returns any longer, but a call in progress has a user that waits for
     * its return (progress.h). */
    _Atomic bool has_pending_returns;
    _Atomic bool wants_any_caller; /* a C function: some user wants its calls by any caller */
    _Atomic bool wants_returns;    /* some user wants the returns of its calls */
    _Atomic bool entry_hook_only;  /* the arch hooks its entries and nothing else */
    /* wants_returns and entry_hook_only are both set: users that want returns see no call yet */
    _Atomic bool awaits_return_hooks;
    /* Owned by the arch: places of the function may stop to report their calls; some have. */
    _Atomic bool may_silence_calls, has_silent_calls;
    /* the interpreter may call it to handle a signal; changed under the engine's lock */
    _Atomic bool irq;
    uint32_t index;  /* in the table */
    void *arch_data; /* the code object or method definition; owned by the arch */
    struct fg_domain *domain;
    _Atomic(void *) object;                /* the object above the arch, or NULL; released with drop_object */
    char *module, *qualname, *file, *args; /* one allocation, at `name` */
    char *name;                            /* "module.qualname" */
    /* Owned by the arch: probes at places within the function, or NULL. */
    _Atomic(struct fg_kprobe_list *) kprobes;
};

/* What an arch knows about a function that it meets for the first time. Strings are copied. */
struct fg_func_desc {
    const char *module, *qualname, *file, *args;
    uint32_t line;
    uint16_t flags;
    void *arch_data;
    struct fg_domain *domain;
};

/* ---- the table; under the engine's lock */

/* Returns a record with the data of @desc and reserves its place in the table, but does not add it. NULL:
 * memory is short. */
struct fg_func *fg_func_new(const struct fg_func_desc *desc);
/* Adds a record from fg_func_new() to the table. Cannot fail. */
void fg_func_insert(struct fg_func *func);
/* Takes the record out of the table, if it was added, and makes it free for reuse. */
void fg_func_delete(struct fg_func *func);
/* The live records, in no order. */
struct fg_func **fg_func_table(size_t *n);

/* ---- takes the engine's lock */

/* Calls @visit for each live record, under the engine's lock: @visit must not take it. */
void fg_func_for_each(void (*visit)(struct fg_func *func, void *arg), void *arg);
uint32_t fg_func_count(void);
/* True if the record is still that of function @id. */
bool fg_func_is(struct fg_func *func, uint32_t id);
/* Calls @visit with the record's arch_data, under the engine's lock, and returns its answer. False if the
 * function is gone. */
bool fg_func_if_live(struct fg_func *func, bool (*visit)(void *arch_data));
/* True if @set has a whole name for which @could_be holds and no function seen in @scope
 * has that name. */
bool fg_func_any_unknown(const void *scope, const struct fg_patterns *set,
                         bool (*could_be)(const char *name));

/* ---- without locks */

/* Nonzero if the function's calls can take the plain path. A caller outside the guard must read
 * it again inside. */
static inline uint32_t fg_func_plain(struct fg_func *func)
{
    return atomic_load_explicit(&func->plain, memory_order_acquire);
}

/* Nonzero if the function's calls can go directly to its fprobes. Read it again inside the
 * guard, as above. */
static inline uint32_t fg_func_probed(struct fg_func *func)
{
    return atomic_load_explicit(&func->probed, memory_order_acquire);
}

/* For a C function: some user wants its calls by any caller. Users with fg_filter.c_calls see only calls
 * made by functions that they trace. */
static inline bool fg_func_wants_any_caller(struct fg_func *func)
{
    return atomic_load_explicit(&func->wants_any_caller, memory_order_relaxed);
}

/* Some user wants returns, suspends and resumes: entry hooks alone are not enough. */
static inline bool fg_func_wants_returns(struct fg_func *func)
{
    return atomic_load_explicit(&func->wants_returns, memory_order_acquire);
}

/* A user that wants returns was attached, and the function has no return hooks yet. */
static inline bool fg_func_awaits_return_hooks(struct fg_func *func)
{
    return fg_unlikely(atomic_load_explicit(&func->awaits_return_hooks, memory_order_relaxed));
}

/* No user wants returns any longer, but users wait for the returns of calls in progress. The hooks stay
 * until these calls have ended. */
static inline bool fg_func_has_pending_returns(struct fg_func *func)
{
    return atomic_load_explicit(&func->has_pending_returns, memory_order_relaxed);
}

#endif
