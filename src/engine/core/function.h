/* Function records: one per traceable function (the kernel's dyn_ftrace), and the users attached to it. */
#ifndef FG_FUNCTION_H
#define FG_FUNCTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/compiler.h"
#include "engine/core/func_flags.h"
#include "engine/core/retired.h"

struct fgraph_ops;
struct fg_fprobe_list;
struct fg_patterns;
struct fg_kprobe_list;

/* One user of one function. `ops` is only ever replaced by the stub, when memory is too short for a list
 * without the user. */
struct fg_user_ref {
    _Atomic(struct fgraph_ops *) ops;
    uint32_t idx;
    uint16_t flags;
    bool entry_only; /* it is told no end of the function's calls: they leave no frame for it */
};

/* What has to be asked about a call of this function before this user's entryfunc is called (marks.c); 0: nothing. */
#define FG_USER_TIDS 1u           /* is it in one of the user's threads? */
#define FG_USER_GRAPH_ONLY 2u     /* is it below a function of the user's graph set? */
#define FG_USER_GRAPH_ROOT 4u     /* the function is in that set */
#define FG_USER_GRAPH_MAY_HIDE 8u /* is it below a function of the user's graph_notrace set? */
#define FG_USER_GRAPH_HIDES 16u   /* the function is in that set */
#define FG_USER_SILENT 32u        /* the function itself is not shown: only what it begins or hides */
#define FG_USER_CALLER 64u        /* a C function: does a function call it that the user is attached to? */
#define FG_USER_IRQ 128u          /* does the interpreter make the call, for a signal? */
#define FG_USER_IRQ_HIDES 256u    /* and then the user sees neither it nor what it calls */

/* The users of one function in order of registration. Immutable once published; replaced as a whole. */
struct fg_user_list {
    struct fg_retired retired;
    uint32_t n;
    bool everywhere;  /* as the function's */
    bool needs_times; /* some user of them does */
    bool wants_ends;  /* as the function's */
    uint64_t bits;    /* of their slots */
    struct fg_user_ref users[];
};

/* Memory of records is type-stable: a record is reused, never freed, so that a stale pointer to one (a frame
 * whose end CPython never told us) always points at a record. */
struct fg_func {
    _Atomic(struct fg_user_list *) users;     /* never NULL; read on every call, so it comes first */
    _Atomic(struct fg_fprobe_list *) fprobes; /* fprobe.c; NULL: none */
    uint32_t id;
    /* Where a task keeps its one user, in bytes from the task on, plus the user's enum fg_plain_kind, if the function's
     * calls can be plain (plain_call.c); else 0. It follows the list. */
    _Atomic uint32_t plain;
    /* The same if its one user is that of the fprobes (fprobe_call.c); else 0. */
    _Atomic uint32_t probed;
    uint32_t line;
    uint16_t flags; /* enum fg_func_flags */
    bool live;
    _Atomic bool busy;         /* progress.h */
    _Atomic bool everywhere;   /* a C function: some user wants its calls, whoever makes them */
    _Atomic bool wants_ends;   /* some user is told how its calls end */
    _Atomic bool is_deaf;      /* its hooks tell of entries alone: the arch says so (fg_users_hear_ends) */
    _Atomic bool awaits_hooks; /* both: those users see no call yet */
    bool irq;                  /* the interpreter may call it for a signal; under the engine's lock */
    uint32_t index;            /* in the engine's table of live records */
    void *arch_data;           /* the code object or method definition; owned by the arch */
    void *domain;              /* where it runs, for the arch to say: only users of the same see it */
    _Atomic(void *) object;    /* what stands for it above the arch, or NULL; see drop_object */
    char *module, *qualname, *file, *args; /* one allocation, at `name` */
    char *name;                            /* "module.qualname" */
    /* The arch's: probes at places within the function, or NULL. */
    _Atomic(struct fg_kprobe_list *) kprobes;
};

/* What the arch knows of a function it meets for the first time. Strings are copied. */
struct fg_func_desc {
    const char *module, *qualname, *file, *args;
    uint32_t line;
    uint16_t flags;
    void *arch_data, *domain;
};

/* A record with the users whose filters match, published. NULL when memory is short. */
struct fg_func *fg_func_new(const struct fg_func_desc *desc);

/* The function is gone: no user is attached any more and the record may be reused. */
void fg_func_free(struct fg_func *func);

/* The interpreter may call it for a signal from now on: users that care are told (fg_filter.irqs). Without locks. False:
 * memory is short, and nothing has changed. */
bool fg_func_set_irq(struct fg_func *func);

/* Calls `visit` for each live record under the engine's lock: it must not call back into the registry. */
void fg_func_for_each(void (*visit)(struct fg_func *func, void *arg), void *arg);

/* The record is still that of function `id`. */
bool fg_func_is(struct fg_func *func, uint32_t id);

/* Calls `visit` with the record's arch data, under the engine's lock, and returns its answer; false if the function
 * is gone. */
bool fg_func_if_live(struct fg_func *func, bool (*visit)(void *arch_data));

/* True if the set has a whole name that no function of the domain has, and that `could_be` one. */
bool fg_func_any_unknown(const void *domain, const struct fg_patterns *set,
                         bool (*could_be)(const char *name));

extern struct fg_user_list fg_no_users; /* the one list without users */

/* Its calls can be plain: read inside the guard as well, to be sure. */
static inline uint32_t fg_func_plain(struct fg_func *func)
{
    return atomic_load_explicit(&func->plain, memory_order_acquire);
}

/* Its calls can be told to its fprobes alone: as above. */
static inline uint32_t fg_func_probed(struct fg_func *func)
{
    return atomic_load_explicit(&func->probed, memory_order_acquire);
}

/* Only compares: outside of the guard the list may be freed at any time. */
static inline bool fg_func_has_users(struct fg_func *func)
{
    return atomic_load_explicit(&func->users, memory_order_acquire) != &fg_no_users;
}

/* A user that asked for what its functions call (fg_filter.c_calls) is told of a C function where one of these calls it.
 * Others are told wherever it is called from. */
static inline bool fg_func_is_wanted_everywhere(struct fg_func *func)
{
    return atomic_load_explicit(&func->everywhere, memory_order_relaxed);
}

/* Some user is told how its calls end, gives way and goes on: hooks for entries alone are not enough. */
static inline bool fg_func_wants_ends(struct fg_func *func)
{
    return atomic_load_explicit(&func->wants_ends, memory_order_acquire);
}

/* A user that is told of ends has come to a function whose hooks do not tell of them yet. */
static inline bool fg_func_awaits_hooks(struct fg_func *func)
{
    return fg_unlikely(atomic_load_explicit(&func->awaits_hooks, memory_order_relaxed));
}

/* It has no users that want ends, but calls in progress whose end a user wants: its hooks stay until these are over. */
static inline bool fg_func_is_busy(struct fg_func *func)
{
    return atomic_load_explicit(&func->busy, memory_order_relaxed);
}

#endif
