/* The function graph: users, their registration, and the way of one call (entry, return, suspend, resume). */
#ifndef FG_FGRAPH_H
#define FG_FGRAPH_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/core/function.h"
#include "engine/core/pattern.h"
#include "engine/core/regs.h"
#include "engine/core/task.h"

/* The public half: struct fgraph_ops, what its functions are told, and the words for it all. */
#define FUNCGRAPH_ENGINE
#include "include/funcgraph.h"

#define FG_MAX_DATA_WORDS (FGRAPH_MAX_DATA_BYTES / sizeof(uint64_t)) /* per user and entry */

/* What becomes of calls that the interpreter makes for signals: they are calls as any other; fg_frame_is_irq tells them
 * from others; the user sees neither them nor what they call. */
enum fg_irqs { FG_IRQS_ARE_CALLS, FG_IRQS_TOLD, FG_IRQS_HIDDEN };

/* Which functions, and calls of them, a user wants. No include pattern means all. */
struct fg_filter {
    struct fg_patterns sets[FGRAPH_NR_FILTER_SETS]; /* by enum fgraph_filter_set */
    struct fg_tids *tids;                           /* only calls in these threads; NULL: in all */
    bool c_calls; /* C functions too, called by those; include patterns do not apply to them */
    enum fg_irqs irqs;
};

void fg_filter_clear(struct fg_filter *filter);
/* A copy of its own. -ENOMEM: `to` is empty. */
int fg_filter_copy(struct fg_filter *to, const struct fg_filter *from);
/* Adds patterns: 0, or as fgraph_edit_filter. */
int fg_filter_add(struct fg_filter *filter, enum fgraph_filter_set set, const char *const texts[], size_t n,
                  struct fg_pattern_error *error);
/* One that wants no function. -ENOMEM: `filter` is empty. */
int fg_filter_make_none(struct fg_filter *filter);
/* A set of threads, sorted; freed with free(). NULL: no memory. */
struct fg_tids *fg_tids_new(const int tids[], size_t n);
const int *fg_tids_of(const struct fg_tids *set, size_t *n);
bool fg_tids_has(const struct fg_tids *set, int tid);

/* What a plain user does with a call: writes two records (plain_record.h), or counts it (profile_rows.h). */
enum fg_plain_kind { FG_PLAIN_RECORD = 0, FG_PLAIN_PROFILE = 1 };

