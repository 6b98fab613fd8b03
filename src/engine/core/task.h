/* A task: one OS thread's flow of execution with its own shadow stack.
 *
 * One mapping per task, reserved large, touched only as used:
 *
 *     +-----------------+ mapping
 *     | struct fg_task  |
 *     | zeros           |
 *     +-----------------+ stack
 *     | shadow stack    |  grows up (frame.h draws a frame)
 *     | ...             |
 *     +-----------------+ end
 *
 * A task's data for each user slot is part of struct fg_task: one cache line for each slot. */
#ifndef FG_TASK_H
#define FG_TASK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/compiler.h"
#include "engine/base/local.h"
#include "engine/core/root.h"
#include "engine/core/self.h"
#include "engine/core/signal_stack.h"

#define FG_TASK_BYTES_DEFAULT (8u << 20)
#define FG_TASK_BYTES_MIN (32u << 10)
#define FG_TASK_NAME_BYTES 64u
#define FG_TASK_EXITS 2u

/* The guard word: one bit for each context in which a callback runs now. Above these bits it counts the
 * sections that were left: a section begins when a thread without any of these bits sets one, and ends when
 * it has none again. */
#define FG_CONTEXT_NORMAL 1u
/* A handler that the interpreter runs for a signal, in the middle of a callback (contexts.h). */
#define FG_CONTEXT_HANDLER 2u
/* A handler that the kernel runs, at any instruction (contexts.h). */
#define FG_CONTEXT_SIGNAL 4u
#define FG_CONTEXTS (FG_CONTEXT_NORMAL | FG_CONTEXT_HANDLER | FG_CONTEXT_SIGNAL)
#define FG_GUARD_SIGNAL 8u /* the thread is in such a handler */
/* The thread changes what it keeps for its users: cursors, rows. A handler of a signal leaves it alone. */
#define FG_GUARD_HELD 16u
/* Native code makes the step of a call that the engine is in the middle of: whatever an interpreter does at
 * this moment, nothing of it may be run or read. */
#define FG_GUARD_NATIVE 32u
/* membarrier(2) does not work here: entering the guard pays for the fence. Set when the task is made. */
#define FG_GUARD_NEEDS_FENCE 64u
#define FG_SECTION_SHIFT 7
#define FG_SECTION (1u << FG_SECTION_SHIFT)

struct fg_subbuf;
struct fg_native_entry;

/* What a task keeps of its native calls (arch/native/entry.h). */
struct fg_native_calls {
    struct fg_native_entry *free;
    struct fg_native_entry *newest; /* of the calls in progress */
};

/* Where a task writes in one user's ring buffer (ring_buffer.h). */
struct fg_ring_cursor {
    uint8_t *pos;
    _Atomic(uint8_t *) end; /* NULL: none, or taken away by another writer */
    struct fg_subbuf *subbuf;
    uint64_t lost; /* records lost since the last one written; under the ring's lock */
    uint32_t task; /* the task's id in this ring; 0: none yet */
    uint32_t overrun_reported;
};

struct fg_profile_row;
struct fg_profile_task;

/* Where a task counts for one function profile (profile_rows.h). */
struct fg_profile_cursor {
    struct fg_profile_row *rows; /* by function id */
    uint32_t nr_rows;
    uint64_t since;               /* a time: calls that began before it are not counted */
    struct fg_profile_task *task; /* function_profile.c; NULL: nothing was counted yet */
};

/* What a task keeps for one user slot. */
struct fg_task_user {
    union {
        struct fg_ring_cursor cursor;
        struct fg_profile_cursor profile;
    };
    uint64_t var;   /* the task variable */
    uint32_t depth; /* the user's own frames in progress */
    /* Marked frames in progress that hide the calls below them from the user; not in `depth`. */
    uint16_t hiding;
    /* Marked frames in progress that let the user see the calls below them; not in `depth`. */
    uint16_t rooted;
    uint64_t bit; /* the slot's, in a frame's bitmap */
} __attribute__((aligned(64)));

