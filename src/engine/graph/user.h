/* A user of the function graph: the engine's half of struct fgraph_ops. */
#ifndef FG_USER_H
#define FG_USER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/core/public.h"
#include "engine/core/task.h"
#include "engine/graph/filter.h"

/* What a plain user does at a call: it writes two records (plain_record.h), or counts the
 * call (profile_rows.h). */
enum fg_plain_kind { FG_PLAIN_RECORD = 0, FG_PLAIN_PROFILE = 1 };

/* Lies in the words `engine` of struct fgraph_ops. What is not said to change is set
 * before the registration. */
struct __attribute__((may_alias)) fg_user {
    /* The slot, while registered. It and `generation` are read without locks (fgraph_is_registered). */
    _Atomic int idx;
    /* entryfunc does the plain step of `plain_kind` and nothing else, and so does retfunc for a call that
     * was never suspended. Where it can, the engine does these steps itself, without the calls. */
    bool is_plain;
    bool is_fprobes;    /* it is the user that the fprobes of a scope share; it needs no times */
    bool is_entry_only; /* entryfunc always answers 0: the user needs no return hooks */
    bool
        /* it has, or had while registered, hidden calls: calls in progress may still hide others */
        may_hide;
    const void *scope; /* it sees the functions of this scope and of global domains (domain.h) */
    enum fg_plain_kind plain_kind;
    _Atomic uint64_t generation; /* the epoch at which it was registered; 0: it is not */
    _Atomic uint64_t nmissed;
    _Atomic(const struct fg_tids *) tids; /* those of the filter, for callbacks to read */
    struct fg_filter filter;              /* changed by fg_user_set_filter() and the like */
    /* Optional. Decides in the filter's place which of the functions that it sees the user wants, without
     * flags. Engine's lock held. */
    bool (*wantsfunc)(const struct fg_func *func, const struct fgraph_ops *ops);
    /* Optional. Decides in the place of is_entry_only whether the user wants returns of the function.
     * Engine's lock held. */
    bool (*wantsreturns)(const struct fg_func *func, const struct fgraph_ops *ops);
    /* Optional. A call of the function was not traced: a callback made it, or the stack was full. Inside
     * the guard. */
    void (*missedfunc)(struct fg_func *func, struct fgraph_ops *ops);
    /* Optional. A function was met; @matched: the user is attached to it. Engine's lock held. */
    void (*foundfunc)(struct fg_func *func, struct fgraph_ops *ops, bool matched);
    /* Optional. A task ends. Also called for a user that is unregistering. Engine's lock held. */
    void (*taskexitfunc)(struct fg_task *task, struct fgraph_ops *ops);
    /* Optional. The user has left, none of its functions runs, and its slot has no new owner yet.
     * Engine's lock held. */
    void (*leavefunc)(struct fgraph_ops *ops);
};

_Static_assert(sizeof(struct fg_user) <= FGRAPH_OPS_ENGINE_WORDS * sizeof(uint64_t),
               "struct fgraph_ops has too few words for the engine's half");

static inline struct fg_user *fg_user_of(struct fgraph_ops *ops)
{
    return (struct fg_user *)ops->engine;
}

static inline const struct fg_user *fg_user_of_const(const struct fgraph_ops *ops)
{
    return (const struct fg_user *)ops->engine;
}

/* The task variable of a registered user. */
static inline uint64_t *fgraph_task_var(struct fg_task *task, const struct fgraph_ops *ops)
{
    return &task->users[fg_user_of_const(ops)->idx].var;
}

/* The user's slot; -1: it is not registered. */
static inline int fg_user_slot(const struct fgraph_ops *ops)
{
    return fg_user_of_const(ops)->generation ? fg_user_of_const(ops)->idx : -1;
}

static inline uint64_t fgraph_nmissed(const struct fgraph_ops *ops)
{
    return atomic_load_explicit(&fg_user_of_const(ops)->nmissed, memory_order_relaxed);
}

#endif
