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

/* Beside the kind, for a native function: the user sees its calls only below those of its graph set. */
#define FG_PLAIN_BELOW 2u

/* Stored in the words `engine` of struct fgraph_ops. Fields are set before the registration, unless their
 * comment says otherwise. */
struct __attribute__((may_alias)) fg_user {
    /* The slot, while registered. It and `generation` are read without locks (fgraph_is_registered). */
    _Atomic int idx;
    /* entryfunc does only the plain step of `plain_kind`, and so does retfunc for a call that was never
     * suspended. Where it can, the engine does these steps itself instead of calling them. */
    bool is_plain;
    bool is_fprobes;    /* the user that the fprobes of a scope share; it needs no times */
    bool is_entry_only; /* entryfunc always returns 0: the user needs no return hooks */
    /* Its callbacks may run in any thread, whatever native code is in the middle of: it sees native
     * functions. Users of the public API say so by FTRACE_OPS_FL_NATIVE. */
    bool sees_native;
    /* The filter hides calls, or did so while registered: calls in progress may still hide others. */
    bool may_hide;
    const void *scope; /* the user sees functions of this scope and of global domains (domain.h) */
    enum fg_plain_kind plain_kind;
    _Atomic uint64_t generation; /* the epoch at which it was registered; 0: it is not */
    _Atomic uint64_t nmissed;
    _Atomic(const struct fg_tids *) tids; /* the filter's threads, for callbacks to read */
    struct fg_filter filter;              /* changed by fg_user_set_filter() and the like */
    /* Optional. The user is about to see a call of the function begin, or be resumed, and gets what it needs
     * for that. Called before the clock is read for the call (set_up.h). Inside the guard, and never in a
     * handler of a signal. */
    void (*readyfunc)(struct fg_task *task, const struct fg_func *func, struct fgraph_ops *ops,
                      const struct ftrace_regs *regs);
    /* Optional. Decides instead of the filter, and without flags, whether the user wants a function that
     * it sees. Engine's lock held. */
    bool (*wantsfunc)(const struct fg_func *func, const struct fgraph_ops *ops);
    /* Optional. Decides instead of is_entry_only whether the user wants the function's returns.
     * Engine's lock held. */
    bool (*wantsreturns)(const struct fg_func *func, const struct fgraph_ops *ops);
    /* Optional. A call of the function was not traced: a callback made it, or the stack was full. Inside
     * the guard. */
    void (*missedfunc)(struct fg_func *func, struct fgraph_ops *ops);
    /* Optional. A function was met; @matched: the user is attached to it. Engine's lock held. */
    void (*foundfunc)(struct fg_func *func, struct fgraph_ops *ops, bool matched);
    /* Optional. A task ends. Also called for a user that is unregistering. Engine's lock held. */
    void (*taskexitfunc)(struct fg_task *task, struct fgraph_ops *ops);
    /* Optional. The user has left, none of its callbacks runs, and its slot has no new user yet.
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