struct fg_task {
    _Atomic uint64_t guard;
    uint64_t *top; /* the first free word */
    /* Each entry compares `top` with it. It is the end of the stack, or NULL if the next entry must reap
     * first. */
    _Atomic(uint64_t *) limit;
    struct fg_native_calls native;
    uint64_t *end;
    uint64_t *stack;
    /* the arch's: frames below it belong to a greenlet that was switched out; else `stack` */
    uint64_t *floor;
    uint64_t context; /* FG_CONTEXT_*: which one this thread is in now */
    uint32_t id;      /* never reused within a process */
    int tid;
    bool exiting;
    _Atomic bool in_synchronize;
    /* For fg_task_synchronize() called in a callback: the section of its last call, the count given then,
     * and the count up to which that section holds nothing. */
    uint64_t sync_section, sync_now;
    _Atomic uint64_t sync_safe;
    /* Calls not traced for lack of room on the stack. Written by the task's own thread only. */
    _Atomic uint64_t overrun;
    uint64_t refused;        /* untraced calls in progress, for lack of room (call.c, was_refused) */
    _Atomic uint64_t missed; /* calls made by callbacks */
    _Atomic uint64_t inner;  /* callbacks that ended within a section (fg_guard_leave) */
    uint64_t lost_returns;   /* frames whose return was never reported */
    /* The cursor that got no room for a record to come, and the section in which that was (ring_buffer.h). */
    const struct fg_ring_cursor *refused_cursor;
    uint64_t refused_in;
    void *arch_data;
    struct fg_signal_stack *signal_stack; /* signal_stack.h; NULL: none yet */
    /* The top of the stack that a handler of a signal interrupted; NULL: none runs. */
    uint64_t *interrupted;
    size_t mapping_bytes;
    struct fg_task *next;
    char name[FG_TASK_NAME_BYTES];
    struct fg_task_user users[FG_MAX_USERS];
};

/* Where a task has what it keeps for a slot, in bytes. Never 0. */
static inline uint32_t fg_task_user_offset(uint32_t idx)
{
    return (uint32_t)(offsetof(struct fg_task, users) + idx * sizeof(struct fg_task_user));
}

/* Slow path: creates this thread's task. NULL: memory is short, or the thread is ending. */
FG_COLD struct fg_task *fg_task_create(void);

static inline struct fg_task *fg_task_current(void)
{
    struct fg_task *task = fg_task_self;

    return fg_likely(task != NULL) ? task : fg_task_create();
}

/* True if fg_task_create() may call the C library's allocator: the program has used up the keys for
 * thread-specific data that need no memory. */
bool fg_task_creation_allocates(void);

/**
 * fg_task_set_apart() - Take the thread out of what is traced, or put it back.
 * @on: whether it is apart from now on
 *
 * While a thread is apart, fg_task_self is NULL: its calls find no task. Code that needs one, such as a
 * marker, gets it from fg_task_current(); it is made when that first happens.
 *
 * Return: false: it was so before.
 */
bool fg_task_set_apart(bool on);

/**
 * fg_task_on_exit() - Add a function that ends what a task has in progress.
 * @end: called in the task's own thread, when the task ends, before its memory is unmapped
 *
 * The task's thread calls the process's task_exit first, then these, the first one first. Adding the same
 * function again changes nothing. There is room for FG_TASK_EXITS.
 */
void fg_task_on_exit(void (*end)(struct fg_task *task));

/* Sets the reserved size of later tasks, in bytes; at least FG_TASK_BYTES_MIN. */
void fg_task_set_size(size_t bytes);

/* Calls @visit for each task, under the task lock. */
void fg_task_for_each(void (*visit)(struct fg_task *task, void *arg), void *arg);
uint32_t fg_task_count(void);

/**
 * fg_task_synchronize() - Wait until no task can hold what was unpublished.
 * @now: the caller's count of what was unpublished so far
 *
 * Waits until each other task was outside of callbacks at least once, or waits here itself: two callbacks
 * that unregister each other's user must not wait for each other.
 *
 * Return: the count up to which no task can hold anything: @now, or less if the caller or a waiting task
 * is inside a callback.
 * Context: without locks.
 */
uint64_t fg_task_synchronize(uint64_t now);

/* Makes the task's next entry pop the frames of users that have left first. */
static inline void fg_task_request_reap(struct fg_task *task)
{
    atomic_store_explicit(&task->limit, NULL, memory_order_relaxed);
}

static inline bool fg_task_is_reap_requested(const struct fg_task *task)
{
    return !atomic_load_explicit(&task->limit, memory_order_relaxed);
}

static inline void fg_task_reaps(struct fg_task *task)
{
    atomic_store_explicit(&task->limit, task->end, memory_order_relaxed);
}

static inline void fg_task_count_overrun(struct fg_task *task)
{
    fg_local_add(&task->overrun, 1);
}

/* The heavy half of the guard's fence (below). After it, the caller sees a task's guard bit, or that task
 * sees everything that the caller stored before. */
void fg_task_fence_heavy(void);
/* True if membarrier(2) works here: entering the guard then costs a plain store. */
bool fg_task_fence_is_light(void);
/* Reads a task's guard word; any thread may call it. */
uint64_t fg_task_guard(struct fg_task *task);
/* False if the task may be inside a callback. */
bool fg_task_is_quiet(struct fg_task *task);
/* True if no other task is inside a callback at this moment. */
bool fg_task_others_are_quiet(void);

/* Called around fork. In the child only the calling thread's task is left. */
void fg_task_fork_prepare(void);
void fg_task_fork_parent(void);
void fg_task_fork_child(void);
/* This thread's task, also while the thread is apart; NULL: it has none yet. */
struct fg_task *fg_task_own(void);

