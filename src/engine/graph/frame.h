/* A frame of the shadow stack: one call in progress. The stack grows up in 64-bit words; from old to new:
 *
 *     frame -> +----------------------------------------------------------+
 *              | function record                                          |
 *              | frame pointer: who the call is                           |
 *              | calltime: of the call, or of its latest resume (ticks)   |
 *              | start: of the call, before any suspend (ticks)           |
 *              | bitmap: bit i set: the user in slot i wants the return   |
 *              | descriptor  type:2 = BITMAP | offset:16 | plain:1        |
 *              |             | irq:1 | epoch:44                           |
 *              +----------------------------------------------------------+
 *              | data words of a user                                     |  for each piece of data
 *              | descriptor  type:2 = DATA | offset:16 | idx:8 | size:8   |  that a user has on it
 *              |             | kind:2 | slack:3                           |
 *              +----------------------------------------------------------+
 *     top ->
 *
 * The word under `top` is always a descriptor, and its offset (in words, from the descriptor to the frame)
 * leads to the newest frame: walking down is possible at any instant, also from a signal handler.
 *
 * Both times are 0 if no user of the function needs them: reading the clock twice would cost more than all the rest.
 *
 * plain: the call has one user, and was told to it, and its end can be, by records that the engine writes itself
 * (plain_call.c). Not of a call that was suspended.
 *
 * irq: the interpreter made the call, for a signal, and some user asked (marks.c).
 *
 * epoch is the count of changes among users (registrations, leavings, filters) at entry. The user now in slot i made this entry only if it was
 * registered at or before that epoch: so a slot's new owner never gets the return of an entry of the old one.
 *
 * Private to the engine. */
#ifndef FG_FRAME_H
#define FG_FRAME_H

#include "engine/graph/users.h"

enum { FRAME_FUNC, FRAME_FP, FRAME_CALLTIME, FRAME_START, FRAME_BITMAP, FRAME_DESCRIPTOR, FG_FRAME_WORDS };

/* What a user can have on a frame: each kind once, but for the words of fprobes. */
enum fg_data_kind {
    FG_DATA_WORDS = 0,  /* what it reserved */
    FG_DATA_OBJECT = 1, /* one word: an object of the arch, dropped with the frame */
    FG_DATA_HIDES = 2,  /* no word: the user sees nothing below this frame, nor itself */
    FG_DATA_ROOT = 3,   /* no word: the user sees what is below this frame, but not itself */
};

#define FG_TYPE_MASK 3u
#define FG_TYPE_DATA 2u
#define FG_OFFSET_SHIFT 2
#define FG_OFFSET_MASK 0xffffu
#define FG_DATA_IDX_SHIFT 18
#define FG_DATA_SIZE_SHIFT 26
#define FG_DATA_FIELD_MASK 0xffu
#define FG_DATA_KIND_SHIFT 34
#define FG_DATA_KIND_MASK 3u
#define FG_DATA_SLACK_SHIFT 36 /* bytes of the last word that were not asked for */
#define FG_DATA_SLACK_MASK 7u
#define FG_DATA_KINDS_WORDS                                                                                  \
    (FG_MAX_DATA_WORDS + 1 + 4) /* of all kinds together: their words and descriptors */

/* All users' data on one frame must be reachable by the offset. */
_Static_assert((unsigned)FRAME_DESCRIPTOR == FG_FRAME_DESCRIPTOR_AT, "users.h makes the descriptor");
_Static_assert(FG_FRAME_WORDS + FG_MAX_USERS * FG_DATA_KINDS_WORDS <= FG_OFFSET_MASK,
               "offset field too small");

/* Where the data of fprobes, any number of them, have to end, in words from the frame: all other users' still find room
 * behind. */
#define FG_FPROBES_END_WORDS (FG_OFFSET_MASK - FG_MAX_USERS * FG_DATA_KINDS_WORDS)
_Static_assert(FG_FPROBES_END_WORDS >
                   200 * (FPROBE_MAX_DATA_BYTES / 8 + 2) + FG_MAX_USERS * FG_DATA_KINDS_WORDS,
               "200 fprobes with all the data they can have must fit behind the other users'");

static inline uint64_t fg_descriptor_offset(uint64_t descriptor)
{
    return (descriptor >> FG_OFFSET_SHIFT) & FG_OFFSET_MASK;
}

static inline bool fg_is_data(uint64_t descriptor)
{
    return (descriptor & FG_TYPE_MASK) == FG_TYPE_DATA;
}

static inline uint32_t fg_data_idx(uint64_t descriptor)
{
    return (uint32_t)(descriptor >> FG_DATA_IDX_SHIFT) & FG_DATA_FIELD_MASK;
}

static inline uint32_t fg_data_size_words(uint64_t descriptor)
{
    return (uint32_t)(descriptor >> FG_DATA_SIZE_SHIFT) & FG_DATA_FIELD_MASK;
}

