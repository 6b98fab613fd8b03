/* The engine's root: what every call reads, the engine's lock, what the process provides, and
 * the kill switch. */
#ifndef FG_ROOT_H
#define FG_ROOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/compiler.h"

struct fg_task;
struct fgraph_ops;
struct ftrace_regs;

#define FG_MAX_USERS 64u
#define FG_GENERATION_NONE UINT64_MAX /* the slot has no user: later than any epoch */

/* A user's slot. Each task keeps the user's data under the same index. */
struct fg_slot {
    _Atomic(struct fgraph_ops *) ops;
    _Atomic uint64_t generation; /* the epoch at which its user was registered */
};

/* The one mutable global: what every call reads. */
struct fg_root {
    /* The descriptor word of a frame that is pushed now (frame.h draws it). Its epoch counts the changes
     * of the set of users. 0 once the kill switch is thrown. */
    _Atomic uint64_t descriptor;
    /* The descriptor word of a frame whose call takes the plain path (plain_call.c). Also 0 if no call
     * can take that path. */
    _Atomic uint64_t plain_descriptor;
    _Atomic bool killed;
    _Atomic uint64_t overrun;
    struct fg_slot slots[FG_MAX_USERS];
};

extern struct fg_root fg_root __attribute__((visibility("hidden")));

/* Replaces a user that has left, in its slot and in lists that callbacks may still read. Its
 * callbacks do nothing. */
extern struct fgraph_ops fg_stub_ops;

/**
 * fg_slot_user() - The user that had a slot at an epoch.
 * @idx: the slot
 * @epoch: the epoch of one of the user's frames
 *
 * Return: the user; NULL: it has left.
 * Context: inside the guard. The slot gets no new user before the guard is left.
 */
static inline struct fgraph_ops *fg_slot_user(uint32_t idx, uint64_t epoch)
{
    struct fg_slot *slot = &fg_root.slots[idx];

    /* acquire: pairs with the release in users.c that hands the slot to its next owner */
    if (fg_unlikely(atomic_load_explicit(&slot->generation, memory_order_acquire) > epoch))
        return NULL;
    return atomic_load_explicit(&slot->ops, memory_order_relaxed);
}

/* ---- the process */

/* What the process provides, whichever arches its functions have. Set once, before any
 * user is registered. */
struct fg_process_ops {
    /* A name for the current thread, NUL-terminated; empty if it has none yet. In the middle of native
     * code (FG_GUARD_NATIVE) as in any other callback that it may make: without running or reading an
     * interpreter. */
    void (*task_name)(struct fg_task *task, char *out, size_t room);
    /* Optional. Called when a task ends; it can end the task's suspended calls. A forked child also calls
     * it for the tasks of threads that it does not have: it must forget these and end nothing. */
    void (*task_exit)(struct fg_task *task);
    /* Optional. Called before and after a wait for other threads' callbacks, which may need what this
     * thread holds (the GIL). */
    void *(*wait_begin)(void);
    void (*wait_end)(void *held);
    /* Optional. Asked in the middle of a callback. True if a handler runs that the interpreter called for a
     * signal, between two instructions of that callback. @regs: of a call that begins or is resumed in
     * this thread, or NULL. */
    bool (*is_in_handler)(const struct ftrace_regs *regs);
    /* Optional. An instance of the scope has ended (fg_instance_has_ended): a thread that is outside of
     * callbacks should stop it soon. Called inside the guard, by any thread. */
    void (*instance_ended)(const void *scope);
    /* Optional. Prints what an instance has recorded, soon, in a thread that is outside of callbacks. @tid:
     * of the thread whose records are meant; 0: all. Called inside the guard, by any thread. */
    void (*dump)(int handle, int tid);
};

/**
 * fg_engine_init() - Start the engine. Once, before anything else.
 * @process: stays the caller's; NULL: the process provides nothing
 *
 * Return: 0; -EBUSY: it was started before.
 */
int fg_engine_init(const struct fg_process_ops *process);
/* Never NULL. */
const struct fg_process_ops *fg_process(void);

/* The engine's lock: over users, function records, and all that is published. */
void fg_engine_lock(void);
void fg_engine_unlock(void);

/* ---- calls that were not traced for lack of room, in all tasks */

static inline void fg_overrun_count(void)
{
    atomic_fetch_add_explicit(&fg_root.overrun, 1, memory_order_relaxed);
}

uint64_t fg_overrun_total(void);

/* ---- the kill switch */

/**
 * fg_kill() - Stop all tracing for good, because an invariant is broken.
 * @format: the warning, as for printf; the first one is printed to stderr and kept
 *
 * Context: any thread; not from a signal handler.
 */
FG_COLD void fg_kill(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The warning; NULL while the engine runs. */
const char *fg_killed(void);
/* Adds a function to be called with the warning. */
void fg_on_kill(void (*hook)(const char *message));

static inline bool fg_is_killed(void)
{
    return fg_unlikely(atomic_load_explicit(&fg_root.killed, memory_order_relaxed));
}

#endif