/* The guard. A task that enters stores a bit, then reads published pointers. A writer unpublishes, then
 * reads the bit. One of the two must see the other's store. The heavy half of that fence is membarrier(2)
 * on the writer's side, so that entering costs a plain store. */
/* The section that a guard word belongs to. */
static inline uint64_t fg_guard_section(uint64_t guard)
{
    return guard >> FG_SECTION_SHIFT;
}

/* False: a callback of this context runs already. */
static inline bool fg_guard_enter(struct fg_task *task)
{
    uint64_t guard = atomic_load_explicit(&task->guard, memory_order_relaxed);

    if (fg_unlikely(guard & task->context))
        return false;
    fg_local_set(&task->guard, task->context);
    atomic_signal_fence(memory_order_seq_cst);
#ifndef FG_TSAN
    if (fg_unlikely(guard & FG_GUARD_NEEDS_FENCE))
        atomic_thread_fence(memory_order_seq_cst);
#endif
    return true;
}

/* Leaves a context that may have interrupted another one's callback. The section then goes on. */
FG_COLD void fg_guard_leave_inner(struct fg_task *task);

/* Leaves the guard of a thread whose context is FG_CONTEXT_NORMAL. */
static inline void fg_guard_leave_normal(struct fg_task *task)
{
    atomic_signal_fence(memory_order_seq_cst);
    /* release: pairs with the acquire in fg_task_guard(), which fg_task_synchronize() calls */
    fg_local_add(&task->guard, FG_SECTION - FG_CONTEXT_NORMAL);
}

static inline void fg_guard_leave(struct fg_task *task)
{
    if (fg_likely(task->context == FG_CONTEXT_NORMAL)) {
        fg_guard_leave_normal(task);
        return;
    }
    atomic_signal_fence(memory_order_seq_cst);
    fg_guard_leave_inner(task);
}

/* As fg_guard_enter(), for a short section that calls no callback, and holds what the thread keeps for its
 * users. Only where the fence is light. Fails inside any callback, and in handlers of signals. */
static inline bool fg_guard_enter_short(struct fg_task *task)
{
    if (fg_unlikely(atomic_load_explicit(&task->guard, memory_order_relaxed) &
                    (FG_CONTEXTS | FG_GUARD_SIGNAL)))
        return false;
    fg_local_set(&task->guard, FG_CONTEXT_NORMAL | FG_GUARD_HELD);
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

static inline void fg_guard_leave_short(struct fg_task *task)
{
    atomic_signal_fence(memory_order_seq_cst);
    /* release: as in fg_guard_leave_normal() */
    fg_local_add(&task->guard, FG_SECTION - (FG_CONTEXT_NORMAL | FG_GUARD_HELD));
}

/* As fg_guard_enter() and fg_task_begin_native() in one. Only where the fence is light. Fails inside any
 * callback, and in handlers of signals. */
static inline bool fg_guard_enter_native(struct fg_task *task)
{
    uint32_t guard = (uint32_t)atomic_load_explicit(&task->guard, memory_order_relaxed);

    if (fg_unlikely(guard & (FG_CONTEXTS | FG_GUARD_SIGNAL | FG_GUARD_NEEDS_FENCE)))
        return false;
    fg_local_set(&task->guard, FG_CONTEXT_NORMAL | FG_GUARD_NATIVE);
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

static inline void fg_guard_leave_native(struct fg_task *task)
{
    atomic_signal_fence(memory_order_seq_cst);
    /* release: as in fg_guard_leave_normal() */
    fg_local_add(&task->guard, FG_SECTION - (FG_CONTEXT_NORMAL | FG_GUARD_NATIVE));
}

static inline void fg_task_begin_native(struct fg_task *task)
{
    fg_local_set(&task->guard, FG_GUARD_NATIVE);
}

static inline void fg_task_end_native(struct fg_task *task)
{
    fg_local_clear(&task->guard, FG_GUARD_NATIVE);
}

static inline bool fg_task_is_in_native(const struct fg_task *task)
{
    return atomic_load_explicit(&task->guard, memory_order_relaxed) & FG_GUARD_NATIVE;
}

/* Keeps handlers of signals from changing what the thread keeps for its users. False: in such a handler,
 * which interrupted the thread while it held this. */
static inline bool fg_task_hold(struct fg_task *task)
{
    if (fg_unlikely(atomic_load_explicit(&task->guard, memory_order_relaxed) & FG_GUARD_HELD))
        return false;
    fg_local_set(&task->guard, FG_GUARD_HELD);
    return true;
}

static inline void fg_task_release(struct fg_task *task)
{
    fg_local_clear(&task->guard, FG_GUARD_HELD);
}

/* True in a handler of a signal: nothing there may wait for a lock. */
static inline bool fg_task_is_in_signal(const struct fg_task *task)
{
    return task->context == FG_CONTEXT_SIGNAL;
}

#endif