static inline enum fg_data_kind fg_data_kind(uint64_t descriptor)
{
    return (enum fg_data_kind)((descriptor >> FG_DATA_KIND_SHIFT) & FG_DATA_KIND_MASK);
}

static inline uint64_t fg_frame_epoch(const uint64_t *frame)
{
    return frame[FRAME_DESCRIPTOR] >> FG_EPOCH_SHIFT;
}

/* The interpreter made the call, for a signal; said if some user of it asked for that (fg_filter.irqs). */
static inline bool fg_frame_is_irq(const uint64_t *frame)
{
    return frame[FRAME_DESCRIPTOR] & FG_FRAME_IRQ;
}

/* Some user of the call is told of times. */
static inline bool fg_frame_has_times(const uint64_t *frame)
{
    return frame[FRAME_START] != 0;
}

static inline struct fg_func *fg_frame_func(const uint64_t *frame)
{
    return (struct fg_func *)(uintptr_t)frame[FRAME_FUNC];
}

/* The user that made this frame's entry in slot `idx`, or NULL if it has left. */
static inline struct fgraph_ops *fg_frame_user(const uint64_t *frame, uint32_t idx)
{
    return fg_users_at(idx, fg_frame_epoch(frame));
}

/* The newest frame of a stack that ends at `top`, or NULL with the kill switch thrown. */
static inline uint64_t *fg_newest_frame(const struct fg_task *task, uint64_t *top)
{
    uint64_t descriptor = top[-1];
    uint64_t offset = fg_descriptor_offset(descriptor);

    if (fg_unlikely(!(descriptor & FG_TYPE_MASK) || offset < FRAME_DESCRIPTOR ||
                    (ptrdiff_t)offset >= top - task->stack)) {
        fg_kill("task %d: word %#llx at %td of its shadow stack leads nowhere", task->tid,
                (unsigned long long)descriptor, top - 1 - task->stack);
        return NULL;
    }
    return top - 1 - offset;
}

/* ---- data.c */

/* Of data whose words end `offset` words behind their frame. */
static inline uint64_t fg_data_descriptor(uint64_t offset, uint32_t idx, enum fg_data_kind kind,
                                          uint32_t size_words)
{
    return FG_TYPE_DATA | (offset << FG_OFFSET_SHIFT) | ((uint64_t)idx << FG_DATA_IDX_SHIFT) |
           ((uint64_t)size_words << FG_DATA_SIZE_SHIFT) | ((uint64_t)kind << FG_DATA_KIND_SHIFT);
}

/* Puts data on the frame, behind all that is there: its words, or NULL if there is no room. */
static inline uint64_t *fg_data_place(struct fg_task *task, const uint64_t *frame, uint32_t idx,
                                      enum fg_data_kind kind, uint32_t size_words)
{
    uint64_t *data = task->top, *descriptor = data + size_words;

    if (fg_unlikely(descriptor + 1 > task->end))
        return NULL;
    *descriptor = fg_data_descriptor((uint64_t)(descriptor - frame), idx, kind, size_words);
    /* A signal handler that walks from `top` must find the descriptor written. */
    atomic_signal_fence(memory_order_release);
    task->top = descriptor + 1;
    return data;
}

/* The same, zeroed. */
uint64_t *fg_data_push(struct fg_task *task, const uint64_t *frame, uint32_t idx, enum fg_data_kind kind,
                       uint32_t size_words);
/* The words of slot `idx` on the frame that ends at `top`; NULL if it has none of this kind. */
uint64_t *fg_data_find(uint64_t *top, uint32_t idx, enum fg_data_kind kind, uint32_t *size_words);
/* Lets go of the objects in all data that lies in [from, top). */
void fg_data_drop(uint64_t *from, uint64_t *top);

/* ---- marks.c */

/* What is to be asked before a user's entryfunc is called. */
enum fg_verdict {
    FG_VERDICT_CALL,   /* call it */
    FG_VERDICT_REFUSE, /* this user does not see the call */
    FG_VERDICT_MARK,   /* nor does it, but the frame is marked for it, and has to stay */
};
/* `idx` and `flags` as the function's list has them: `ops` may be what stands in the place of a user that left. */
enum fg_verdict fg_marks_check(const struct ftrace_graph_ent *trace, const struct fgraph_ops *ops,
                               const struct ftrace_regs *regs, uint32_t idx, uint32_t flags);

/* True if the frame that ends at the task's top is only marked for the user in slot `idx`; the mark then begins
 * (by = 1) or ceases (by = -1) to count. */
bool fg_marks_count(struct fg_task *task, uint32_t idx, int by);

/* Some frame in progress is marked for this user. */
static inline bool fg_marks_any(const struct fg_task_user *user)
{
    return user->hiding | user->rooted;
}

#endif