/* The engine's half of a user: the words `engine` of struct fgraph_ops. */
struct __attribute__((may_alias)) fg_user {
    _Atomic int
        idx; /* slot, while registered; it and `generation` are read without locks (fgraph_is_registered) */
    /* All that entryfunc does is the plain step of its kind, and retfunc too when a call that was never suspended
     * returns: the engine does them itself where it can, without the calls. Set before its registration. */
    bool is_plain;
    bool
        is_fprobes; /* it is the user that a domain's fprobes share, and needs no times. Set before its registration */
    bool
        is_entry_only; /* entryfunc always answers 0: no hook behind the entry is for it. Set before its registration */
    bool may_hide; /* it has or had hidden calls while registered: some call may still hide others */
    void *domain;  /* it sees this domain's functions alone (function.h); set before its registration */
    enum fg_plain_kind plain_kind; /* if it is plain. Set before its registration */
    _Atomic uint64_t generation;   /* the epoch at which it was registered; 0: it is not */
    _Atomic uint64_t nmissed;
    _Atomic(const struct fg_tids *) tids; /* those of the filter, for callbacks to read */
    struct fg_filter filter;
    /* Optional: says in the filter's place which functions it wants; only of its domain, and without flags. Engine's lock
     * held. */
    bool (*wantsfunc)(const struct fg_func *func, const struct fgraph_ops *ops);
    /* Optional: says instead of is_entry_only whether the user is told how calls of the function end. Engine's lock held. */
    bool (*wantsends)(const struct fg_func *func);
    /* Optional: a call of the function could not be traced: a callback made it, or it found no room. Inside the guard. */
    void (*missedfunc)(struct fg_func *func, struct fgraph_ops *ops);
    /* Optional: a function was found; `matched` says if this user is attached. Engine's lock held. */
    void (*foundfunc)(struct fg_func *func, struct fgraph_ops *ops, bool matched);
    /* Optional: a task ends; also called for a user that is just leaving. Engine's lock held. */
    void (*taskexitfunc)(struct fg_task *task, struct fgraph_ops *ops);
    /* Optional: the user has left, nothing of it runs any more, and its slot is not another's yet. Engine's lock
     * held. */
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

/* How the engine asks the arch to make a function's hooks match its users. Set once, before any user. */
struct fg_arch_ops {
    const char *name;
    /* Hooks on if the function has users, else off. Called without locks. */
    void (*sync)(struct fg_func *func);
    /* Around a sync of many. */
    void (*sync_begin)(void);
    void (*sync_end)(void);
    /* A name for the current thread, NUL-terminated; empty if there is none yet. */
    void (*task_name)(struct fg_task *task, char *out, size_t room);
    /* Optional: this task ends, and what the arch has suspended for it can be told of its end. In a forked child also
     * for the tasks of threads that are not there: they are only to be forgotten. */
    void (*task_exit)(struct fg_task *task);
    /* Optional, around a wait for other threads' callbacks: those may need what this thread holds of the arch. */
    void *(*wait_begin)(void);
    void (*wait_end)(void *held);
    /* Optional: lets go of an object that fgraph_reserve_object or a function record of that domain kept. Any thread, at
     * any time; no lock is held. */
    void (*drop_object)(void *object, void *domain);
    /* Optional: the call that begins in the middle of a callback is of the callback itself, and none that it makes. */
    bool (*is_own_call)(const struct ftrace_regs *regs);
    /* Optional: the interpreter itself makes the call that begins, for a signal. Asked of functions alone that it may so
     * call (fg_func.irq). */
    bool (*is_irq)(const struct ftrace_regs *regs);
};

/* Once, before anything else. -EBUSY: done before. */
int fg_engine_init(const struct fg_arch_ops *arch);
const struct fg_arch_ops *fg_engine_arch(void);

/* The arch's word that from now on it tells, or does not tell, how calls of the function end. Until it has said anything it
 * tells of both, or of neither: only one that has hooks for entries alone says something. Without locks. */
void fg_users_hear_ends(struct fg_func *func, bool hears);

/* 0; -EBUSY: already registered; -ENOSPC: all slots are taken; -ENOMEM. */
int fgraph_register(struct fgraph_ops *ops);
/* Returns when none of the user's functions runs any more, other than the caller itself. -EINVAL: not registered. */
int fgraph_unregister(struct fgraph_ops *ops);
/* True from the end of its registration to the beginning of its leaving; inside the guard, until that is left. */
bool fgraph_is_registered(const struct fgraph_ops *ops);
/* Takes over `filter`'s contents (and clears it) for a registered or unregistered user. */
int fgraph_set_filter(struct fgraph_ops *ops, struct fg_filter *filter);
/* Adds patterns to one of the user's sets, or (reset) makes them the set. -EINVAL, with *error filled in: one of them
 * is none; -ENOMEM. Then nothing has changed. Edits of one user must not run at the same time. */
int fgraph_edit_filter(struct fgraph_ops *ops, enum fgraph_filter_set set, const char *const texts[],
                       size_t n, bool reset, struct fg_pattern_error *error);
/* Only calls in these threads, from now on; NULL: in all. -ENOMEM: nothing has changed. As the one before. */
int fgraph_set_tids(struct fgraph_ops *ops, const int tids[], size_t n);

/* Returns when each callback that runs now has ended, but for those that wait in here themselves, and what the caller is
 * called from. Without locks. */
void fg_users_synchronize(void);

/* True if the user has to be attached to the function; the flags (FG_USER_*) say what for. */
bool fgraph_filter_matches(const struct fg_filter *filter, const struct fg_func *func);
/* One of the patterns is its whole name: so a C function is asked for, wherever it is called from. */
bool fgraph_filter_names(const struct fg_filter *filter, const struct fg_func *func);
uint32_t fgraph_filter_flags(const struct fg_filter *filter, const struct fg_func *func);

/* In an entryfunc: up to FG_MAX_DATA_WORDS words that the same user finds at the return; once per entry.
 * NULL: no room, too large, or asked twice. Zeroed. */
void *fgraph_reserve_data(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops, size_t bytes);
/* In a retfunc: this user's data of this frame, or NULL. */
void *fgraph_retrieve_data(const struct ftrace_graph_ret *trace, const struct fgraph_ops *ops, size_t *bytes);
/* Data of this user's frame `depth` frames of its own further down; 0 is this one. */
void *fgraph_retrieve_parent_data(const struct fg_task *task, const uint64_t *frame,
                                  const struct fgraph_ops *ops, unsigned depth, size_t *bytes);
/* In an entryfunc, once: the frame keeps `object` until it goes, and the arch lets go of it then: also if the user has
 * left meanwhile, or does not want the return. False: no room, or asked twice; the object stays the caller's. */
bool fgraph_reserve_object(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops, void *object);
/* In a retfunc: this user's object of this frame, or NULL. It stays the frame's. */
void *fgraph_retrieve_object(const struct ftrace_graph_ret *trace, const struct fgraph_ops *ops);

static inline uint64_t *fgraph_task_var(struct fg_task *task, const struct fgraph_ops *ops)
{
    return &task->users[fg_user_of_const(ops)->idx].var;
}

/* Its slot; -1: it is not registered. */
static inline int fgraph_slot(const struct fgraph_ops *ops)
{
    return fg_user_of_const(ops)->generation ? fg_user_of_const(ops)->idx : -1;
}

static inline uint64_t fgraph_nmissed(const struct fgraph_ops *ops)
{
    return atomic_load_explicit(&fg_user_of_const(ops)->nmissed, memory_order_relaxed);
}

/* The arch's calls. `fp` identifies the call while it is in progress. fg_enter says false if the function has
 * no users (any more): the arch may take its hook out. */
bool fg_enter(struct fg_task *task, struct fg_func *func, uintptr_t fp, struct ftrace_regs *regs);
void fg_return(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs, enum fg_end end);
/* The end of the newest call, as the arch notes it before it does anything else. Nothing comes on the stack in between. */
struct fg_ending {
    uint64_t *frame;  /* the newest; NULL: none, or it has to be looked at closely */
    uint64_t counter; /* fg_clock_counter(), or 0 if nobody will ask when it was */
};
struct fg_ending fg_return_begin(const struct fg_task *task);
void fg_return_at(struct fg_task *task, uintptr_t fp, struct fg_ending ending, struct ftrace_regs *regs,
                  enum fg_end end);
/* What nearly every call of a recording is, quicker: to be tried first, by hooks that the compiler makes it part of.
 * False: nothing was done. */
bool fg_enter_plain(struct fg_task *task, struct fg_func *func, uintptr_t fp);
/* Of a call that returns a value. */
bool fg_return_plain(struct fg_task *task, uintptr_t fp, uint64_t counter);
/* The same for a call that one fprobe alone watches: of a function that is fg_func_probed(), and at its end while what is
 * newest on the stack is fg_top_is_probed(). */
bool fg_enter_probed(struct fg_task *task, struct fg_func *func, uintptr_t fp, uintptr_t ret_ip,
                     struct ftrace_regs *regs);
bool fg_top_is_probed(const struct fg_task *task);
bool fg_return_probed(struct fg_task *task, uintptr_t fp, uintptr_t ret_ip, struct ftrace_regs *regs);
/* The arch has a reason to see every call in full: no call is plain until it has none. They nest. */
void fg_plain_hold(void);
void fg_plain_release(void);
void fg_suspend(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs);
void fg_resume(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs);
/* A suspended call ended without running again: its generator was closed or collected. Its users are told of a
 * resume and an end, as if CPython had told of both. Nothing happens if no such call is suspended. */
void fg_abandon(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs);
/* A call that the arch could not let be traced. */
void fg_count_overrun(struct fg_task *task);
/* True if the newest frame is this call's. */
bool fg_top_is(const struct fg_task *task, uintptr_t fp);

/* One frame of a shadow stack, as fg_walk shows it. */
struct fg_frame_info {
    struct fg_func *func;
    uintptr_t fp;
    uint64_t calltime; /* 0: no user of the call needs it */
    uint64_t bitmap;
};

/* Frames from the newest to the oldest until `visit` returns false. */
void fg_walk(const struct fg_task *task, bool (*visit)(const struct fg_frame_info *frame, void *arg),
             void *arg);

/* Ends all frames in progress of a task that is about to end. */
void fg_task_unwind(struct fg_task *task);

/* The kill switch: an invariant is broken; all tracing stops for good, one warning is printed and kept. */
FG_COLD void fg_kill(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The warning, or NULL while all is well. */
const char *fg_killed(void);
/* A function to call with the warning. */
void fg_on_kill(void (*hook)(const char *message));

/* All users, in slot order, under the engine's lock. */
void fgraph_for_each(void (*visit)(struct fgraph_ops *ops, void *arg), void *arg);
uint32_t fgraph_count(void);
uint32_t fgraph_count_in(const void *domain);
uint64_t fg_overrun_total(void);
uint32_t fg_func_count(void);

#endif
